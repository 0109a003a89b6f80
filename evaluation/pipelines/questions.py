"""What the steps share that use a dataset's generalization questions (P3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from annotator.hit_types.base import JSON
from annotator.hit_types.reading import REFUSAL
from annotator.models import Explanation, FollowUp
from evaluation.core.step_kinds import STEP_KINDS
from evaluation.models import Run
from evaluation.pipelines.contract import StepInRecipe
from evaluation.pipelines.material import MaterialStep
from evaluation.pipelines.option_checks import OptionError, any_text, one_of
from evaluation.prompts.replies import marked_answer
from evaluation.runs.step import ClaimedCall
from evaluation.runs.structured import Form
from evaluation.selectors.material import VALIDATED, generalization_questions

#: ``validation`` is the slug of the study whose verdicts count; a pipeline fills it in.
QUESTION_OPTIONS = {"questions": one_of("all", VALIDATED), "validation": any_text}


def validated_check(step: StepInRecipe) -> None:
    """Check that there are verdicts on questions, if only validated ones are used; raises ``OptionError``."""
    if step.options.get("questions") != VALIDATED:
        return
    if step.before is None:
        if not step.options.get("validation"):
            raise OptionError("validation: names no study whose validators accept questions")
    elif not any(STEP_KINDS.get(earlier["kind"]).makes == "verdicts" for earlier in step.before):
        raise OptionError(f"questions: {VALIDATED} needs a validate step before this one")


def questions(run: Run) -> QuerySet[FollowUp]:
    """The dataset's generalization questions; with the option ``questions`` *validated*, those that passed validation."""
    return generalization_questions(dataset=run.dataset, choices=run.options)  # type: ignore[arg-type]


class QuestionStep(MaterialStep):
    """A kind of step in which a model answers generalization questions, without or with a rationale.

    A call's ``context`` has the rationale under ``explanation``, as the primary key of an explanation.
    """

    options = MaterialStep.options | QUESTION_OPTIONS
    max_tokens = 50
    tasks = ("yes_no",)
    prompts_of = "gen_u"
    subject = (FollowUp,)

    def check(self, step: StepInRecipe) -> None:
        super().check(step)
        validated_check(step)

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        wanted = {call.context["explanation"] for call in calls if "explanation" in call.context}
        rationales = dict(Explanation.objects.filter(pk__in=wanted).values_list("pk", "text"))
        shown = {call.id: rationales.get(call.context.get("explanation", 0), "") for call in calls}
        return {pk: (question, shown[pk]) for pk, question in super().load(run, calls).items()}

    def part(self, run: Run, call: ClaimedCall) -> str:
        return "with" if "explanation" in call.context else "without"

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return "answer"

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        question, rationale = call.thing
        return {"question": question.text, "explanation": rationale}

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        yield call.thing[0].text

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        return {"output": marked_answer(text, "yes_no")}

    def refused(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        """A refusal counts as a wrong answer."""
        return {"output": REFUSAL}

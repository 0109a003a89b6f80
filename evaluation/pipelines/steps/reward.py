"""The GEN-U of each rationale, as a reward for training (Joshi et al. 2023, section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.hit_types.base import JSON
from annotator.hit_types.reading import REFUSAL
from annotator.models import Explanation, FollowUp, Output
from evaluation.models import Call, Run
from evaluation.pipelines.steps.material import MaterialStep, OptionError, by_subject, option, questions
from evaluation.prompts.replies import marked_answer
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form


class RewardAnswers(MaterialStep):
    """A model answers each generalization question with each rationale of ``system``; rewards are computed from the
    answers. Answers without a rationale come from an earlier GEN-U run (``gen_u``) with the same model.
    ``questions`` is *all* or *validated*.
    """

    name = "reward"
    title = "Rewards"
    max_tokens = 50

    def check(self, run: Run) -> None:
        super().check(run)
        if not self.without(run).exists():
            raise OptionError(
                f"model: {run.model!r} has not answered the questions without a rationale yet (gen_u)"
            )

    def without(self, run: Run) -> Any:
        """The model's answers without a rationale."""
        return Output.objects.filter(
            system__name=f"{run.model} · GEN-U without"[:200], follow_up__instance__dataset=run.dataset
        )

    def jobs(self, run: Run) -> Iterator[Job]:
        self.check(run)
        asked = questions(run).filter(pk__in=self.without(run).values("follow_up")).exclude(gold_label="")
        by_instance: dict[int, list[int]] = {}
        for pk, instance in asked.values_list("pk", "instance_id"):
            by_instance.setdefault(instance, []).append(pk)
        found = Explanation.objects.filter(instance__dataset=run.dataset, system__name=option(run, "system"))
        for pk, instance in found.order_by("pk").values_list("pk", "instance_id").iterator(2000):
            for question in by_instance.get(instance, []):
                yield Job(key=f"e{pk}-f{question}", subject=question, context={"explanation": pk})

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        found = by_subject(FollowUp, calls)
        texts = dict(
            Explanation.objects.filter(pk__in={call.context["explanation"] for call in calls}).values_list(
                "pk", "text"
            )
        )
        return {call.id: (found[call.id], texts.get(call.context["explanation"], "")) for call in calls}

    def part(self, run: Run, call: ClaimedCall) -> str:
        return "with"

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

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        """Does nothing: answers stay with their calls, and ``rewards_keep`` computes rewards once the run is done."""

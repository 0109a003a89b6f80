"""Systems' real outputs: on their follow-ups, from their explanations alone, without and with a rationale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.hit_types.base import JSON
from annotator.hit_types.making import SANITY_METHOD
from annotator.hit_types.reading import REFUSAL
from annotator.models import Explanation, FollowUp, Instance, Output, System
from evaluation.models import Call, Run
from evaluation.pipelines.steps.explain import METHODS
from evaluation.pipelines.steps.material import (
    GENERATION,
    OUTPUT_LABEL,
    MaterialStep,
    OptionError,
    by_subject,
    form_of,
    option,
    questions,
    results,
    system_made,
    systems_of,
    task_of,
)
from evaluation.prompts.replies import answer_of, labelled, marked_answer, reasoning_then_answer
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form
from evaluation.selectors.material import first_line


class Outputs(MaterialStep):
    """The output of a system on each follow-up of its explanations, with the same prompt that it explained with.

    ``system`` names the system; ``method`` is how it explained.
    """

    name = "outputs"
    title = "Outputs on follow-ups"
    max_tokens = 700

    def check(self, run: Run) -> None:
        super().check(run)
        option(run, "method", METHODS, "cot")
        if not option(run, "system"):
            raise OptionError("system: is missing")

    def jobs(self, run: Run) -> Iterator[Job]:
        self.check(run)
        system = run.options["system"]
        todo = FollowUp.objects.filter(
            explanation__instance__dataset=run.dataset, explanation__system__name=system
        )
        for pk in (
            todo.exclude(outputs__system__name=system).order_by("pk").values_list("pk", flat=True).iterator()
        ):
            yield Job(key=f"f{pk}", subject=pk)

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        return by_subject(FollowUp, calls)

    def part(self, run: Run, call: ClaimedCall) -> str:
        method = option(run, "method", METHODS, "cot")
        return "answer" if method in ("post_hoc", "forced") and task_of(run) not in GENERATION else method

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return form_of(task_of(run), self.part(run, call))

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        return {"input": call.thing.text, "output": ""}

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        task, part = task_of(run), self.part(run, call)
        if task in GENERATION:
            return {"output": labelled(text, ["Explanation", OUTPUT_LABEL[task]])[OUTPUT_LABEL[task]]}
        if part == "answer":
            return {"output": marked_answer(text, task)}
        if part == "answer_reason":
            return {"output": answer_of(labelled(text, ["Answer", "Reason"])["Answer"], task)}
        return {"output": reasoning_then_answer(text, task)[1]}

    def refused(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        """A refusal counts as the system's output on this follow-up; for generation tasks, the text of the refusal does."""
        return {"output": text.strip() or REFUSAL} if task_of(run) in GENERATION else {"output": REFUSAL}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        _store(systems_of(run).get(name=run.options["system"]), groups)


def sanity_system(system: str) -> str:
    """The name of the system under which outputs written from another system's explanations are stored.

    >>> sanity_system("gpt · post-hoc")
    'gpt · post-hoc · from explanation'
    """
    return f"{system[:180]} · from explanation"


class FromExplanation(MaterialStep):
    """Sanity check (P2): outputs on follow-ups written from the explanation itself; precision on them must be 1.

    They are stored under a separate system, ``<system> · from explanation``.
    """

    name = "from_explanation"
    title = "Outputs from the explanation (sanity check)"
    max_tokens = 500

    def check(self, run: Run) -> None:
        super().check(run)
        if task_of(run) not in GENERATION:
            raise OptionError("task: this check is for news and medical")

    def _system(self, run: Run) -> System:
        return system_made(run, sanity_system(str(run.options.get("system", ""))), SANITY_METHOD)

    def jobs(self, run: Run) -> Iterator[Job]:
        self.check(run)
        todo = FollowUp.objects.filter(
            explanation__instance__dataset=run.dataset,
            explanation__system__name=run.options.get("system", ""),
        )
        for pk in todo.order_by("pk").values_list("pk", flat=True).iterator():
            yield Job(key=f"f{pk}", subject=pk)

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        return by_subject(FollowUp, calls, "explanation")

    def part(self, run: Run, call: ClaimedCall) -> str:
        return "from_explanation"

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return "output"

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        return {"input": call.thing.text, "explanation": call.thing.explanation.text}

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        label = OUTPUT_LABEL[task_of(run)]
        return {"output": labelled(text, [label])[label]}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        _store(self._system(run), groups)


class GenU(MaterialStep):
    """One of GEN-U's two runs (P3): a model answers each generalization question, without or with a rationale.

    ``rationale`` is empty, or names the system whose explanation of the instance is shown: one of the dataset, or else one
    that was imported into a study of the same questions. The outputs are kept under ``<model> · GEN-U without`` and
    ``<model> · GEN-U with <system>``. ``questions`` is *all* or *validated*.
    """

    name = "gen_u"
    title = "GEN-U"
    max_tokens = 50

    def _name(self, run: Run) -> str:
        rationale = option(run, "rationale")
        return f"{run.model} · GEN-U " + (f"with {rationale}" if rationale else "without")

    def jobs(self, run: Run) -> Iterator[Job]:
        self.check(run)
        rationale = option(run, "rationale")
        shown = rationales_shown(run, rationale) if rationale else {}
        if rationale and not shown:
            raise OptionError(f"rationale: {rationale!r} has no explanations of this dataset's instances")
        for pk, instance in questions(run).values_list("pk", "instance_id").iterator():
            if not rationale:
                yield Job(key=f"f{pk}", subject=pk)
            elif instance in shown:
                yield Job(key=f"f{pk}", subject=pk, context={"explanation": shown[instance]})

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        found = by_subject(FollowUp, calls)
        wanted = {call.context["explanation"] for call in calls if "explanation" in call.context}
        texts = dict(Explanation.objects.filter(pk__in=wanted).values_list("pk", "text"))
        return {
            call.id: (found[call.id], texts.get(call.context.get("explanation", 0), "")) for call in calls
        }

    def part(self, run: Run, call: ClaimedCall) -> str:
        return "with" if "explanation" in call.context else "without"

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return "answer"

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        follow_up, rationale = call.thing
        return {"question": follow_up.text, "explanation": rationale}

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        yield call.thing[0].text

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        return {"output": marked_answer(text, "yes_no")}

    def refused(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        """A refusal counts as a wrong answer."""
        return {"output": REFUSAL}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        _store(system_made(run, self._name(run), "GEN-U"), groups)


def rationales_shown(run: Run, system: str) -> dict[int, int]:
    """Instance of the run's dataset -> the first explanation of it by ``system``.

    If the dataset has none, explanations that were imported into the workspace's studies are used, for instances with
    the same key and input.
    """
    found = Explanation.objects.filter(system__in=systems_of(run).filter(name=system)).order_by("-pk")
    own = dict(found.filter(instance__dataset=run.dataset).values_list("instance_id", "pk"))
    if own:
        return own
    imported = found.values_list("instance__key", "instance__input", "pk")
    by_input = {(key, first_line(text)): pk for key, text, pk in imported}
    instances = Instance.objects.filter(dataset=run.dataset).values_list("pk", "key", "input")
    matched = {pk: by_input.get((key, first_line(text))) for pk, key, text in instances}
    return {instance: pk for instance, pk in matched.items() if pk is not None}


def _store(system: System, groups: Sequence[Sequence[Call]]) -> None:
    Output.objects.bulk_create(
        [
            Output(follow_up_id=follow_up, system=system, text=parsed["output"])
            for _, follow_up, parsed in results(groups)
        ],
        ignore_conflicts=True,
    )

"""Generalization questions of an instance (P3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from annotator.hit_types.base import JSON, Unparsable
from annotator.models import FollowUp, Instance
from evaluation.models import Call, Run
from evaluation.pipelines.contract import PlannedStep
from evaluation.pipelines.follow_ups import follow_up, follow_ups_store, same, texts_by
from evaluation.pipelines.material import MaterialStep, instances, other_answer, results
from evaluation.pipelines.option_checks import any_text, one_of, whole_number
from evaluation.prompts.replies import answer_of, labelled
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form

KINDS = ("rephrase", "counterfactual", "similar_reasoning")
NEW_QUESTION = ("New question",)


def _known_kinds(value: Any) -> str:
    if not isinstance(value, list):
        return f"expected a list, got {value!r}"
    return next(filter(None, map(one_of(*KINDS), value)), "")


class Generalization(MaterialStep):
    """Generalization questions of each instance: ``n`` of each kind, sampled one at a time at temperature 0.7 (P3).

    A rephrased question has the instance's gold label as its right answer and a counterfactual the opposite one, whatever
    the generator answers; a question of similar reasoning has the generator's answer, for validators to check.
    """

    name = "generalization"
    title = "Generalization questions"
    options = MaterialStep.options | {"n": whole_number(1, 100), "kinds": _known_kinds, "generator": any_text}
    max_tokens = 200
    tasks = ("yes_no",)
    subject = (Instance,)

    def most_calls(self, step: PlannedStep) -> int:
        kinds = len(step.options.get("kinds", KINDS))
        step.material.questions = step.material.instances * kinds * int(step.options.get("n", 5))
        return step.material.questions

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """``n`` samples of each request (P3 section 3)."""
        return options.get("n", 5), {"temperature": 0.7}

    def jobs(self, run: Run) -> Iterator[Job]:
        for instance in instances(run).exclude(gold_label="").only("pk", "key").iterator(2000):
            for kind in run.options.get("kinds", KINDS):
                yield Job(key=f"{kind}:{instance.key}", subject=instance.pk, context={"kind": kind})

    def part(self, run: Run, call: ClaimedCall) -> str:
        return str(call.context["kind"])

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return "question" if self.part(run, call) == "counterfactual" else "answered_question"

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        return {"input": call.thing.input, "rationale": call.thing.gold_rationale or "(none is given)"}

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        kind, gold = self.part(run, call), call.thing.gold_label
        pieces = labelled(text, NEW_QUESTION if kind == "counterfactual" else (*NEW_QUESTION, "Answer"))
        question = " ".join(pieces["New question"].split())
        if not question.rstrip("\"'").endswith("?"):
            raise Unparsable(f"not a question: {question[:60]!r}")
        if same(question) == same(call.thing.input):
            raise Unparsable("the reply repeats the question")
        own = answer_of(pieces["Answer"], "yes_no") if "Answer" in pieces else ""
        right = {"rephrase": gold, "counterfactual": other_answer(gold, "yes_no", "")}.get(kind, own)
        return {"questions": [[question, right]], "own_answer": own}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        generator = str(run.options.get("generator") or run.model)
        calls = list(results(groups))
        asked = FollowUp.objects.filter(instance__in=[pk for _, pk, _ in calls], explanation__isnull=True)
        seen = texts_by(asked.values_list("instance_id", "text"))
        rows, doubled = [], {}
        for call, pk, parsed in calls:
            known, kind = seen.setdefault(pk, set()), call.context["kind"]
            new = [(question, gold) for question, gold in parsed["questions"] if same(question) not in known]
            known.update(same(question) for question, _ in new)
            doubled[call.pk] = len(parsed["questions"]) - len(new)
            rows += [
                follow_up(text=question, generator=generator, kind=kind, instance_id=pk, gold_label=gold)
                for question, gold in new
            ]
        follow_ups_store(rows, calls, doubled)

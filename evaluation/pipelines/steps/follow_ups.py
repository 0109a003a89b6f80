"""Follow-ups: counterfactuals of an explanation, and generalization questions of an instance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON, Unparsable
from annotator.models import Explanation, FollowUp, Instance
from evaluation.core.kinds import BASELINE_KIND
from evaluation.models import Call, Run
from evaluation.pipelines.steps.explain import other_answer
from evaluation.pipelines.steps.material import (
    MaterialStep,
    OptionError,
    by_subject,
    explanations,
    instances,
    number,
    option,
    results,
    shown,
    task_of,
    whole_number,
)
from evaluation.prompts.replies import (
    answer_of,
    guessed_question,
    labelled,
    numbered,
    plain,
    question_of,
    sorted_out,
)
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form

WAYS = ("explained", "baseline")
#: Tasks whose follow-ups P1's prompts ask for one at a time (Appendix B).
ONE_AT_A_TIME = frozenset({"yes_no", "preference"})
#: Follow-ups of one explanation, as in the papers (P1 section 4.3; P2 section 4.4, automatic evaluation).
USUAL_NUMBER = {"yes_no": 10, "multiple_choice": 10, "preference": 6, "news": 5, "medical": 5}
KINDS = ("rephrase", "counterfactual", "similar_reasoning")
NEW_QUESTION = ("New question",)
_PREFERENCE = re.compile(
    r"\s*Context:\s*(\S.*?)\s*\n\s*Response 1:\s*(\S.*?)\s*\n\s*Response 2:\s*(\S.*)", re.DOTALL
)


def same(text: str) -> str:
    """The text in lower case and without spacing, by which two follow-ups are exact duplicates.

    >>> same("Can  owls swim?") == same("can owls swim?")
    True
    """
    return " ".join(text.split()).casefold()


class Counterfactuals(MaterialStep):
    """``n`` follow-ups of each explanation by one generator.

    ``way``: *explained* shows the explanation, *baseline* ignores it. Yes/no questions and preferences from an explanation
    are written one at a time, as ``n`` samples of one request at temperature 1; other follow-ups as one list of ``n``.
    The kind of a follow-up is ``counterfactual`` or ``baseline``, by the way in which it was written.
    """

    name = "counterfactuals"
    title = "Counterfactuals"
    max_tokens = 2000

    def check(self, run: Run) -> None:
        super().check(run)
        self._way(run)
        self.wanted(run)

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """One sample for each follow-up if they are written one at a time."""
        task = str(options.get("task", "yes_no"))
        if task not in ONE_AT_A_TIME or options.get("way", WAYS[0]) != WAYS[0]:
            return 1, {}
        return whole_number(options.get("n", USUAL_NUMBER[task]), "n"), {"temperature": 1.0}

    def _way(self, run: Run) -> str:
        return option(run, "way", WAYS, WAYS[0])

    def _one_at_a_time(self, run: Run) -> bool:
        return task_of(run) in ONE_AT_A_TIME and self._way(run) == WAYS[0]

    def wanted(self, run: Run) -> int:
        """The number of follow-ups to ask for, per explanation."""
        return number(run, "n", USUAL_NUMBER[task_of(run)])

    def jobs(self, run: Run) -> Iterator[Job]:
        self.check(run)
        for pk in explanations(run).values_list("pk", flat=True).iterator(2000):
            yield Job(key=f"e{pk}", subject=pk)

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        return by_subject(Explanation, calls, "instance")

    def part(self, run: Run, call: ClaimedCall) -> str:
        return self._way(run)

    def form(self, run: Run, call: ClaimedCall) -> Form:
        task = task_of(run)
        if self._one_at_a_time(run):
            return "guessed" if task == "yes_no" else "example"
        forms: dict[str, Form] = {"preference": "examples", "multiple_choice": "choices"}
        return forms.get(task, "entries")

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        explanation = call.thing
        return {
            "input": explanation.instance.input,
            "explanation": explanation.text,
            "output": shown(explanation.output),
            "n": str(self.wanted(run)),
        }

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        yield call.thing.instance.input

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        starter = call.thing.instance.input
        if self._one_at_a_time(run):
            return self._parse_one(task_of(run), text, starter)
        task, wanted = task_of(run), self.wanted(run)
        readers = {"yes_no": question_of, "preference": _preference}
        listed = sorted_out(numbered(text, wanted), readers.get(task, str))
        found = listed.entries
        kept = _distinct(found, but=starter)
        if not kept:
            raise Unparsable("the reply repeats the starter question and has nothing else")
        result: JSON = {
            "follow_ups": kept,
            "duplicates": len(found) - len(kept),
            "missing": wanted - len(found),
        }
        return result | ({"faults": listed.faults} if listed.faults else {})

    def lacking(self, run: Run, call: ClaimedCall, parsed: JSON) -> str:
        missing, wanted = parsed.get("missing", 0), self.wanted(run)
        if not missing:
            return ""
        faults = "".join(f" Not used: {fault}." for fault in parsed.get("faults", [])[:5])
        have = len(parsed["follow_ups"])
        return (
            f"it has {have} good {'entry' if have == 1 else 'entries'} of {wanted}.{faults} Those are kept. Write {missing} more, "
            "different from them."
        )

    def joined(self, run: Run, call: ClaimedCall, kept: JSON, parsed: JSON) -> JSON:
        """The entries of both replies, each once; entries of the first list that the second repeats don't count as duplicates."""
        wanted = len(kept["follow_ups"]) + kept["missing"]
        together = _distinct([*kept["follow_ups"], *parsed["follow_ups"]], but="")[:wanted]
        missing = wanted - len(together)
        result = kept | {"follow_ups": together, "missing": missing}
        result.pop("faults", None)
        return result | ({"faults": parsed["faults"]} if missing and "faults" in parsed else {})

    def _parse_one(self, task: str, text: str, starter: str) -> JSON:
        guess: JSON = {}
        if task == "yes_no":
            found, answer = guessed_question(text)
            guess = {"guess": answer}
        else:
            found = _preference(plain(text))
        if same(found) == same(starter):
            raise Unparsable("the reply repeats the starter question")
        return {"follow_ups": [found], **guess}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        way = self._way(run)
        generator = str(run.options.get("generator") or run.model + (" · baseline" if way != WAYS[0] else ""))
        kind = "counterfactual" if way == WAYS[0] else BASELINE_KIND
        calls = list(results(groups))
        owners = dict(
            Explanation.objects.filter(pk__in=[pk for _, pk, _ in calls]).values_list("pk", "instance_id")
        )
        seen = _written(FollowUp.objects.filter(explanation__in=owners, generator=generator[:200], kind=kind))
        rows, doubled = [], {}
        for call, pk, parsed in calls:
            known = seen.setdefault(pk, set())
            new = [text for text in parsed["follow_ups"] if same(text) not in known]
            known.update(map(same, new))
            doubled[call.pk] = len(parsed["follow_ups"]) - len(new)
            rows += [_follow_up(owners[pk], pk, text, generator, kind) for text in new]
        FollowUp.objects.bulk_create(rows, ignore_conflicts=True)
        _note_doubled([(call, parsed) for call, _, parsed in calls], doubled)


class Generalization(MaterialStep):
    """Generalization questions of each instance: ``n`` of each kind, sampled one at a time at temperature 0.7 (P3).

    A rephrased question has the instance's gold label as its right answer and a counterfactual the opposite one, whatever
    the generator answers; a question of similar reasoning has the generator's answer, for validators to check.
    """

    name = "generalization"
    title = "Generalization questions"
    max_tokens = 200

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """``n`` samples of each request (P3 section 3)."""
        return whole_number(options.get("n", 5), "n"), {"temperature": 0.7}

    def check(self, run: Run) -> None:
        super().check(run)
        if task_of(run) != "yes_no":
            raise OptionError("task: generalization questions are yes/no questions")
        for kind in self.kinds(run):
            if kind not in KINDS:
                raise OptionError(f"kinds: {kind!r} is not one of {', '.join(KINDS)}")

    def kinds(self, run: Run) -> Sequence[str]:
        """The kinds of question to ask for; all three by default."""
        return list(run.options.get("kinds", KINDS))

    def jobs(self, run: Run) -> Iterator[Job]:
        self.check(run)
        for instance in instances(run).exclude(gold_label="").only("pk", "key").iterator(2000):
            for kind in self.kinds(run):
                yield Job(key=f"{kind}:{instance.key}", subject=instance.pk, context={"kind": kind})

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        return by_subject(Instance, calls)

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
        there: dict[int, set[str]] = {}
        for instance, text in asked.values_list("instance_id", "text"):
            there.setdefault(instance, set()).add(same(text))
        rows, doubled = [], {}
        for call, pk, parsed in calls:
            seen = there.setdefault(pk, set())
            new = [(q, a) for q, a in parsed["questions"] if same(q) not in seen]
            seen.update(same(q) for q, _ in new)
            doubled[call.pk] = len(parsed["questions"]) - len(new)
            rows += [_follow_up(pk, None, q, generator, call.context["kind"], gold_label=a) for q, a in new]
        FollowUp.objects.bulk_create(rows, ignore_conflicts=True)
        _note_doubled([(call, parsed) for call, _, parsed in calls], doubled)


def _follow_up(
    instance: int, explanation: int | None, text: str, generator: str, kind: str, gold_label: str = ""
) -> FollowUp:
    return FollowUp(
        instance_id=instance,
        explanation_id=explanation,
        text=text,
        generator=generator[:200],
        kind=kind,
        gold_label=gold_label,
        digest=text_digest(text, generator[:200], kind),
    )


def _written(rows: Any) -> dict[Any, set[str]]:
    """The follow-ups of each explanation that the same generator wrote in an earlier run or sample."""
    found: dict[Any, set[str]] = {}
    for explanation, text in rows.values_list("explanation_id", "text"):
        found.setdefault(explanation, set()).add(same(text))
    return found


def _note_doubled(calls: Sequence[tuple[Call, JSON]], doubled: Mapping[int, int]) -> None:
    """Record, with the stored reply, how many of its follow-ups existed already."""
    for call, parsed in calls:
        if doubled[call.pk]:
            call.parsed = parsed | {"duplicates_of_others": doubled[call.pk]}
            call.save(update_fields=["parsed"])


def _distinct(texts: Sequence[str], *, but: str) -> list[str]:
    kept: dict[str, str] = {}
    for text in texts:
        if same(text) != same(but):
            kept.setdefault(same(text), text)
    return list(kept.values())


def _preference(entry: str) -> str:
    found = _PREFERENCE.fullmatch(entry)
    if found is None:
        raise Unparsable(f"an example lacks its context or a response: {entry[:60]!r}")
    context, first, second = found.groups()
    return f"Context: {context}\nResponse 1: {first}\nResponse 2: {second}"

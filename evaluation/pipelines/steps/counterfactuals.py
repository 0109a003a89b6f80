"""Counterfactuals: follow-ups of an explanation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from annotator.hit_types.base import JSON, Unparsable
from annotator.models import Explanation, FollowUp
from evaluation.core.kinds import BASELINE_KIND
from evaluation.models import Call, Run
from evaluation.pipelines.contract import PlannedStep
from evaluation.pipelines.follow_ups import follow_up, follow_ups_store, same, texts_by
from evaluation.pipelines.material import MaterialStep, explanations, jobs_about, results, task_of
from evaluation.pipelines.option_checks import any_text, list_of_texts, one_of, whole_number
from evaluation.prompts import shown
from evaluation.prompts.replies import guessed_question, numbered, plain, question_of, sorted_out
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form

WAYS = ("explained", "baseline")
#: Tasks whose follow-ups P1's prompts ask for one at a time (Appendix B).
ONE_AT_A_TIME = frozenset({"yes_no", "preference"})
#: Follow-ups of one explanation, as in the papers (P1 section 4.3; P2 section 4.4, automatic evaluation).
USUAL_NUMBER = {"yes_no": 10, "multiple_choice": 10, "preference": 6, "news": 5, "medical": 5}
_PREFERENCE = re.compile(
    r"\s*Context:\s*(\S.*?)\s*\n\s*Response 1:\s*(\S.*?)\s*\n\s*Response 2:\s*(\S.*)", re.DOTALL
)


class Counterfactuals(MaterialStep):
    """``n`` follow-ups of each explanation by one generator.

    ``way``: *explained* shows the explanation, *baseline* ignores it. Yes/no questions and preferences from an explanation
    are written one at a time, as ``n`` samples of one request at temperature 1; other follow-ups as one list of ``n``.
    The kind of a follow-up is ``counterfactual`` or ``baseline``, by the way in which it was written.
    """

    name = "counterfactuals"
    title = "Counterfactuals"
    of_systems = True
    options = MaterialStep.options | {
        "n": whole_number(1, 100),
        "way": one_of(*WAYS),
        "generator": any_text,
        "systems": list_of_texts,
    }
    max_tokens = 2000
    subject = (Explanation, "instance")

    def most_calls(self, step: PlannedStep) -> int:
        n, made = _wanted(step.options, step.task), step.material.follow_ups
        explained = step.by_system(step.material.explanations)
        for name, count in explained.items():
            made[name] = made.get(name, 0) + n * count
        return sum(explained.values()) * (n if _one_at_a_time(step.options, step.task) else 1)

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """One sample for each follow-up if they are written one at a time."""
        task = str(options.get("task", "yes_no"))
        if not _one_at_a_time(options, task):
            return 1, {}
        return _wanted(options, task), {"temperature": 1.0}

    def jobs(self, run: Run) -> Iterator[Job]:
        return jobs_about(explanations(run), "e")

    def part(self, run: Run, call: ClaimedCall) -> str:
        return _way(run.options)

    def form(self, run: Run, call: ClaimedCall) -> Form:
        task = task_of(run)
        if _one_at_a_time(run.options, task_of(run)):
            return "guessed" if task == "yes_no" else "example"
        forms: dict[str, Form] = {"preference": "examples", "multiple_choice": "choices"}
        return forms.get(task, "entries")

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        explanation = call.thing
        return {
            "input": explanation.instance.input,
            "explanation": explanation.text,
            "output": shown(explanation.output),
            "n": str(_wanted(run.options, task_of(run))),
        }

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        yield call.thing.instance.input

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        starter = call.thing.instance.input
        if _one_at_a_time(run.options, task_of(run)):
            return self._parse_one(task_of(run), text, starter)
        task, wanted = task_of(run), _wanted(run.options, task_of(run))
        readers = {"yes_no": question_of, "preference": _preference}
        listed = sorted_out(numbered(text, wanted), readers.get(task, str))
        questions = listed.entries
        kept = _distinct(questions, but=starter)
        if not kept:
            raise Unparsable("the reply repeats the starter question and has nothing else")
        result: JSON = {
            "follow_ups": kept,
            "duplicates": len(questions) - len(kept),
            "missing": wanted - len(questions),
        }
        return result | ({"faults": listed.faults} if listed.faults else {})

    def lacking(self, run: Run, call: ClaimedCall, parsed: JSON) -> str:
        missing, wanted = parsed.get("missing", 0), _wanted(run.options, task_of(run))
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
            question, answer = guessed_question(text)
            guess = {"guess": answer}
        else:
            question = _preference(plain(text))
        if same(question) == same(starter):
            raise Unparsable("the reply repeats the starter question")
        return {"follow_ups": [question], **guess}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        way = _way(run.options)
        generator = str(run.options.get("generator") or run.model + (" · baseline" if way != WAYS[0] else ""))
        kind = "counterfactual" if way == WAYS[0] else BASELINE_KIND
        calls = list(results(groups))
        owners = dict(
            Explanation.objects.filter(pk__in=[pk for _, pk, _ in calls]).values_list("pk", "instance_id")
        )
        written = FollowUp.objects.filter(explanation__in=owners, generator=generator[:200], kind=kind)
        seen = texts_by(written.values_list("explanation_id", "text"))
        rows, doubled = [], {}
        for call, pk, parsed in calls:
            known = seen.setdefault(pk, set())
            new = [text for text in parsed["follow_ups"] if same(text) not in known]
            known.update(map(same, new))
            doubled[call.pk] = len(parsed["follow_ups"]) - len(new)
            rows += [
                follow_up(
                    text=text, generator=generator, kind=kind, instance_id=owners[pk], explanation_id=pk
                )
                for text in new
            ]
        follow_ups_store(rows, calls, doubled)


def _way(options: JSON) -> str:
    return str(options.get("way", WAYS[0]))


def _one_at_a_time(options: JSON, task: str) -> bool:
    return task in ONE_AT_A_TIME and _way(options) == WAYS[0]


def _wanted(options: JSON, task: str) -> int:
    """The number of follow-ups to ask for, per explanation."""
    return int(options.get("n", USUAL_NUMBER[task]))


def _distinct(texts: Sequence[str], *, but: str) -> list[str]:
    kept: dict[str, str] = {}
    for text in texts:
        if same(text) != same(but):
            kept.setdefault(same(text), text)
    return list(kept.values())


def _preference(entry: str) -> str:
    parts = _PREFERENCE.fullmatch(entry)
    if parts is None:
        raise Unparsable(f"an example lacks its context or a response: {entry[:60]!r}")
    context, first, second = parts.groups()
    return f"Context: {context}\nResponse 1: {first}\nResponse 2: {second}"

"""The public data of Joshi et al. (2023) as rows of a `simulation` study.

The rationales (one JSON object per line) are joined with the generated questions (JSON: question -> list of
``[question, answer, kind]``). Irregular entries are dropped or left empty, and each is reported. The data don't contain
the system's answers to the starter question and to the generated ones. ``answer`` is therefore a stand-in, named in the
system's method; real outputs stay empty.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from annotator.core.tables.faults import FaultLog
from annotator.core.tables.json_stream import UnreadableElement, json_members
from annotator.core.tables.plain_file import Limits
from annotator.hit_types.base import stable_key
from annotator.services.imports.readers import max_bytes, table_open

Answer = Literal["label", "before", "after"]
STAND_INS: Mapping[Answer, tuple[str, str]] = {
    "label": ("ground_truth_label", "answer shown: the data's label"),
    "before": ("human_predicted_label_before_rationale", "answer shown: people before"),
    "after": ("human_predicted_label_after_rationale", "answer shown: people after"),
}
MODELS = {"gpt3": "davinci-instruct-beta", "t53b": "T5-3B", "t5large": "T5-Large"}
WRITER = "davinci-instruct-beta"
KINDS = ("rephrase", "counterfactual", "similar")
_LABELS = {True: "yes", False: "no"}


@dataclass
class Converted:
    """The rows, and a count and examples of each kind of irregularity."""

    rows: list[dict[str, str]] = field(default_factory=list)
    questions: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def note(self, kind: str, detail: str = "") -> None:
        self.counts[kind] += 1
        if detail:
            self.notes.append(f"{kind}: {detail}")


def normal(question: str) -> str:
    """The form by which questions are joined: letters and digits only, in lower case.

    >>> normal("Is the Louvre's pyramid known for being unbreakable? ,")
    'isthelouvrespyramidknownforbeingunbreakable'
    """
    return re.sub(r"[\W_]+", "", question).casefold()


def rationale_utility_rows(
    *, rationales: Path, follow_ups: list[Path], system: str, answer: Answer = "label"
) -> Converted:
    """Join the files; raises ``FileRefused`` with every fault if a file doesn't have the expected form."""
    result = Converted()
    questions: dict[str, tuple[str, list[Any]]] = {}
    for path in follow_ups:
        for question, entries in _generated(path).items():
            key = normal(question)
            if key in questions:
                result.note("starter question in two files, the first kept", question)
                continue
            questions[key] = (question, [e for e in entries if _told(e, path, result)])
    seen: set[str] = set()
    for row in _rationales(rationales, system):
        key = normal(row["question"])
        if key in seen:
            result.note("rationale of a question that has one already, dropped", row["question"])
            continue
        seen.add(key)
        result.questions += 1
        if key not in questions:
            result.note("starter question without generated questions, left out", row["question"])
            continue
        spelling, entries = questions[key]
        if spelling != row["question"]:
            result.note("joined in spite of another spelling", f"{row['question']!r} = {spelling!r}")
        result.rows += _rows(row, spelling, entries, system=system, answer=answer, result=result)
    unused = len(questions) - len(seen & set(questions))
    if unused:
        result.counts["starter question without a rationale of this system, not used"] = unused
    return result


def utility_rows(*, rationales: Path, system: str = "") -> list[dict[str, str]]:
    """The rationales as items of a `utility` study, each with the majority answer of five people.

    One row for each rationale (all systems, or one): the columns of `utility`, and ``before`` and ``after``, the
    majority's answers before and after reading it. A question with several spellings gets its most frequent one. Raises
    ``FileRefused``.
    """
    seen: Counter[str] = Counter()
    rows_read = list(_rationales(rationales, system))
    spellings: dict[str, Counter[str]] = {}
    for row in rows_read:
        spellings.setdefault(normal(row["question"]), Counter())[" ".join(row["question"].split())] += 1
    rows = []
    for row in rows_read:
        source = row["rationale_source"]
        instance = stable_key(normal(row["question"]))
        seen[f"{source}-{instance}"] += 1
        again = seen[f"{source}-{instance}"]
        rows.append({
            "key": f"{source}-{instance}" + (f"-{again}" if again > 1 else ""),
            "instance": instance,
            "question": spellings[normal(row["question"])].most_common(1)[0][0],
            "rationale": " ".join(row["rationale"].split()),
            "gold_label": _LABELS[row["ground_truth_label"]],
            "system": source,
            "model": MODELS.get(source, ""),
            "before": _LABELS[row[STAND_INS["before"][0]]],
            "after": _LABELS[row[STAND_INS["after"][0]]],
        })  # fmt: skip
    return rows


def _rows(
    row: Mapping[str, Any],
    question: str,
    entries: list[Any],
    *,
    system: str,
    answer: Answer,
    result: Converted,
) -> Iterator[dict[str, str]]:
    column, method = STAND_INS[answer]
    instance = stable_key(normal(question))
    asked: dict[str, Any] = {}
    for text, label, kind in entries:
        text = " ".join(text.split())
        if normal(text) == normal(question):
            result.note("generated question that is the starter question itself, dropped")
            continue
        if text in asked:
            differs = asked[text] != (label, kind)
            result.note("generated question repeated, dropped")
            if differs:
                result.note("... of these with another answer or kind than the first")
            continue
        asked[text] = (label, kind)
        yield {
            "key": f"{system}-{instance}-{len(asked)}",
            "instance": instance,
            "question": question,
            "explanation": " ".join(row["rationale"].split()),
            "answer": _LABELS[row[column]],
            "follow_up": text,
            "system": f"{system} ({method})",
            "model": MODELS.get(system, ""),
            "method": method,
            "generator": WRITER,
            "kind": kind,
            "gold_label": _LABELS[row["ground_truth_label"]],
        }


def _told(entry: Any, path: Path, result: Converted) -> bool:
    """Keep entries of the right form, and report answers that aren't yes or no (answers are not used)."""
    if entry[1] not in ("True", "False"):
        result.note("answer neither True nor False", f"{path.name}: {entry[0]!r}: {entry[1]!r}")
    return True


def _rationales(path: Path, system: str) -> Iterator[dict[str, Any]]:
    log = FaultLog(str(path))
    sources: set[str] = set()
    rows: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for line, row in table_open(file, name=path.name, log=log).rows:
            for name in ("question", "rationale", "rationale_source"):
                if not isinstance(row.get(name), str) or not row[name].strip():
                    log.add("expected a text", line=line, field=name, value=row.get(name))
            for name, _ in STAND_INS.values():
                if not isinstance(row.get(name), bool):
                    log.add("expected true or false", line=line, field=name, value=row.get(name))
            sources.add(str(row.get("rationale_source")))
            if system in ("", row.get("rationale_source")):
                rows.append(row)
    if not rows and not log:
        log.add(f"expected one of: {', '.join(sorted(sources))}", field="--system", value=system)
    log.check()
    yield from rows


def _generated(path: Path) -> dict[str, list[Any]]:
    log = FaultLog(str(path))
    if path.stat().st_size > max_bytes():
        log.add(f"expected at most {max_bytes() / 1e6:,.0f} MB")
        log.check()
    found: dict[str, list[Any]] = {}
    try:
        with path.open("rb") as file:
            if file.read(3) != codecs.BOM_UTF8:
                file.seek(0)
            for question, entries in json_members(file, most=Limits.line):
                if _generated_entries(question, entries, log):
                    found[question] = entries
    except UnreadableElement as error:
        log.add(
            f"expected one JSON object: question -> [[question, answer, kind], ...]; {error}",
            line=error.number or None,
        )
    log.check()
    return found


def _generated_entries(question: str, entries: Any, log: FaultLog) -> bool:
    """Whether the questions that were generated for one are as expected; faults go to the log."""
    whole = isinstance(entries, list) and all(
        isinstance(e, list) and len(e) == 3 and all(isinstance(part, str) for part in e) and e[0].strip()
        for e in entries
    )
    if not whole:
        log.add("expected a list of [question, answer, kind]", field=question, value=entries)
        return False
    for entry in entries:
        if entry[2] not in KINDS:
            log.add(f"expected one of: {', '.join(KINDS)}", field=question, value=entry[2])
            return False
    return True

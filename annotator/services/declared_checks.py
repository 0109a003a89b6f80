"""What a declared type must show before it is saved: the contract tests of the built-in types that can be run on one type, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from django.template.loader import render_to_string

from annotator.core.words import plural
from annotator.hit_types.base import JSON, FieldErrors, Stage
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.making import case_of
from annotator.hit_types.declaration.reading import sample_payload
from annotator.models import Study
from annotator.services.rehearsal.answers import rehearsal_answer

#: Items that are played and rendered, and the orders in which each is shown.
MOST_ITEMS, ORDERS = 20, 2
#: An answer that no question has.
NO_ANSWER = "\N{SECTION SIGN}"
_MARK = "planted in "
#: How a text that is planted in a column of each kind is written.
_PLANTED = {"text": "{}", "markdown": "{}", "code": "{}", "image": "![{}](planted.png)"}


@dataclass(frozen=True)
class TypeCheck:
    """One check: what was checked, and on how much; or what is wrong."""

    name: str
    detail: str
    passed: bool = True

    def as_json(self) -> dict[str, Any]:
        return vars(self)


class _CheckFailed(Exception):
    """What a check found."""


def declared_checks(kind: DeclaredHitType) -> list[TypeCheck]:
    """Run every check on a type that was read from a file. Nothing is stored, and no query is made."""
    items = list(islice(_items(kind), MOST_ITEMS))
    checks: Sequence[tuple[str, Callable[[], str]]] = (
        ("Items and answers of the file are read", lambda: _parsed(kind, items)),
        ("Every stage can be shown", lambda: _rendered(kind, items)),
        ("No stage contains what a later one shows", lambda: _staged(kind, items)),
        ("No control arm contains what it hides", lambda: _arms_hidden(kind, items)),
        ("A rater can do every task, and wrong input is refused", lambda: _played(kind, items)),
        ("A model's reply is read as the answer that it gives", lambda: _replied(kind, items)),
    )
    return [_run(name, check) for name, check in checks if kind.control_arms or "control arm" not in name]


def _run(name: str, check: Callable[[], str]) -> TypeCheck:
    try:
        return TypeCheck(name, check())
    except _CheckFailed as error:
        return TypeCheck(name, str(error), passed=False)
    except FieldErrors as error:
        said = "; ".join(f"{field}: {text}" for field, text in error.errors.items())
        return TypeCheck(name, said[:500], passed=False)
    except Exception as error:  # whatever breaks on an item of the file would break on people's items too
        return TypeCheck(name, f"{type(error).__name__}: {error}"[:500], passed=False)


def _items(kind: DeclaredHitType) -> Iterator[tuple[str, Mapping[str, Any] | None, JSON, JSON]]:
    """(where it is, the row, the payload, the answers) of each item of the file; without any, of its columns' examples."""
    sample = sample_payload(kind) if kind.control_arms else None
    if sample is not None:
        yield from ((f"arms.{arm}", None, kind.control(sample, arm), {}) for arm in kind.control_arms)
    found = False
    for which in ("examples", "practice", "exam", "material"):
        for number, case in enumerate(kind.declaration.get(which, ()), 1):
            found = True
            yield (f"{which}[{number}]", case["item"], *case_of(kind, case))
    for arm, texts in kind.arm_texts.items():
        for one in (*texts.practice, *texts.exam):
            yield f"arms.{arm}, question {one.key}", None, one.payload, one.gold
    if not found and (payload := sample_payload(kind)) is not None:
        yield "the columns' examples", None, payload, {}


Items = Sequence[tuple[str, Mapping[str, Any] | None, JSON, JSON]]


def _parsed(kind: DeclaredHitType, items: Items) -> str:
    graded = 0
    for where, row, payload, gold in items:
        if row is not None and kind.parse_item(row).payload != payload:
            raise _CheckFailed(f"{where} is read differently the second time")
        if gold:
            graded += 1
            if kind.grade(gold, gold).score != 1.0:
                raise _CheckFailed(f"{where}: its own correct answers don't get full marks")
    return f"{plural(len(items), 'item')}, {graded} with correct answers"


def _drawn(kind: DeclaredHitType, payload: JSON) -> Iterator[JSON]:
    yield from (kind.present(payload, Random(seed)) for seed in range(ORDERS))


def stage_html(kind: DeclaredHitType, stage: Stage) -> str:
    """A stage as raters get it, without what is around the task."""
    study = Study(title=kind.title, hit_type=kind.name)
    context = {
        "mode": "preview",
        "study": study,
        "stage": stage,
        "stages": [],
        "committed": [],
        "response": {},
    }
    return render_to_string(
        "annotator/_task.html", context | {"errors": {}, "submit_url": "", "task_title": kind.task_title}
    )


def _rendered(kind: DeclaredHitType, items: Items) -> str:
    count = 0
    for where, _, payload, _ in items[:5]:
        for drawn in _drawn(kind, payload):
            for stage in kind.stages(payload, drawn):
                count += 1
                if 'class="panel"' not in stage_html(kind, stage):
                    raise _CheckFailed(f"{where}: stage {stage.name} has no questions")
    return f"{plural(count, 'screen')} rendered"


def _staged(kind: DeclaredHitType, items: Items) -> str:
    """Each text of an item, or of what its image shows, is replaced by one that says where it is from, and looked for in the
    stages that don't show it."""
    stages = list(kind.declaration["stages"].values())
    rows = [row for _, row, _, _ in items if row is not None]
    if len(stages) == 1 or not rows:
        return "one stage" if len(stages) == 1 else "no items"
    payload, planted = _planted(kind, rows[0])
    shown: set[str] = set()
    for number, stage in enumerate(kind.stages(payload)):
        shown |= set(stages[number].get("show", {}))
        html = stage_html(kind, stage)
        if leaked := next(
            (name for name in planted if name not in shown and f"{_MARK}{name}." in html), None
        ):
            raise _CheckFailed(
                f"stage {stage.name} contains the column {leaked}, which is shown later or never"
            )
    return f"{plural(len(stages), 'stage')}, {plural(len(planted), 'column')} of text"


def _arms_hidden(kind: DeclaredHitType, items: Items) -> str:
    """The same, looked for in the screens and prompts of each control arm that hides it."""
    rows = [row for _, row, _, _ in items if row is not None]
    if not rows:
        return "no items"
    payload, planted = _planted(kind, rows[0])
    own, count = kind.with_arms(kind.control_arms), 0
    for arm, hidden in kind.control_arms.items():
        control = kind.control(payload, arm)
        for number, stage in enumerate(own.stages(control)):
            count += 1
            said = stage_html(kind, stage) + "".join(one.content for one in own.prompt(control, number))
            if leaked := next(
                (name for name in planted if name in hidden and f"{_MARK}{name}." in said), None
            ):
                raise _CheckFailed(f"arm {arm} contains the column {leaked}, which it hides")
    return f"{plural(len(kind.control_arms), 'arm')}, {plural(count, 'screen')} and as many prompts"


def _planted(kind: DeclaredHitType, row: Mapping[str, Any]) -> tuple[JSON, list[str]]:
    """The item of a row whose texts say which column they are of, and these columns."""
    texts = {
        name: _PLANTED[one["kind"]]
        for name, one in kind.declaration["columns"].items()
        if one["kind"] in _PLANTED
    }
    marked, planted = dict(row), list[str]()
    for name, written in texts.items():
        text = written.format(f"{_MARK}{name}.")
        if name in row and _is_item(kind, marked | {name: text}):
            marked[name] = text
            planted.append(name)
    return kind.parse_item(marked).payload, planted


def _is_item(kind: DeclaredHitType, row: Mapping[str, Any]) -> bool:
    try:
        kind.parse_item(row)
    except FieldErrors:
        return False
    return True


def _played(kind: DeclaredHitType, items: Items) -> str:
    """A rehearsal rater answers every stage; the same task with nothing, and with answers that don't exist, is refused."""
    answered = refused = 0
    for number, (where, _, payload, gold) in enumerate(items):
        drawn = kind.present(payload, Random(number))
        response: JSON = {}
        for step, stage in enumerate(kind.stages(payload, drawn)):
            raw = rehearsal_answer(stage, gold=gold, item_key=where, accuracy=1.0, rng=Random(number))
            response |= kind.parse_response(payload, raw, step, drawn)
            answered += 1
            for wrong, expected in _bad_input(stage, raw):
                try:
                    kind.parse_response(payload, wrong, step, drawn)
                except FieldErrors as error:
                    refused += 1
                    if not expected & set(error.errors):
                        raise _CheckFailed(
                            f"{where}: wrong input in {sorted(expected)} is reported elsewhere"
                        ) from None
                else:
                    raise _CheckFailed(f"{where}: wrong input in {sorted(expected)} is accepted")
        ratings = kind.to_ratings(payload, response)
        if kind.variables and not ratings:
            raise _CheckFailed(f"{where}: a complete answer has no rating")
    return f"{plural(answered, 'answer')} accepted, {plural(refused, 'wrong one')} refused"


def _bad_input(stage: Stage, raw: JSON) -> Iterator[tuple[JSON, set[str]]]:
    """Input that must be refused, with the fields that are wrong in it."""
    required = {asked.name for asked in stage.fields if asked.required and not asked.conditional}
    if required:
        yield {}, required
    chosen = next((asked for asked in stage.fields if asked.options and asked.name in raw), None)
    if chosen is not None:
        wrong: Any = [NO_ANSWER] if isinstance(raw[chosen.name], list) else NO_ANSWER
        yield {**raw, chosen.name: wrong}, {chosen.name}


def _replied(kind: DeclaredHitType, items: Items) -> str:
    count, own = 0, kind.with_arms(kind.control_arms)
    for number, (where, _, payload, gold) in enumerate(items):
        before: JSON = {}
        for step, stage in enumerate(kind.stages(payload)):
            raw = rehearsal_answer(stage, gold=gold, item_key=where, accuracy=1.0, rng=Random(number))
            response = kind.parse_response(payload, raw, step)
            own.prompt(payload, step, before)
            read = kind.parse_response(
                payload, kind.parse_reply(kind.write_reply(payload, response, step), payload, step), step
            )
            # Models write texts with marks of emphasis, which are not part of the answer.
            written = {asked.name for asked in stage.fields if asked.kind == "text" and not asked.bounds}
            exact = {name: value for name, value in response.items() if name not in written}
            if exact != {name: value for name, value in read.items() if name not in written}:
                raise _CheckFailed(
                    f"{where}: the reply to stage {stage.name} is read as {read}, not {response}"
                )
            before |= response
            count += 1
    return f"{plural(count, 'reply', 'replies')} read"

"""When a question of a file is asked: comparisons of the answers to earlier questions of its stage with values.

Where the answers that a condition accepts can be listed, it becomes a list, which pages follow without scripts too; a number, a
set that lacks something, and options that each item has of its own are compared when they are answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.hit_types.declaration.asking import Conditions
from annotator.hit_types.declaration.kind_checks import labels_of
from annotator.hit_types.declaration.problems import Path, shown_value
from annotator.hit_types.declaration.shown import option_of
from annotator.hit_types.fields import SIZES, AnswerComparison
from annotator.hit_types.wording import joined
from annotator.hit_types.wording import translatable as _

NOT, CONTAINS, LACKS = "not", "contains", "lacks"
#: Kinds of question -> the comparisons that they can be in, beside being equal to an answer.
COMPARED: Mapping[str, tuple[str, ...]] = {
    "choice": (NOT,),
    "yes_no": (NOT,),
    "preference": (NOT,),
    "scale": (NOT, *SIZES),
    "number": tuple(SIZES),
    "slider": tuple(SIZES),
    "several": (CONTAINS, LACKS),
}
#: Kinds whose answer can be given as it is: ``when: {clear: no}``.
_EQUAL = ("choice", "yes_no", "scale", "preference")


def conditions_of(when: Mapping[str, Any], asked: Mapping[str, Mapping[str, Any]]) -> Conditions:
    """The conditions of a question from what its file says, given the questions of its stage.

    >>> effort = {"kind": "scale", "ask": "How hard?", "from": 1, "to": 5, "anchors": {}}
    >>> conditions_of({"effort": {"more_than": 2, "not": 4}}, {"effort": effort}).when
    (('effort', ('3', '5')),)
    """
    lists: list[tuple[str, tuple[str, ...]]] = []
    compares: list[AnswerComparison] = []
    words: list[str] = []
    for name, given in when.items():
        if not isinstance(given, Mapping):
            lists.append((name, texts_of(given)))
            continue
        one = asked[name]
        words += [_words(one, sign, value) for sign, value in given.items()]
        if labels := _listed(one):
            lists.append((name, tuple(label for label in labels if _all_hold(name, given, label))))
            continue
        for sign, value in given.items():
            if sign == CONTAINS:
                lists.append((name, texts_of(value)))
            else:
                compares.append(AnswerComparison(name, sign, texts_of(value), one.get("unit", "")))
    return Conditions(tuple(lists), tuple(compares), joined(words))


def texts_of(value: Any) -> tuple[str, ...]:
    """A value of a condition, or each of several."""
    return tuple(map(str, value if isinstance(value, list) else [value]))


def _listed(one: Mapping[str, Any]) -> list[str]:
    """The labels of a question of which a condition can list those that it accepts."""
    return labels_of(one) if one["kind"] in _EQUAL else []


def _all_hold(name: str, given: Mapping[str, Any], label: str) -> bool:
    return all(AnswerComparison(name, sign, texts_of(value)).holds(label) for sign, value in given.items())


def _words(one: Mapping[str, Any], sign: str, value: Any) -> str:
    named = dict(one.get("options", {})) | {key: one[key] for key in ("none", "other") if one.get(key)}
    labels = [option_of(text, named[text]).label if text in named else text for text in texts_of(value)]
    unit = f" {one['unit']}" if one.get("unit") and sign in SIZES else ""
    values = {"question": one["ask"], "value": f"{', '.join(labels)}{unit}"}
    return {
        "at_least": _("“{question}” is at least {value}", **values),
        "more_than": _("“{question}” is more than {value}", **values),
        "at_most": _("“{question}” is at most {value}", **values),
        "less_than": _("“{question}” is less than {value}", **values),
        NOT: _("“{question}” isn't {value}", **values),
        CONTAINS: _("“{question}” includes {value}", **values),
        LACKS: _("“{question}” doesn't include {value}", **values),
    }[sign]


# -- what can be wrong with them ------------------------------------------------------------------------

Problems = Iterator[tuple[Path, str]]


def when_problems(
    one: Mapping[str, Any], earlier: Sequence[str], asked: Mapping[str, Mapping[str, Any]]
) -> Problems:
    """What is wrong with a question's ``when``. ``asked`` has the well-formed questions of its stage."""
    for other, given in one.get("when", {}).items():
        at: Path = ("when", other)
        if other not in earlier:
            expected = ", ".join(earlier) or "none: this is the first"
            yield at, f"is no question before this one in its stage; those are: {expected}"
        elif other in asked:
            yield from _problems(at, other, given, asked[other])


def _problems(at: Path, other: str, given: Any, one: Mapping[str, Any]) -> Problems:
    kind = one["kind"]
    if kind not in COMPARED or "for_each" in one:
        kinds = ", ".join(COMPARED)
        yield at, f"can't be a condition; expected a question that is asked once, of kind: {kinds}"
    elif not isinstance(given, Mapping):
        if kind in _EQUAL:
            yield from _answers(at, other, given, one)
        else:
            yield (
                at,
                f"is {shown_value(given)}; a question of kind {kind} is compared with {_or(COMPARED[kind])}",
            )
    else:
        wrong = [sign for sign in given if sign not in COMPARED[kind]]
        for sign in wrong:
            expected = _or(COMPARED[kind])
            yield (*at, sign), f"can't be said of {other}, which is of kind {kind}; expected {expected}"
        if not wrong:
            yield from _comparisons(at, other, given, one)


def _comparisons(at: Path, other: str, given: Mapping[str, Any], one: Mapping[str, Any]) -> Problems:
    for sign, value in given.items():
        if sign not in SIZES:
            yield from _answers((*at, sign), other, value, one)
    labels = _listed(one)
    if labels and not any(_all_hold(other, given, label) for label in labels):
        yield at, f"can never hold; {other} has the answers {', '.join(labels)}"
    if one["kind"] in ("number", "slider"):
        low, high = (float(one[end]) if end in one else None for end in ("least", "most"))
        for sign, value in given.items():
            up = sign in ("at_least", "more_than")
            end = high if up else low
            if end is not None and not AnswerComparison(other, sign, (str(value),)).holds(f"{end:f}"):
                yield (
                    (*at, sign),
                    f"is {value}, and {other} is at {'most' if up else 'least'} {end:g}: it can never hold",
                )


def _answers(at: Path, other: str, given: Any, one: Mapping[str, Any]) -> Problems:
    """Values that are no answers of a question, where its answers are known."""
    extra = [key for key in ("none", "other") if one.get(key)] if one["kind"] == "several" else []
    labels = [*one["options"], *extra] if one["kind"] == "several" else labels_of(one)
    for value in given if isinstance(given, list) else [given]:
        if labels and str(value) not in labels:
            yield at, f"is {shown_value(value)}, no answer of {other}; expected one of: {', '.join(labels)}"


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]

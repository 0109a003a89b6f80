"""The majority response of several samples, field by field; ties are never broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from annotator.core.canonical import canonical_json
from annotator.hit_types.base import JSON, Field


class Tied(ValueError):
    """Two values of a field were given equally often."""


def majority(fields: Sequence[Field], responses: Sequence[JSON]) -> JSON:
    """The response that most samples gave, decided field by field in the order asked; raises ``Tied``.

    A field that depends on another's value is decided among the samples that gave that value. Numbers aren't decided, so a field that
    depends on one is asked if most of those samples were asked it. Fields that need different
    values (places of a ranking) are tied if the majority gives two of them the same. A text comes from the first sample that
    agrees with every decided field.

    >>> from annotator.hit_types.base import Option
    >>> sure = Field("answer", "?", options=(Option("yes", "Yes"), Option("no", "No")))
    >>> majority([sure], [{"answer": "yes"}, {"answer": "no"}, {"answer": "yes"}])
    {'answer': 'yes'}
    """
    if not responses:
        raise ValueError("responses: at least one is needed")
    decided: JSON = {}
    texts = {asked.name for asked in fields if asked.kind == "text"}
    by_number = [field.name for field in fields if any(on.field in texts for on in field.compares)]
    for asked in fields:
        known = tuple(compare for compare in asked.compares if compare.field not in texts)
        if asked.kind == "text" or not replace(asked, compares=known).applies(decided):
            continue
        depends = [*(other for other, _ in asked.when), *(one.field for one in known)]
        alike = [r for r in responses if all(r.get(other) == decided[other] for other in depends)]
        voters = [response for response in alike if asked.name in response]
        if asked.name in by_number and 2 * len(voters) == len(alike):
            raise Tied(f"{asked.name}: half of the samples were asked it")
        if not voters or (asked.name in by_number and 2 * len(voters) < len(alike)):
            continue
        votes = Counter(canonical_json(response[asked.name]) for response in voters)
        value, most = votes.most_common(1)[0]
        if list(votes.values()).count(most) > 1:
            raise Tied(f"{asked.name}: {most} samples each")
        decided[asked.name] = next(r[asked.name] for r in voters if canonical_json(r[asked.name]) == value)
    _check_distinct(fields, decided)
    agreeing = [
        r
        for r in responses
        if all(r.get(name) == value for name, value in decided.items())
        and all((name in r) == (name in decided) for name in by_number if name not in texts)
    ]
    if by_number and not agreeing:
        raise Tied(f"{by_number[0]}: no sample has all answers of the majority")
    source = (agreeing or responses)[0]
    for asked in fields:
        if asked.kind == "text" and asked.name in source:
            decided[asked.name] = source[asked.name]
    return decided


def _check_distinct(fields: Sequence[Field], decided: JSON) -> None:
    for group in dict.fromkeys(asked.distinct for asked in fields if asked.distinct):
        values = [
            decided[field.name] for field in fields if field.distinct == group and field.name in decided
        ]
        if len(set(values)) < len(values):
            raise Tied(f"{group}: the majority gives a place twice")

"""An agreement summary as JSON; ``output_csv`` and ``output_text`` write it as CSV and as tables for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evaluation.agreement.accuracy import GoldAccuracy
from evaluation.agreement.by_group import RatingGroup
from evaluation.agreement.kappa_agreement import PAIRS
from evaluation.agreement.summary import AgreementSummary

#: With more pairs than this, the JSON isn't indented.
_MANY_PAIRS = 1_000


@dataclass(frozen=True, eq=False)
class Additions:
    """What is printed in addition to the summary: groups by column, and accuracy."""

    groups: Mapping[str, Sequence[RatingGroup]] = field(default_factory=dict)
    accuracy: GoldAccuracy | None = None

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.groups:
            found["groups"] = {
                column: {group.name: group.to_dict() for group in groups}
                for column, groups in self.groups.items()
            }
        return found | ({"accuracy": self.accuracy.to_dict()} if self.accuracy else {})


NOTHING = Additions()


def as_json(
    summary: AgreementSummary, settings: Mapping[str, Any] | None = None, additions: Additions = NOTHING
) -> str:
    """The summary's dictionary, the additions, and the settings that it was made with."""
    return "".join(json_pieces(summary, settings, additions))


def json_pieces(
    summary: AgreementSummary, settings: Mapping[str, Any] | None = None, additions: Additions = NOTHING
) -> Iterator[str]:
    """The same in pieces: with very many pairs of raters their rows are never all in memory."""
    others = additions.to_dict() | dict(settings or {})
    if len(summary.kappa["nominal"].pairs) <= _MANY_PAIRS:
        yield json.dumps(summary.to_dict() | others, indent=2, allow_nan=False) + "\n"
        return
    rest = json.dumps(summary.to_dict(pairs=False) | others, allow_nan=False)
    for weights, kappa in summary.kappa.items():
        before, _, after = rest.partition(f'"{PAIRS}{weights}"')
        if not after:  # raters without names have no pairs
            break
        yield before + "["
        rows = kappa.iterate_rows()
        first = True
        while chunk := list(islice(rows, _MANY_PAIRS)):
            yield ("" if first else ", ") + json.dumps(chunk, allow_nan=False)[1:-1]
            first = False
        rest = "]" + after
    yield rest + "\n"

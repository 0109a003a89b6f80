"""Where a study's disagreement comes from: items, systems, kinds of follow-up and raters, for people and for people with a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from annotator.hit_types.base import Variable
from annotator.models import Study
from evaluation.agreement.sources import (
    LEFT_OUT,
    Contribution,
    disagreement_of,
    disagreement_with,
    group_codes,
)
from evaluation.core.estimate import Estimate, none_if_nan
from evaluation.ratings.load import StudyRatings, VariableRatings, study_ratings
from evaluation.reports.words import NOBODY

#: With more ratings than this, the coefficient is computed again without fewer groups, so that the page comes in time.
MANY_RATINGS, FEWER = 50_000, 5
#: More rows of a table aren't kept for the page, its file and the API.
MOST_ROWS = 10_000
#: What the tables are about.
BY = ("system", "kind", "rater", "item")


@dataclass(frozen=True)
class Source:
    """One group: its name, what it contributes, and the query or the item that leads to what it is about."""

    name: str
    found: Contribution
    #: The query of the list of contested items; empty for an item.
    query: str = ""
    #: The item's database id.
    item: int | None = None


@dataclass(frozen=True)
class Sources:
    """Where the disagreement on one variable comes from. ``simulator`` is empty for people among each other."""

    variable: Variable
    variables: tuple[Variable, ...]
    simulator: str
    simulators: tuple[str, ...]
    coefficient: Estimate
    title: str
    rehearsal: bool
    #: Why the disagreement has no shares; empty if it has.
    undivided: str
    tables: dict[str, list[Source]]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON, with at most ``MOST_ROWS`` rows of each table and their whole number; ``nan`` becomes null."""
        return {
            "variable": self.variable.name,
            "variables": [{"name": variable.name, "title": variable.title} for variable in self.variables],
            "simulator": self.simulator,
            "simulators": list(self.simulators),
            "coefficient": {
                "title": self.title, "value": none_if_nan(self.coefficient.value), "reason": self.coefficient.reason,
                "n": self.coefficient.n,
            },
            "rehearsal": self.rehearsal, "undivided": self.undivided,
            "tables": {
                by: {"rows": [_row(row) for row in rows[:MOST_ROWS]], "all": len(rows)} for by, rows in self.tables.items()
            },
        }  # fmt: skip


def _row(one: Source) -> dict[str, Any]:
    found = one.found
    return {
        "name": one.name, "item": one.item, "query": one.query, "ratings": found.n, "share_of_disagreement": none_if_nan(found.part),
        "share_of_ratings": none_if_nan(found.size), "relative": none_if_nan(found.excess), "contribution": none_if_nan(found.lost),
        "without": none_if_nan(found.without.value), "reason": found.reason or found.without.reason,
    }  # fmt: skip


@dataclass(frozen=True)
class NoSources:
    """Why there is no coefficient to divide."""

    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"none_because": self.reason}


NO_LABELS = (
    "The study has no question that is answered with labels, so there is no disagreement to divide here. "
    "Reports have the agreement on rankings, sets, passages and pairs."
)


def disagreement_sources(
    *, study: Study, variable: str = "", simulator: str = "", rehearsal: bool = False
) -> Sources | NoSources:
    """The contributions to 1 - alpha of people on a variable (the headline by default), or to 1 - kappa of people with a simulator.

    A fixed number of queries. ``NoSources`` if nobody has judged, or no variable has labels; an unknown variable or simulator is taken for the
    default. The ratings are those of reports: without surplus, gold, exclusions and, unless ``rehearsal``, rehearsal raters.
    """
    data = study_ratings(study=study, rehearsal=rehearsal)
    if not data.variables:
        return NoSources(NO_LABELS)
    if not len(data.judgments):
        return NoSources(NOBODY)
    chosen = next((one for one in data.variables if one.name == variable), data.variables[0])
    simulators = tuple(sorted(data.judgments.raters.simulators))
    simulator = simulator if simulator in simulators else ""
    table = data.table(chosen.name)
    if simulator:
        found = disagreement_with(table.ratings, simulator)
        title = "Cohen’s κ with quadratic weights" if table.ratings.level != "nominal" else "Cohen’s κ"
    else:
        found, title = disagreement_of(table.ratings.people()), "Krippendorff’s α"
    ratings = found.ratings
    most = LEFT_OUT if len(ratings) <= MANY_RATINGS else FEWER
    tables = {}
    for by in BY:
        if by == "rater":
            codes, names = ratings.rater.astype(np.int64), list(ratings.raters)
        else:
            codes, names = group_codes(_names(data, table, by), ratings)
        if by == "item" or len(names) > 1:
            groups = found.by(codes, len(names), most=most)
            tables[by] = _sources(data, by, names, groups, simulator)
    return Sources(
        chosen,
        data.variables,
        simulator,
        simulators,
        found.coefficient,
        title,
        data.judgments.rehearsal,
        found.undivided,
        tables,
    )


def _names(data: StudyRatings, table: VariableRatings, by: str) -> Sequence[str]:
    """For each unit, the name of its item, system or kind; empty if it has none."""
    columns = {
        "item": data.judgments.items.key.take(table.units.item),
        "system": table.units.system,
        "kind": table.units.kind,
    }
    return [str(name) for name in columns[by].values("")]


def _sources(
    data: StudyRatings,
    by: str,
    names: Sequence[str],
    groups: Sequence[Contribution],
    simulator: str,
) -> list[Source]:
    items = (
        dict(zip(data.judgments.items.key.values(""), data.judgments.items.ids.tolist(), strict=True))
        if by == "item"
        else {}
    )
    ids = dict(zip(data.judgments.raters.names, data.judgments.raters.ids.tolist(), strict=True))
    # What the list counts: rehearsal raters also where nobody asked for them, since nobody else has judged.
    count = {"count": "rehearsal" if data.judgments.rehearsal else "people"}
    found = []
    for group in groups:
        name = names[group.code]
        if by == "item":
            found.append(Source(name, group, item=items[name]))
            continue
        if by == "rater":
            query = {"raters": f"{ids[name]}-{ids[simulator]}" if simulator else str(ids[name])}
        else:
            query = {by: name} | ({"against": str(ids[simulator])} if simulator else {})
        found.append(Source(name, group, query=urlencode(query | count)))
    return found

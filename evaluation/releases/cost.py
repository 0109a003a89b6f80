"""What coarsening would cost, before a release is made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from annotator.core.words import listed, plural
from annotator.models import Participation
from evaluation.models import Report
from evaluation.releases.rater_values import (
    Uncomputable,
    attributes_needed,
    people_of,
    rater_values,
    report_check,
    timings_changed,
)
from evaluation.releases.small_cells import AttributeCost, Coarsening, coarsen, rare
from evaluation.releases.tables import Scope
from evaluation.reports.choices import Choices


@dataclass(frozen=True)
class ReleaseCost:
    """What a release would lose. Of the ``raters`` with a released attribute, ``alone`` share their combination with too few others;
    ``changed_raters`` have another value in the release or none, in ``changed_values`` values and ``changed_rows`` rows of its tables.
    ``alone_after`` is larger than 0 only if combinations are kept. Of the ``timed`` judgments, ``times`` have a less exact time or none.
    ``problem`` says why the report can't be released like this; empty if it can.
    """

    attributes: tuple[AttributeCost, ...]
    raters: int
    alone: int
    alone_after: int
    changed_raters: int
    changed_values: int
    changed_rows: int
    timed: int
    times: int
    problem: str

    @property
    def sentences(self) -> list[str]:
        """The whole in words."""
        found = []
        if self.raters:
            found.append(
                f"{plural(self.alone, 'rater')} of {self.raters:,} with a released attribute "
                f"{'has' if self.alone == 1 else 'have'} a combination that too few share."
            )
            found.append(
                f"{plural(self.changed_values, 'value')} of {plural(self.changed_raters, 'rater')} would be coarser or missing, in "
                f"{plural(self.changed_rows, 'row')} of the release."
                if self.changed_values
                else "No value would change."
            )
        for attribute in self.attributes:
            if attribute.changed:
                done = [
                    f"{number:,} {words}"
                    for number, words in ((attribute.coarsened, "coarser"), (attribute.removed, "missing"))
                    if number
                ]
                found.append(
                    f"{attribute.name}: {listed(done)} of {plural(attribute.raters, 'rater')}; {attribute.before:,} different values would become {attribute.after:,}."
                )
        if self.times:
            found.append(f"{self.times:,} of {plural(self.timed, 'time')} of judgments would change.")
        return [*found, self.problem] if self.problem else found

    def to_json(self, *, people: bool) -> dict[str, Any]:
        """For the API; with ``people``, the values that would be released and how many raters have each."""
        attributes = [
            {
                "name": attribute.name,
                **attribute.to_json(),
                **({"values": dict(attribute.values)} if people else {}),
            }
            for attribute in self.attributes
        ]
        names = ("raters", "alone", "alone_after", "changed_raters", "changed_values", "changed_rows")
        numbers = {name: getattr(self, name) for name in (*names, "timed", "times")}
        return numbers | {"attributes": attributes, "problem": self.problem}


def release_cost(*, report: Report, attributes: Collection[str], coarsening: Coarsening) -> ReleaseCost:
    """What a release of a report with these attributes of raters would lose. Nothing is stored."""
    scope = Scope(report.studies)
    choices = Choices.parse((report.content or {})["choices"])
    people = people_of(scope.raters)
    values = rater_values(people, scope.study_pks, {*attributes, *attributes_needed(choices)})
    found = coarsen(values, coarsening)
    after = found.after(values)
    changed = {rater for rater, held in values.items() if after[rater] != held}
    joined = Participation.objects.filter(study__in=scope.study_pks, rater__in=changed)
    rows = [
        *people.filter(pk__in=changed).values_list("pk", "attributes"),
        *joined.values_list("rater_id", "join_parameters"),
    ]
    try:
        report_check(choices, values, found)
        problem = ""
    except Uncomputable as error:
        problem = str(error)
    timed, times = timings_changed(scope.study_pks, coarsening)
    return ReleaseCost(
        attributes=found.attributes,
        raters=len(values),
        alone=found.alone,
        alone_after=len(rare(after, coarsening.smallest_group)),
        changed_raters=len(changed),
        changed_values=sum(attribute.coarsened + attribute.removed for attribute in found.attributes),
        changed_rows=sum(found.of_rater(rater, held) != held for rater, held in rows),
        timed=timed,
        times=times,
        problem=problem,
    )

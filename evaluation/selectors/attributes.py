"""The columns that reports can group and filter by, with their values and how many items or raters have each."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from annotator.core.kept_figures import StudyCount
from annotator.models import Study
from annotator.recruitment.registry import person_parameters
from evaluation.core.filter_text import parse_filter

#: How many values of a column are listed at most: the most frequent ones.
LISTED = 20

# The names are those of ``evaluation.ratings.attributes``: a column of the study itself replaces the built-in one where that is blank.
_VALUES = StudyCount(
    "columns of items and raters",
    """
WITH items AS MATERIALIZED (
    SELECT coalesce(nullif(i.condition, ''), i.attributes->>'condition') AS condition,
        coalesce(nullif(f.kind, ''), i.attributes->>'kind') AS kind,
        coalesce(nullif(f.generator, ''), i.attributes->>'generator') AS generator,
        coalesce(s.name, i.attributes->>'system') AS system, d.name AS dataset, i.attributes
    FROM annotator_item i LEFT JOIN annotator_followup f ON f.id = i.follow_up_id
    LEFT JOIN annotator_explanation e ON e.id = i.explanation_id LEFT JOIN annotator_system s ON s.id = e.system_id
    LEFT JOIN annotator_instance n ON n.id = i.instance_id LEFT JOIN annotator_dataset d ON d.id = n.dataset_id
    WHERE i.study_id = ANY(%(studies)s) AND i.withdrawn_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM annotator_item later WHERE later.replaces_id = i.id)
), built_in AS (
    SELECT grouping(condition, kind, generator, system, dataset) AS bits, condition, kind, generator, system, dataset, count(*) AS n
    FROM items GROUP BY GROUPING SETS ((condition), (kind), (generator), (system), (dataset))
), raters AS (
    SELECT r.id, r.attributes FROM annotator_rater r
    WHERE r.attributes <> '{}' AND EXISTS (SELECT 1 FROM annotator_judgment j WHERE j.rater_id = r.id AND j.study_id = ANY(%(studies)s))
    UNION ALL
    SELECT p.rater_id, p.join_parameters - %(persons)s::text[] FROM annotator_participation p
    WHERE p.study_id = ANY(%(studies)s) AND p.join_parameters <> '{}'
    UNION ALL
    SELECT p.rater_id, q.attributes FROM annotator_questionnaireanswer q
    JOIN annotator_participation p ON p.id = q.participation_id
    WHERE p.study_id = ANY(%(studies)s) AND q.attributes <> '{}'
    UNION ALL
    SELECT p.rater_id, jsonb_build_object('exam score', max(a.score)) FROM annotator_examattempt a
    JOIN annotator_participation p ON p.id = a.participation_id
    WHERE p.study_id = ANY(%(studies)s) AND a.score IS NOT NULL GROUP BY p.rater_id
), found AS (
    SELECT CASE bits WHEN 15 THEN 1 WHEN 23 THEN 2 WHEN 27 THEN 3 WHEN 29 THEN 4 ELSE 5 END AS place,
        CASE bits WHEN 15 THEN 'condition' WHEN 23 THEN 'kind' WHEN 27 THEN 'generator' WHEN 29 THEN 'system' ELSE 'dataset' END AS name,
        coalesce(condition, kind, generator, system, dataset) AS value, n
    FROM built_in
    UNION ALL
    SELECT 6, key, value, count(*) FROM items, jsonb_each_text(attributes)
    WHERE key NOT IN ('condition', 'kind', 'generator', 'system', 'dataset') GROUP BY key, value
    UNION ALL
    SELECT 7, key, value, count(DISTINCT id) FROM raters, jsonb_each_text(attributes) GROUP BY key, value
), ranked AS (
    SELECT place, name, value, n, count(*) OVER (PARTITION BY place, name) AS several,
        row_number() OVER (PARTITION BY place, name ORDER BY n DESC, value) AS rank
    FROM found WHERE value <> ''
)
SELECT place, name, value, n, several FROM ranked WHERE rank <= %(listed)s ORDER BY place, name, rank
""",
)
_OF_RATERS = 7


@dataclass(frozen=True)
class AttributeValue:
    """A value of a column, and how many items or raters have it."""

    text: str
    count: int


@dataclass(frozen=True)
class StudyAttribute:
    """A column of items or of raters: its name in a report's choices, its title, its most frequent values and how
    many different ones it has.
    """

    name: str
    title: str
    of: Literal["items", "raters"]
    values: tuple[AttributeValue, ...]
    distinct: int

    @property
    def unlisted(self) -> int:
        """How many of its values aren't among ``values``."""
        return self.distinct - len(self.values)


def study_attributes(*, studies: Iterable[Study]) -> list[StudyAttribute]:
    """The columns of items and raters of these studies, in one query; the names of raters' columns start with ``rater:``.

    Withdrawn and replaced items don't count, and panels' ids of people are left out. Blank values are left out.
    """
    rows = _VALUES.rows(
        {"studies": [study.pk for study in studies], "listed": LISTED, "persons": sorted(person_parameters())}
    )
    values: dict[tuple[int, str], list[AttributeValue]] = {}
    distinct: dict[tuple[int, str], int] = {}
    for place, name, value, count, several in rows:
        values.setdefault((place, name), []).append(AttributeValue(value, count))
        distinct[place, name] = several
    return [
        StudyAttribute(
            name=f"rater:{name}" if place == _OF_RATERS else name,
            title=name.replace("_", " "),
            of="raters" if place == _OF_RATERS else "items",
            values=tuple(found),
            distinct=distinct[place, name],
        )
        for (place, name), found in values.items()
    ]


def filter_faults(attributes: Collection[StudyAttribute], *, by: str, only: str) -> dict[str, str]:
    """What is wrong with a report's ``by`` and ``only``: choice -> message. Values beyond the listed ones aren't checked.

    ``only`` that isn't ``column=value; column=value`` is a fault too.
    """
    known = {attribute.name: attribute for attribute in attributes}
    names = ", ".join(known) or "none"
    faults = {}
    if by and by not in known:
        faults["by"] = f"No item or rater has a value of “{by}”. The columns are: {names}"
    try:
        chosen = parse_filter(only)
    except ValueError:
        return faults | {"only": "Write the filter as column=value; column=value"}
    for name, values in chosen.items():
        column = known.get(name)
        if column is None:
            faults["only"] = f"No item or rater has a value of “{name}”. The columns are: {names}"
        elif not column.unlisted:
            there = [value.text for value in column.values]
            missing = [value for value in values if value not in there]
            if missing:
                faults["only"] = f"No “{name}” is “{missing[0]}”. Its values are: {', '.join(there)}"
    return faults

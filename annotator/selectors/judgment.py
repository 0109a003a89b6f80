"""Lists of judgments for researchers. ``FILTERS`` is the complete list of filters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotator.core.kept_figures import StudyCount
from annotator.models import Exclusion, Item, Judgment, Rater, Study

Condition = Callable[[str], Q]
#: What filters find is looked for by a job if it takes longer.
SLOW_FILTER_SECONDS = 1
#: The values of the filter by rehearsal raters: without them, which is the default; only theirs; both.
REHEARSAL = ("no", "yes", "both")
REHEARSAL_LEFT_OUT = Q(rater__rehearsal=False)


class UnknownFilter(ValueError):
    """An unknown filter, or a value that a filter doesn't accept; ``errors`` is keyed by the filter's name."""

    def __init__(self, errors: Mapping[str, str]):
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {message}" for name, message in errors.items()))


def _one_of(field: str, choices: Any) -> Condition:
    allowed = [str(value) for value in choices.values]

    def condition(value: str) -> Q:
        if value not in allowed:
            raise ValueError(f"expected one of: {', '.join(allowed)}")
        return Q(**{field: value})

    return condition


def _text(field: str) -> Condition:
    def condition(value: str) -> Q:
        if "\x00" in value:
            raise ValueError("contains a NUL character")
        return Q(**{field: value})

    return condition


def _yes_no(condition: Q) -> Condition:
    def either(value: str) -> Q:
        if value not in ("yes", "no"):
            raise ValueError("expected one of: yes, no")
        return condition if value == "yes" else ~condition

    return either


def _rehearsal(value: str) -> Q:
    if value not in REHEARSAL:
        raise ValueError(f"expected one of: {', '.join(REHEARSAL)}")
    return Q() if value == "both" else Q(rater__rehearsal=value == "yes")


def _seconds(field: str) -> Condition:
    def condition(value: str) -> Q:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number < 1e9:
            raise ValueError("expected a number of seconds")
        return Q(**{field: number})

    return condition


def _excluded() -> Q:
    lifted = Exclusion.objects.filter(study=OuterRef("study"), lifted_at__isnull=True)
    return (
        Q(Exists(lifted.filter(judgment=OuterRef("pk"))))
        | Q(Exists(lifted.filter(item=OuterRef("item"))))
        | Q(Exists(lifted.filter(rater=OuterRef("rater"))))
    )


#: Judgments that an exclusion in force covers: their own, their item's or their rater's.
EXCLUDED = _excluded()
#: All filters, by their name in pages, the API and exports.
FILTERS: dict[str, Condition] = {
    "rater": _text("rater__name"),
    "rater_kind": _one_of("rater__kind", Rater.Kind),
    "item": _text("item__key"),
    "instance": _text("item__instance__key"),
    "system": _text("item__explanation__system__name"),
    "condition": _text("item__condition"),
    "role": _one_of("item__role", Item.Role),
    "source": _one_of("source", Judgment.Source),
    "standing": _one_of("standing", Judgment.Standing),
    "seconds_from": _seconds("seconds__gte"),
    "seconds_below": _seconds("seconds__lt"),
    "rehearsal": _rehearsal,
    "excluded": _yes_no(EXCLUDED),
}


def judgments_filter(*, study: Study, filters: Mapping[str, str]) -> QuerySet[Judgment]:
    """A study's judgments that match all filters; raises ``UnknownFilter`` for an unknown one.

    Rehearsal raters' are left out unless a filter asks for them: ``rehearsal``, a ``source``, or one ``rater`` by name.
    """
    found = study.judgments.all()
    if not {"rehearsal", "rater"} & set(filters) and filters.get("source") != Judgment.Source.REHEARSAL:
        found = found.filter(REHEARSAL_LEFT_OUT)
    errors = {}
    for name, value in filters.items():
        if name not in FILTERS:
            errors[name] = f"no such filter; expected one of: {', '.join(FILTERS)}"
            continue
        try:
            found = found.filter(FILTERS[name](value))
        except ValueError as error:
            errors[name] = str(error)
    if errors:
        raise UnknownFilter(errors)
    return found


def _page_counted(study_pk: int, filters: dict[str, str], after: int, limit: int) -> list[tuple[int]]:
    found = judgments_filter(study=Study.objects.get(pk=study_pk), filters=filters).filter(pk__gt=after)
    return list(found.order_by("id").values_list("pk")[:limit])


_PAGE = StudyCount("judgments that filters find", count=_page_counted)


def judgments_page(*, study: Study, filters: Mapping[str, str], after: int, limit: int) -> list[Judgment]:
    """The first ``limit`` judgments after the id ``after`` that match all filters, in order of id; raises ``UnknownFilter``.

    In a large study, filters that match next to nothing go through all of its judgments. On a page, what takes longer than
    ``SLOW_FILTER_SECONDS`` is looked for by a job, as figures are counted (``annotator.core.kept_figures``).
    """
    found = judgments_filter(study=study, filters=filters)
    rows = _PAGE.rows_if_slow([study.pk, dict(filters), after, limit], limit=SLOW_FILTER_SECONDS)
    found = found.filter(pk__in=[pk for (pk,) in rows]).select_related("item", "rater", "assignment")
    return list(found.order_by("id"))


class ExclusionReasons:
    """The reason why a judgment is excluded, if it is. The exclusions in force are loaded once, and looked up without a
    query."""

    def __init__(self, study: Study):
        rows = study.exclusions.filter(lifted_at__isnull=True).values_list(
            "judgment_id", "item_id", "rater_id", "reason"
        )
        self.judgments: dict[int, str] = {}
        self.items: dict[int, str] = {}
        self.raters: dict[int, str] = {}
        for judgment, item, rater, reason in rows:
            if judgment is not None:
                self.judgments[judgment] = reason
            elif item is not None:
                self.items[item] = reason
            else:
                self.raters[rater] = reason

    def of(self, judgment_pk: int, item_pk: int, rater_pk: int) -> str:
        """The reason, empty if the judgment counts; the most specific exclusion wins."""
        return self.judgments.get(judgment_pk) or self.items.get(item_pk) or self.raters.get(rater_pk) or ""

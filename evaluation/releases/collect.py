"""From a study's rows in Postgres to the rows of a release: new numbers, pseudonyms, screened texts, no dates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from typing import Any

from django.db.models import Model

from annotator.models import (
    Adjudication,
    Explanation,
    Judgment,
    Participation,
    PersonalLink,
    QuestionnaireAnswer,
    Rater,
)
from evaluation.ratings.load import study_ratings
from evaluation.releases.free_texts import Decisions, FreeTexts, Responses
from evaluation.releases.pseudonyms import pseudonyms, source_released
from evaluation.releases.rater_values import people_of, rater_values
from evaluation.releases.screening import TextScreen
from evaluation.releases.small_cells import AS_IT_IS, Coarsening, coarsen, timing
from evaluation.releases.tables import ReleasedTable, Scope, refers_to

Row = dict[str, Any]
#: Stands for every moment: that something happened is released, but not when.
SOME_TIME = "2000-01-01T00:00:00+00:00"
_IMPORTED = "import:"
#: The columns that hold attributes of raters.
_ATTRIBUTES = ("attributes", "join_parameters")
_CHUNK = 2_000
#: More different labels of one study are texts rather than a list to choose from.
MOST_LABELS = 200


class Collection:
    """The rows of a release. ``rows`` must be asked for in the order of ``TABLES``, because rows refer to earlier ones.

    ``attributes`` are the names of raters' attributes that are released (``age``); all others stay behind.
    Of these, combinations that few raters share are coarsened as ``coarsening`` says, and so are times (``coarsened`` is what was done).
    ``names`` maps each person's name in the study to the pseudonym; ``screen.found`` counts what was removed from texts, and
    ``texts`` decides on those: by default none is released.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        key: str,
        attributes: frozenset[str] = frozenset(),
        free_text: bool = False,
        decisions: Decisions | None = None,
        coarsening: Coarsening = AS_IT_IS,
    ) -> None:
        self.scope = scope
        self.attributes = attributes
        self.coarsening = coarsening
        self.values = rater_values(people_of(scope.raters), scope.study_pks, attributes)
        self.coarsened = coarsen(self.values, coarsening)
        people = Rater.objects.filter(pk__in=scope.raters, kind=Rater.Kind.HUMAN, rehearsal=False)
        named = {rater.pk: rater for rater in people if not rater.is_numbered}
        # Raters of an imported release have pseudonyms already; with others, its report would not be the same.
        kept = {pk: one.name for pk, one in named.items() if source_released(one.source) != one.source}
        fresh = pseudonyms(key, named.keys() - kept.keys())
        self._pseudonyms = dict(sorted((kept | fresh).items(), key=lambda pair: pair[1]))
        self.names = {named[pk].name: name for pk, name in self._pseudonyms.items()}
        self.screen = TextScreen(identifiers(scope), labels=labels_chosen(scope))
        self.texts = FreeTexts(
            self.screen, include=free_text, decisions={} if decisions is None else decisions
        )
        self._numbers: dict[type[Model], dict[int, int]] = {}
        self._slugs = {study.slug for study in scope.studies}

    def rows(self, table: ReleasedTable) -> Iterator[Row]:
        """The rows of one table, each with its ``id`` in the release, from 1."""
        numbers = self._numbers[table.model] = self._order(table)
        shapes = self._shapes(table)
        foreign = {
            column: target for column in table.columns if (target := refers_to(_field(table.model, column)))
        }
        for pk, values in self._values(table, numbers):
            row: Row = {"id": numbers[pk]}
            rater = self._rater_of(table, pk, values)
            for column, value in zip(table.columns, values, strict=True):
                if column in foreign and value is not None:
                    value = self._numbers[foreign[column]].get(value)
                elif column in table.moments:
                    value = None if value is None else SOME_TIME
                elif column in table.screened and value:
                    value = self._screened(table, column, dict(zip(table.columns, values, strict=True)))
                if column in shapes:
                    value = shapes[column](value)
                if rater in self.values and column in _ATTRIBUTES:
                    value = self.coarsened.of_rater(rater, value)
                row[column] = str(value) if isinstance(value, Decimal) else value
            yield self._rater(pk, row) if table.model is Rater else row

    def _screened(self, table: ReleasedTable, column: str, raw: Mapping[str, Any]) -> Any:
        """What is released of free text."""
        if table.model in (Judgment, Adjudication):
            asked = {"item": raw["item_id"], "study": raw["study_id"]}
            return self._responses.released(**asked, response=raw[column])
        return self.texts.reason(f"{table.name}.{column}", raw[column])

    @cached_property
    def _responses(self) -> Responses:
        return Responses(self.scope, self.texts)

    def _order(self, table: ReleasedTable) -> dict[int, int]:
        """Id in the database -> id in the release."""
        if table.model is Rater:
            people = list(self._pseudonyms)
            others = sorted(self.scope.raters - set(people))
            return {pk: number for number, pk in enumerate([*people, *others], 1)}
        pks = list(table.rows(self.scope).order_by("pk").values_list("pk", flat=True))
        if table.model is Explanation:
            # Reports name explanations by their ids and draw from the sorted names. All ids have the same number of
            # digits when a release is computed.
            pks = sorted(pks, key=str)
        elif table.model is Judgment:
            return {pk: number for number, pk in enumerate(self._judgments(table), 1)}
        elif table.by:
            numbers = self._numbers[_field(table.model, table.by).remote_field.model]
            of = dict(table.rows(self.scope).values_list("pk", table.by))
            pks.sort(key=lambda pk: numbers[of[pk]])
        return {pk: number for number, pk in enumerate(pks, 1)}

    def _judgments(self, table: ReleasedTable) -> Iterator[int]:
        """By item, then pseudonym: the order of the database would be that of time."""
        numbers = self._numbers[Rater]
        found = table.rows(self.scope).order_by("item_id").values_list("item_id", "rater_id", "pk")
        for _, group in groupby(found.iterator(chunk_size=_CHUNK), key=lambda row: row[0]):
            yield from (pk for *_, pk in sorted(group, key=lambda row: numbers[row[1]]))

    def _values(
        self, table: ReleasedTable, numbers: Mapping[int, int]
    ) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """(id, columns) in the order of the release."""
        pks, rows = list(numbers), table.rows(self.scope).order_by()
        for start in range(0, len(pks), _CHUNK):
            part = pks[start : start + _CHUNK]
            found = {pk: values for pk, *values in rows.filter(pk__in=part).values_list("pk", *table.columns)}
            yield from ((pk, tuple(found[pk])) for pk in part)

    def _rater(self, pk: int, row: Row) -> Row:
        """A person's row under the pseudonym; simulators and rehearsal raters are nobody and keep their names."""
        if pk not in self._pseudonyms:
            return row | {"source": source_released(str(row["source"]))}
        source = f"{_IMPORTED}release" if str(row["source"]).startswith(_IMPORTED) else "release"
        return row | {"name": self._pseudonyms[pk], "source": source}

    def _rater_of(self, table: ReleasedTable, pk: int, values: Iterable[Any]) -> int | None:
        """The rater whose attributes a row has."""
        if table.model is Rater:
            return pk
        if table.model is Participation:
            return int(dict(zip(table.columns, values, strict=True))["rater_id"])
        if table.model is QuestionnaireAnswer:
            return self._whose[int(dict(zip(table.columns, values, strict=True))["participation_id"])]
        return None

    @cached_property
    def _whose(self) -> dict[int, int]:
        """Participation -> rater."""
        return dict(
            Participation.objects.filter(study__in=self.scope.study_pks).values_list("pk", "rater_id")
        )

    def _shapes(self, table: ReleasedTable) -> dict[str, Callable[[Any], Any]]:
        """What is released of the columns of a table that hold more than reports need."""

        def chosen(values: Mapping[str, Any]) -> Row:
            return {name: value for name, value in values.items() if name in self.attributes}

        shapes: dict[str, dict[str, Callable[[Any], Any]]] = {
            "rater": {"attributes": chosen},
            "participation": {"join_parameters": chosen},
            "questionnaire_answer": {"attributes": chosen},
            "snapshot": {"content": lambda content: {**content, "exam": None, "contact": ""}},
            "item": {"parts": self._parts},
            "judgment": {
                "signals": lambda found: {n: v for n, v in found.items() if n == "confidence"},
                "seconds": lambda found: timing(found, self.coarsening.timings),
            },
            "pipeline": {"results": self._results},
            "call": {"parsed": lambda found: {"explanation": ""} if "explanation" in (found or {}) else None},
        }
        return shapes.get(table.name, {})

    def _parts(self, parts: Mapping[str, Any]) -> Row:
        numbers = self._numbers[Explanation]
        return {suffix: numbers[int(pk)] for suffix, pk in parts.items()}

    def _results(self, results: Mapping[str, Any]) -> Row:
        """Steps' results, without the names of studies and reports that aren't released."""

        def shown(result: Any) -> Any:
            if not isinstance(result, dict):
                return result
            kept = {name: value for name, value in result.items() if name != "report"}
            if kept.get("study", "") not in self._slugs:
                kept.pop("study", None)
            return kept

        return {step: shown(result) for step, result in results.items()}


def _field(model: type[Model], column: str) -> Any:
    return next(field for field in model._meta.concrete_fields if field.attname == column)


def labels_chosen(scope: Scope) -> set[str]:
    """The answers that raters chose from a list, which aren't free text. Where a study's labels were collected elsewhere,
    they are those that occur, unless they are too many to be a list.
    """
    labels: set[str] = set()
    for study in scope.studies:
        given = {label for held in study_ratings(study=study).entries.labels for label in held}
        labels |= given if len(given) <= MOST_LABELS else set()
    return labels


def identifiers(scope: Scope) -> set[str]:
    """Everything by which the studies' people are known: names, usernames, email addresses, ids of panels."""
    people = Rater.objects.filter(pk__in=scope.raters, kind=Rater.Kind.HUMAN, rehearsal=False)
    found: set[str] = set()
    for rater in people.select_related("user"):
        if not rater.is_numbered and source_released(rater.source) == rater.source:
            found.add(rater.name)
        if rater.user is not None:
            user = rater.user
            found |= {user.username, user.email, user.first_name, user.last_name, user.get_full_name()}
    joined = Participation.objects.filter(study__in=scope.study_pks, rater__rehearsal=False)
    for ids in joined.values_list("recruiter_id", "recruiter_session"):
        found |= set(ids)
    listed = PersonalLink.objects.filter(study__in=scope.study_pks)
    for names in listed.values_list("name", "email", "own_id"):
        found |= set(names)
    return {text for text in found if text}

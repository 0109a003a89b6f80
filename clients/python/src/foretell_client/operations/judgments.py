"""Operations on judgments. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.operations.shared import FileImport
from foretell_client.transport import Download, File, Transport, part

Source = Literal["web", "import", "simulator", "rehearsal"]
Standing = Literal["counted", "surplus"]


class AnswerCount(TypedDict):
    text: str
    count: int


class Answers(TypedDict):
    name: str
    title: str
    answered: int
    values: list[AnswerCount]
    distinct: int
    least: float | None
    middle: float | None
    most: float | None


class Judgment(TypedDict):
    id: int
    item: str
    rater: str
    rater_kind: str
    rehearsal: bool
    source: Source
    standing: Standing
    seconds: float | None
    created_at: str
    excluded: str
    response: Any


class JudgmentsImport(TypedDict, total=False):
    """``columns`` is a JSON object (in a form, as text). A file, or an upload and its size."""

    file: File
    upload: str
    size: int
    columns: Required[Any]
    dry_run: bool


class JudgmentsImported(TypedDict):
    rows: int
    judgments: int
    unchanged: int
    raters: int
    items: int
    variables: list[dict[str, Any]]
    notes: list[str]
    dry_run: bool


class QuestionnaireCount(TypedDict):
    moment: str
    asked: int
    blank: int
    attributes: list[Answers]


class Questionnaires(TypedDict):
    moments: list[QuestionnaireCount]


class JudgmentsOperations:
    """Operations on judgments."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def all(
        self,
        slug: str,
        /,
        *,
        condition: str | None = None,
        excluded: str | None = None,
        instance: str | None = None,
        item: str | None = None,
        page_size: int | None = None,
        rater: str | None = None,
        rater_kind: str | None = None,
        rehearsal: Literal["both", "no", "yes"] | None = None,
        role: str | None = None,
        seconds_below: str | None = None,
        seconds_from: str | None = None,
        source: str | None = None,
        standing: str | None = None,
        system: str | None = None,
    ) -> Iterator[Judgment]:
        """Unknown filters are refused."""
        return self._http.pages(
            "GET",
            f"studies/{part(slug)}/judgments/",
            query={
                "condition": condition,
                "excluded": excluded,
                "instance": instance,
                "item": item,
                "page_size": page_size,
                "rater": rater,
                "rater_kind": rater_kind,
                "rehearsal": rehearsal,
                "role": role,
                "seconds_below": seconds_below,
                "seconds_from": seconds_from,
                "source": source,
                "standing": standing,
                "system": system,
            },
        )

    def export(
        self,
        slug: str,
        /,
        *,
        as_: Literal["csv", "jsonl"] | None = None,
        condition: str | None = None,
        excluded: str | None = None,
        form: Literal["judgments", "ratings"] | None = None,
        instance: str | None = None,
        item: str | None = None,
        rater: str | None = None,
        rater_kind: str | None = None,
        rehearsal: Literal["both", "no", "yes"] | None = None,
        role: str | None = None,
        seconds_below: str | None = None,
        seconds_from: str | None = None,
        source: str | None = None,
        standing: str | None = None,
        system: str | None = None,
    ) -> Download:
        """Cells of a CSV file that a spreadsheet would run as formulas are made safe; JSON lines are exact.
        For more than 100,000 judgments, request an export instead (POST .../exports/).
        """
        return self._http.download(
            "GET",
            f"studies/{part(slug)}/judgments/export/",
            query={
                "as": as_,
                "condition": condition,
                "excluded": excluded,
                "form": form,
                "instance": instance,
                "item": item,
                "rater": rater,
                "rater_kind": rater_kind,
                "rehearsal": rehearsal,
                "role": role,
                "seconds_below": seconds_below,
                "seconds_from": seconds_from,
                "source": source,
                "standing": standing,
                "system": system,
            },
        )

    def import_(self, slug: str, /, **sent: Unpack[JudgmentsImport]) -> JudgmentsImported | FileImport:
        """All rows or none. Needs the role of an editor."""
        reply: JudgmentsImported | FileImport = self._http.json(
            "POST", f"studies/{part(slug)}/judgments/import/", form=sent
        )
        return reply

    def questionnaires(self, slug: str, /) -> Questionnaires:
        """How many people gave each answer before and after the tasks; rehearsals don't count."""
        reply: Questionnaires = self._http.json("GET", f"studies/{part(slug)}/questionnaires/")
        return reply

    def questionnaires_answers(self, slug: str, /, *, as_: Literal["csv", "jsonl"] | None = None) -> Download:
        """One row for each person and question, with written answers; ``state`` is answered, blank, not_asked,
        or erased. Rehearsal raters are marked.
        """
        return self._http.download("GET", f"studies/{part(slug)}/questionnaires/answers/", query={"as": as_})

"""Operations on studies. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.operations.shared import (
    Blank,
    Confidence,
    ErasurePolicy,
    Language,
    Panel,
    PanelLinks,
    RejectedWork,
    RevokedWork,
    Study,
    WholeExplanations,
)
from foretell_client.transport import Transport, part


class Archive(TypedDict, total=False):
    anyway: bool


class Column(TypedDict):
    name: str
    help: str
    required: bool
    kind: str


class Deletion(TypedDict, total=False):
    typed: Required[str]


class Duplicate(TypedDict, total=False):
    slug: Required[str]
    title: Required[str]
    material: bool


class HitType(TypedDict):
    name: str
    version: str
    title: str
    source: str
    external: bool
    headline: str
    variables: list[Variable]
    columns: list[Column]


class StudyPatch(TypedDict, total=False):
    language: Language
    redundancy: int
    shared_items: int | None
    answer_only_raters: int
    nothing_raters: int
    whole_explanations: WholeExplanations
    confidence: Confidence
    max_items_per_rater: int | None
    one_condition_per_instance: bool
    lease_minutes: int
    extra_time: int
    unfinished_per_hour: int | None
    undo_seconds: int
    min_seconds: float
    seed: int
    join_open: bool
    requires: Any
    joins_per_hour: int | None
    joins_per_address: int | None
    panel: Panel | Blank
    panel_links: PanelLinks
    panel_study_ids: str
    panel_return: str
    rejected_work: RejectedWork
    join_parameters: str
    completion_code: str
    screened_out_code: str
    nothing_left_code: str
    partly_code: str
    declined_code: str
    stopped_code: str
    pay_per_item: str
    exam_pay: str
    currency: str
    minutes_per_item: float
    unpaid_terms: str
    pay_floor_per_hour: str
    budget_notice: str | None
    budget_cap: str | None
    erasure_policy: ErasurePolicy
    retention_days: int | None
    questionnaire_before: str
    questionnaire_after: str
    title: str
    summary: str
    contact: str
    consent_text: str
    instructions_text: str
    exam_own: Any
    practice_own: Any
    translations: Any
    practice_required: bool
    exam_required: bool
    exam_questions: int
    pass_mark: int
    exam_attempts: int
    exam_wait_minutes: int
    exam_feedback: bool
    exam_key_early: bool
    revoked_work: RevokedWork


class Progress(TypedDict):
    items: int
    gold: int
    attention: int
    places: int
    done: int
    done_excluded: int
    leased: int
    free: int
    judgments: int
    web: int
    imported: int
    simulated: int
    rehearsed: int
    surplus: int
    people: int
    imported_raters: int
    rehearsal_raters: int
    simulators: int
    median_seconds: float | None
    fast: int
    pay_per_hour: float | None
    pay_per_hour_planned: float
    tasks_each: int
    earns_most: float
    minutes_most: float
    people_needed: int
    places_out_of_reach: int
    people_missing: int
    excluded: int


class StudyCreate(TypedDict, total=False):
    template: Required[str]
    language: Language
    redundancy: int
    shared_items: int | None
    answer_only_raters: int
    nothing_raters: int
    whole_explanations: WholeExplanations
    confidence: Confidence
    max_items_per_rater: int | None
    one_condition_per_instance: bool
    lease_minutes: int
    extra_time: int
    unfinished_per_hour: int | None
    undo_seconds: int
    min_seconds: float
    seed: int
    join_open: bool
    requires: Any
    joins_per_hour: int | None
    joins_per_address: int | None
    panel: Panel | Blank
    panel_links: PanelLinks
    panel_study_ids: str
    panel_return: str
    rejected_work: RejectedWork
    join_parameters: str
    completion_code: str
    screened_out_code: str
    nothing_left_code: str
    partly_code: str
    declined_code: str
    stopped_code: str
    pay_per_item: str
    exam_pay: str
    currency: str
    minutes_per_item: float
    unpaid_terms: str
    pay_floor_per_hour: str
    budget_notice: str | None
    budget_cap: str | None
    erasure_policy: ErasurePolicy
    retention_days: int | None
    questionnaire_before: str
    questionnaire_after: str
    slug: Required[str]
    title: Required[str]
    summary: str
    contact: str
    consent_text: str
    instructions_text: str
    exam_own: Any
    practice_own: Any
    translations: Any
    practice_required: bool
    exam_required: bool
    exam_questions: int
    pass_mark: int
    exam_attempts: int
    exam_wait_minutes: int
    exam_feedback: bool
    exam_key_early: bool
    revoked_work: RevokedWork


class Variable(TypedDict):
    name: str
    title: str
    level: str
    labels: list[str]
    abstain: list[str]


class VersionChange(TypedDict):
    name: str
    before: str
    after: str
    lines: list[str]


class WrittenAnswer(TypedDict):
    judgment: int
    item: str
    rater: str
    rater_kind: str
    question: str
    asked: str
    text: str
    excluded: str


class WrittenPage(TypedDict):
    answers: list[WrittenAnswer]
    after: int | None


class StudiesOperations:
    """Operations on studies."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def hit_types(self) -> list[HitType]:
        """All HIT types: what their items contain, what is asked, and what is measured."""
        reply: list[HitType] = self._http.json("GET", "hit-types/")
        return reply

    def all(self, *, page_size: int | None = None) -> Iterator[Study]:
        """The studies that you have a role in."""
        return self._http.pages("GET", "studies/", query={"page_size": page_size})

    def create(self, **sent: Unpack[StudyCreate]) -> Study:
        """Create a draft; fields that you leave out come from the template. You become its owner."""
        reply: Study = self._http.json("POST", "studies/", body=sent)
        return reply

    def read(self, slug: str, /) -> Study:
        """Studies: made from a template, changed, launched, paused, resumed, closed."""
        reply: Study = self._http.json("GET", f"studies/{part(slug)}/")
        return reply

    def change(self, slug: str, /, **sent: Unpack[StudyPatch]) -> Study:
        """Change a draft, or make a new version of a launched study. Needs the role of an editor."""
        reply: Study = self._http.json("PATCH", f"studies/{part(slug)}/", body=sent)
        return reply

    def archive(self, slug: str, /, **sent: Unpack[Archive]) -> Study:
        """Everything stays readable. Refused while people wait for something, unless ``anyway``. Needs the
        role of an owner.
        """
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/archive/", body=sent)
        return reply

    def archive_delete(self, slug: str, /) -> Study:
        """Put an archived study back on the list. Needs the role of an owner."""
        reply: Study = self._http.json("DELETE", f"studies/{part(slug)}/archive/")
        return reply

    def close(self, slug: str, /) -> Study:
        """End the study. Needs the role of an editor."""
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/close/")
        return reply

    def delete(self, slug: str, /, **sent: Unpack[Deletion]) -> None:
        """It can be restored for 30 days. Needs the role of an owner."""
        self._http.nothing("POST", f"studies/{part(slug)}/delete/", body=sent)

    def duplicate(self, slug: str, /, **sent: Unpack[Duplicate]) -> Study:
        """Make a new draft with the study's settings and, unless you say otherwise, its items. You become its
        owner.
        """
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/duplicate/", body=sent)
        return reply

    def launch(self, slug: str, /) -> Study:
        """Freeze items and rules, and open the study. Needs the role of an editor."""
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/launch/")
        return reply

    def newest_type(self, slug: str, /) -> Study:
        """Let a draft use the latest version of its workspace's HIT type. Needs the role of an editor."""
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/newest-type/")
        return reply

    def pause(self, slug: str, /) -> Study:
        """Stop giving out items. Needs the role of an editor."""
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/pause/")
        return reply

    def progress(self, slug: str, /) -> Progress:
        """Counts of places, judgments and raters; median time and pay."""
        reply: Progress = self._http.json("GET", f"studies/{part(slug)}/progress/")
        return reply

    def reopen(self, slug: str, /) -> Study:
        """Make a closed study a paused one. Needs the role of an editor."""
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/reopen/")
        return reply

    def restore(self, slug: str, /) -> Study:
        """Undo a deletion. Needs the role of an owner."""
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/restore/")
        return reply

    def resume(self, slug: str, /) -> Study:
        """Give out items again. Needs the role of an editor."""
        reply: Study = self._http.json("POST", f"studies/{part(slug)}/resume/")
        return reply

    def versions_compare(self, slug: str, /, *, after: int, before: int) -> list[VersionChange]:
        """Settings, texts, questions and items."""
        reply: list[VersionChange] = self._http.json(
            "GET", f"studies/{part(slug)}/versions/compare/", query={"after": after, "before": before}
        )
        return reply

    def written_answers(
        self,
        slug: str,
        /,
        *,
        after: int | None = None,
        by: Literal["human", "simulator"] | None = None,
        q: str | None = None,
        question: str | None = None,
    ) -> WrittenPage:
        """In the order in which they were submitted, up to 50 judgments a page. Rehearsals are left out."""
        reply: WrittenPage = self._http.json(
            "GET",
            f"studies/{part(slug)}/written-answers/",
            query={"after": after, "by": by, "q": q, "question": question},
        )
        return reply

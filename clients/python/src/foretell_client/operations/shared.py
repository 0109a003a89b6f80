"""Types of several groups of operations. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict

Blank = Literal[""]
Confidence = Literal["no", "steps", "percent"]
ErasurePolicy = Literal["anonymise", "delete"]
FileImportKind = Literal["material", "judgments"]
FileImportState = Literal["queued", "running", "done", "refused", "failed", "cancelled"]
Language = Literal["en", "ar", "de", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "zh"]
Panel = Literal["cloudresearch", "personal", "prolific", "shared_secret", "sona"]
PanelLinks = Literal["signed", "plain"]
RejectedWork = Literal["keep", "exclude", "again"]
ReportState = Literal["queued", "running", "done", "failed"]
RevokedWork = Literal["keep", "refuse"]
StudyState = Literal["draft", "live", "paused", "closed"]
WholeExplanations = Literal["no", "spread", "together"]


class Action(TypedDict, total=False):
    """``calls`` for ``retry``, ``give-up`` and ``continue-without``, ``deployments`` for ``same-
    deployment``, nothing for the others.
    """

    calls: list[int]
    deployments: list[str]


class Check(TypedDict):
    name: str
    detail: str
    passed: bool


class CopyType(TypedDict, total=False):
    name: str
    workspace: int


class DeclaredFile(TypedDict):
    type: int
    number: int
    version: str
    digest: str
    title: str
    created_at: str
    checks: list[Check]
    source: str


class DeclaredType(TypedDict):
    id: int
    workspace: int
    name: str
    number: int
    version: str
    title: str
    saved_at: str


class DeclaredVersion(TypedDict):
    type: int
    number: int
    version: str
    digest: str
    title: str
    created_at: str
    checks: list[Check]


class Fault(TypedDict):
    file: str
    line: int | None
    field: str
    value: str
    expected: str


class FileImport(TypedDict):
    id: int
    kind: FileImportKind
    name: str
    state: FileImportState
    size: int
    bytes_read: int
    result: dict[str, Any]
    problem_count: int
    problems: list[Fault]
    error: str
    created_at: str
    finished_at: str | None


class NewType(TypedDict, total=False):
    source: Required[str]
    workspace: int
    base: int


class NewVersion(TypedDict, total=False):
    source: Required[str]
    base: int


class Study(TypedDict):
    state: StudyState
    role: str
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
    slug: str
    title: str
    hit_type: str
    variant: str
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
    created_at: str
    launched_at: str | None
    closed_at: str | None

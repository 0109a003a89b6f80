"""All models of this application, one file for each noun."""

from annotator.models.account import LoginAttempt, Rater, User
from annotator.models.adjudication import Adjudication
from annotator.models.api_token import ApiToken
from annotator.models.assignment import GIVEN_BACK, Assignment, StageCommit
from annotator.models.audit import AUDIT_GROUPS, AuditAction, AuditEntry, AuditSubject
from annotator.models.declared_type import (
    Declaration,
    DeclaredQuestionnaire,
    DeclaredType,
    DeclaredVersion,
)
from annotator.models.erasure import DataRequest, Tombstone
from annotator.models.exam import (
    Exam,
    ExamAnswer,
    ExamAttempt,
    ExamQuestion,
    Qualification,
    QualificationEvent,
)
from annotator.models.export import Export
from annotator.models.file_import import FileImport
from annotator.models.image import StudyImage
from annotator.models.item import Item, Place
from annotator.models.judgment import Exclusion, Judgment, Review
from annotator.models.material import AtomicUnit, Dataset, Explanation, FollowUp, Instance, Output, System
from annotator.models.membership import Invitation, Membership
from annotator.models.message import Message, MessageTemplate
from annotator.models.notice import Notice, NoticeChoices
from annotator.models.panel import PanelEvent, PanelLink, PanelLinks, RejectedWork
from annotator.models.panel_connection import PanelConnection, PanelStudy
from annotator.models.participation import Consent, Participation
from annotator.models.payment import LedgerEntry, PayBatch, PayLine, PayPart
from annotator.models.personal_link import PersonalLink
from annotator.models.place_alert import PlaceAlert
from annotator.models.questionnaire import QuestionnaireAnswer
from annotator.models.rehearsal import Rehearsal
from annotator.models.replacement import Replacement
from annotator.models.review_decision import ReviewDecision, UnpaidWork
from annotator.models.setting import (
    Change,
    Setting,
    SettingGroup,
    column_of,
    description_of,
    limits_of,
    settings_of,
)
from annotator.models.study import Snapshot, Study
from annotator.models.workspace import Workspace, WorkspaceMember

__all__ = [
    "AUDIT_GROUPS",
    "GIVEN_BACK",
    "Adjudication",
    "ApiToken",
    "Assignment",
    "AtomicUnit",
    "AuditAction",
    "AuditEntry",
    "AuditSubject",
    "Change",
    "Consent",
    "DataRequest",
    "Dataset",
    "Declaration",
    "DeclaredQuestionnaire",
    "DeclaredType",
    "DeclaredVersion",
    "Exam",
    "ExamAnswer",
    "ExamAttempt",
    "ExamQuestion",
    "Exclusion",
    "Explanation",
    "Export",
    "FileImport",
    "FollowUp",
    "Instance",
    "Invitation",
    "Item",
    "Judgment",
    "LedgerEntry",
    "LoginAttempt",
    "Membership",
    "Message",
    "MessageTemplate",
    "Notice",
    "NoticeChoices",
    "Output",
    "PanelConnection",
    "PanelEvent",
    "PanelLink",
    "PanelLinks",
    "PanelStudy",
    "Participation",
    "PayBatch",
    "PayLine",
    "PayPart",
    "PersonalLink",
    "Place",
    "PlaceAlert",
    "Qualification",
    "QualificationEvent",
    "QuestionnaireAnswer",
    "Rater",
    "Rehearsal",
    "RejectedWork",
    "Replacement",
    "Review",
    "ReviewDecision",
    "Setting",
    "SettingGroup",
    "Snapshot",
    "StageCommit",
    "Study",
    "StudyImage",
    "System",
    "Tombstone",
    "UnpaidWork",
    "User",
    "Workspace",
    "WorkspaceMember",
    "column_of",
    "description_of",
    "limits_of",
    "settings_of",
]

"""Questionnaires of workspaces over the API, with what HIT types of workspaces have."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view

from annotator.api.hit_types import (
    DeclaredTypeCopy,
    DeclaredTypeDetail,
    DeclaredTypes,
    DeclaredVersions,
)
from annotator.models import DeclaredType


class OwnQuestionnaires(DeclaredTypes):
    """The questionnaires of your workspaces."""

    kind = DeclaredType.Kind.QUESTIONNAIRE


@extend_schema_view(get=extend_schema(operation_id="own_questionnaires_retrieve"))
class OwnQuestionnaireDetail(DeclaredTypeDetail):
    """One version of a questionnaire, with its file. Studies that use it have the whole file, and keep it if it is deleted."""

    kind = DeclaredType.Kind.QUESTIONNAIRE


class OwnQuestionnaireVersions(DeclaredVersions):
    """The versions of a questionnaire, newest first."""

    kind = DeclaredType.Kind.QUESTIONNAIRE


class OwnQuestionnaireCopy(DeclaredTypeCopy):
    """Copy a questionnaire."""

    kind = DeclaredType.Kind.QUESTIONNAIRE

"""A small questionnaire of a workspace, for tests."""

from __future__ import annotations

from annotator.models import DeclaredType, User, Workspace
from annotator.services.declared_type import declared_type_save

READING = """\
foretell_questionnaire: 1
name: reading
title: Your reading
source: Our lab
licence: CC0 1.0
questions:
  often:
    kind: scale
    ask: How often do you read for pleasure?
    from: 1
    to: 5
    anchors: {1: never, 5: every day}
  what:
    kind: text
    ask: What did you read last?
    longest: 100
scores:
  practice: {title: Practice in reading, mean_of: [often], onto: [0, 100]}
"""
READING_2 = READING.replace("for pleasure", "for fun")


def questionnaire_saved(workspace: Workspace, by: User) -> DeclaredType:
    """The questionnaire, as a workspace's own."""
    return declared_type_save(
        workspace=workspace, by=by, source=READING, kind=DeclaredType.Kind.QUESTIONNAIRE
    ).type

"""A small HIT type of a workspace, for tests."""

from __future__ import annotations

import io
import json
from typing import Any

from annotator.models import DeclaredVersion, Study, User, Workspace
from annotator.services.declared_type import declared_type_save
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create, study_launch
from annotator.services.workspace import workspace_create

CLARITY = """\
foretell_hit_type: 1
name: clarity
title: Clarity of sentences
task: Is the sentence clear?
source: Our lab

columns:
  sentence:
    kind: text
    help: The sentence
    example: Birds sing.
    is: instance
  note:
    kind: text
    help: What the author meant
    example: A remark.

stages:
  first:
    title: Is the sentence clear?
    show:
      sentence: Sentence
    questions:
      clear:
        kind: choice
        ask: Can it be understood at first reading?
        options:
          yes: Yes
          no: {label: No, detail: You have to read it twice.}
        about: [sentence]
  second:
    title: And now?
    show:
      note: Note
    questions:
      still:
        kind: yes_no
        ask: Is it clear with the note?

instructions: |
  ## Your task

  Read one sentence and say whether you understood it.

examples:
  - title: Short and clear
    item: {sentence: The cat sleeps on the stove., note: About a cat.}
    answers: {clear: yes, still: yes}
    reason: It is short, and it says one thing.

practice:
  - key: p1
    item: {sentence: The soup is hot., note: Careful.}
    answers: {clear: yes}
    reason: It has four simple words and one meaning.

exam:
  - key: e1
    item: {sentence: The bus leaves at nine., note: In the morning.}
    answers: {clear: yes}
    reason: It says one thing in five simple words.
  - key: e2
    item: {sentence: The horse raced past the barn fell., note: It fell.}
    answers: {clear: no}
    reason: You first read raced as the verb and stumble over fell.

defaults: {raters: 2, minutes: 0.3, exam_questions: 1, pass_mark: 1}
"""


def clarity(workspace: Workspace, by: User | None = None, source: str = CLARITY) -> DeclaredVersion:
    """The type as the latest version of the workspace's."""
    return declared_type_save(workspace=workspace, by=by, source=source)


def clarity_lines(count: int) -> list[bytes]:
    """Rows of an import file for the type."""
    rows = [
        {"sentence": f"Sentence {number} is short.", "note": f"Note {number} says why."}
        for number in range(count)
    ]
    return [json.dumps(row).encode() for row in rows]


def clarity_study(workspace: Workspace, by: User, *, slug: str = "clear", items: int = 2) -> Study:
    """A launched study of the workspace's type, without consent, practice and exam."""
    study = study_create(
        by=by, workspace=workspace, hit_type="clarity", slug=slug, title="Clear sentences", completion_code="DONE",
        exam_required=False, practice_required=False, consent_text="", joins_per_address=None, redundancy=1,
    )  # fmt: skip
    file = io.BytesIO(b"\n".join(clarity_lines(items)))
    material_import(study=study, file=file, name="sentences.jsonl")
    study_launch(study=study, by=by)
    study.refresh_from_db()
    return study


def launched(
    by: User, source: str, rows: list[dict[str, Any]], *, slug: str = "own", **settings: Any
) -> Study:
    """A launched study of a file's type in a workspace of its own, with these rows, without consent, practice and exam."""
    lab = workspace_create(by=by, name="Lab")
    made = declared_type_save(workspace=lab, by=by, source=source)
    study = study_create(
        by=by, workspace=lab, hit_type=made.type.name, slug=slug, title="Own type", completion_code="DONE",
        exam_required=False, practice_required=False, consent_text="",
        **{"joins_per_address": None, "redundancy": 1, **settings},
    )  # fmt: skip
    material_import(
        study=study, file=io.BytesIO("\n".join(map(json.dumps, rows)).encode()), name="rows.jsonl"
    )
    study_launch(study=study, by=by)
    study.refresh_from_db()
    return study

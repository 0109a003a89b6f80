"""Everything that a task's page shows, made only from the stages that the person may see.

``task_form`` is about the questions on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from annotator.hit_types.base import JSON, Stage, answers_in_words
from annotator.models import Assignment, Message, Study
from annotator.selectors.instructions import InstructionsChange, instructions_changed
from annotator.selectors.message import replies_unread
from annotator.selectors.participation import PersonProgress
from annotator.selectors.study import study_hit_type
from annotator.web.addresses import study_url, task_url
from annotator.web.wording import say, stages_shown, wording_shown


@dataclass(frozen=True)
class StageMark:
    """One stage in the line above a task that shows how far the person has got."""

    title: str
    state: str  # done, now or later


@dataclass
class TaskPage:
    """The context of ``annotator/task.html`` and of ``annotator/_task.html``, the part that htmx swaps.

    The page around one stage: its addresses, progress and notices. The template turns ``stage``, ``response`` and
    ``errors`` into a ``TaskForm``, which has the questions alone.
    """

    mode: str  # task, practice, exam or preview
    study: Study
    stage: Stage
    stages: list[StageMark]
    committed: list[tuple[str, str]]
    response: Mapping[str, Any]
    submit_url: str
    task_title: str
    #: That of the item, if it isn't the study's: of a question that is shown in a translation.
    material_language: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    assignment: Assignment | None = None
    progress: PersonProgress | None = None
    lease_until: datetime | None = None
    draft_url: str = ""
    flag_url: str = ""
    ask_url: str = ""
    skip_url: str = ""
    more_time_url: str = ""
    instructions_url: str = ""
    #: Ends the participation with the code for some of the tasks.
    end_url: str = ""
    undo_url: str = ""
    undone: int = 0
    saved: bool = False
    surplus: bool = False
    notice: str = ""
    #: Whether the notice confirms something, rather than being a warning.
    notice_good: bool = False
    replies: list[Message] = field(default_factory=list)
    changed: InstructionsChange | None = None
    confirm_url: str = ""

    def context(self) -> dict[str, Any]:
        return vars(self)


def stage_marks(stages: tuple[Stage, ...], current: int) -> list[StageMark]:
    return [
        StageMark(stage.title, "done" if number < current else "now" if number == current else "later")
        for number, stage in enumerate(stages)
    ]


def task_page(
    *,
    assignment: Assignment,
    progress: PersonProgress,
    raw: Mapping[str, Any] | None = None,
    errors: Mapping[str, str] | None = None,
    undo: Assignment | None = None,
    surplus: bool = False,
) -> TaskPage:
    """The page of an assignment at its open stage; ``raw`` is a submitted response that had ``errors``."""
    study = assignment.participation.study
    kind = study_hit_type(study)
    made = kind.stages(assignment.item.payload, assignment.presentation)
    stages = stages_shown(made, study.language)
    stage = stages[assignment.stage]
    before: JSON = {}
    if assignment.stage:
        for commit in assignment.commits.all():
            before |= commit.response

    def url(name: str) -> str:
        return task_url(name, assignment.pk)

    return TaskPage(
        mode="task",
        study=study,
        assignment=assignment,
        stage=stage,
        stages=stage_marks(stages, assignment.stage) if len(stages) > 1 else [],
        committed=answers_in_words(made[: assignment.stage], before, say),
        response=assignment.draft if raw is None else raw,
        errors=errors or {},
        progress=progress,
        lease_until=assignment.lease_until,
        task_title=wording_shown(kind.task_title),
        submit_url=url("submit"),
        draft_url=url("draft"),
        flag_url=url("flag"),
        ask_url=url("ask"),
        skip_url=url("skip"),
        more_time_url=url("more_time"),
        instructions_url=study_url("instructions_drawer", study.slug),
        end_url=study_url("leave", study.slug) if progress.done and study.partly_code else "",
        undo_url=task_url("undo", undo.pk) if undo and study.undo_seconds else "",
        undone=undo.taken_back if undo else 0,
        saved=undo is not None,
        replies=replies_unread(rater_id=assignment.rater_id) if progress.unread else [],
        surplus=surplus,
        changed=instructions_changed(assignment.participation),
        confirm_url=study_url("instructions_confirm", study.slug),
    )

"""What a setting of a study is: a column, and who may change it until when, and where it's found.

A setting is declared once, in ``study_settings``. Its column gives type, default, limits, choices and help; the form, the
API, ``manage.py study set``, the snapshot, copies, releases and the constraints of the table are made from the declaration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, cast

from django.db import models
from django.db.models import Q
from django.db.models.fields import NOT_PROVIDED

from annotator.core.ranges import InRange

Column = TypeVar("Column", bound="models.Field[Any, Any]")


class SettingGroup(Enum):
    """The headings of the settings page, in their order."""

    TEXTS = "What annotators read"
    ITEMS = "Items and raters"
    JOINING = "Who can join"
    RECRUITMENT = "Recruitment"
    EXAM = "Practice and exam"
    QUESTIONNAIRES = "Questionnaires"
    PERSONAL_DATA = "Personal data"
    PAY = "Pay"


class Change(Enum):
    """Until when an editor of a study may change a setting."""

    UNTIL_CLOSED = "until the study is closed"
    UNTIL_LAUNCH = "until the launch"
    ONLY_GROWS = "until the study is closed; after the launch it can only grow"


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting beside its column."""

    label: str
    #: Where it is on the settings page; None if it's on a page of its own, or on none.
    section: SettingGroup | None
    #: A change makes a new version, and judgments say under which they were made.
    snapshot: bool
    change: Change = Change.UNTIL_CLOSED
    #: The API can change it; otherwise it's read-only there.
    api: bool = True
    copied: bool = True
    released: bool = False
    #: Left out of the snapshot while it has its default, so that studies from before the setting keep their digests.
    unless_default: bool = False
    #: The height of its text area.
    rows: int = 0


def setting(column: Column, label: str, section: SettingGroup | None, **declared: Any) -> Column:
    """Declare a setting; ``declared`` are the other fields of ``Setting``. The label is the column's verbose name.

    The database gets the same default, unless the column has one, so that code of the previous version can still write
    rows.
    """
    column.setting = Setting(label, section, **declared)  # type: ignore[attr-defined]
    column.verbose_name = label
    has_default = column.has_default() or (column.blank and not column.null)
    if has_default and column.db_default is NOT_PROVIDED:
        default = column.get_default()
        json = isinstance(column, models.JSONField)
        column.db_default = models.Value(default, models.JSONField()) if json else default
    return column


def settings_of(model: type[models.Model]) -> dict[str, Setting]:
    """The settings among a model's columns, by name, in the order in which they're declared."""
    return {column.name: column.setting for column in model._meta.fields if hasattr(column, "setting")}


def limits_of(model: type[models.Model], name: str) -> InRange | None:
    """The range of a setting that is a number; None for others."""
    return next((check for check in column_of(model, name).validators if isinstance(check, InRange)), None)


def column_of(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    """A setting's column."""
    return cast("models.Field[Any, Any]", model._meta.get_field(name))


def description_of(model: type[models.Model], name: str) -> str:
    """What the API's documentation says about a setting: its help, its limits and until when it can be changed.

    >>> from annotator.models import Study
    >>> description_of(Study, "seed")
    'Determines the order in which items are given out. From 0 to 2,147,483,647. Can be changed until the launch.'
    """
    limits, change = limits_of(model, name), settings_of(model)[name].change
    parts = [str(column_of(model, name).help_text)]
    if limits:
        parts.append(f"From {limits.least:,} to {limits.most:,}.")
    if change is not Change.UNTIL_CLOSED:
        parts.append(f"Can be changed {change.value}.")
    return " ".join(filter(None, parts))


def range_constraints(model: type[models.Model]) -> Iterator[models.CheckConstraint]:
    """A constraint of the table for each setting that has limits."""
    for name in settings_of(model):
        if limits := limits_of(model, name):
            yield models.CheckConstraint(
                name=f"study_{name}_in_range", condition=Q(**{f"{name}__range": (limits.least, limits.most)})
            )

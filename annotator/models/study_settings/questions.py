"""Which questionnaires come before and after the tasks."""

from __future__ import annotations

from django.db import models

from annotator.models.setting import SettingGroup, setting

_HELP = (
    "The names of questionnaires that come with Foretell (demographics, native_language, trust, explanation_satisfaction,"
    " system_usability, nasa_tlx) or that your workspace has saved, or files of your own, separated by lines of ---. Nobody has to answer."
)


class AskedOfPeople(models.Model):
    """What people are asked about themselves and about the study. Each holds the whole files, so a study keeps what it asked."""

    questionnaire_before = setting(
        models.TextField(blank=True, default="", help_text=f"Shown after the exam. {_HELP}"),
        "Questionnaire before the tasks", SettingGroup.QUESTIONNAIRES, snapshot=True, unless_default=True, released=True, rows=8,
    )  # fmt: skip
    questionnaire_after = setting(
        models.TextField(
            blank=True, default="",
            help_text=f"Shown after the last task, or when somebody stops who has done tasks. {_HELP}",
        ),
        "Questionnaire after the tasks", SettingGroup.QUESTIONNAIRES, snapshot=True, unless_default=True, released=True, rows=8,
    )  # fmt: skip

    class Meta:
        abstract = True

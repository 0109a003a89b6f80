"""How long personal data are kept, and what their removal leaves."""

from __future__ import annotations

from django.db import models

from annotator.core.ranges import InRange
from annotator.models.setting import SettingGroup, setting


class ErasurePolicy(models.TextChoices):
    """What the removal of a participant's data leaves."""

    ANONYMISE = "anonymise", "keep the answers, without any link to the person"
    DELETE = "delete", "delete the answers too"


class PersonalData(models.Model):
    """How long personal data are kept, and what their removal leaves."""

    erasure_policy = setting(
        models.CharField(
            max_length=9, choices=ErasurePolicy, default=ErasurePolicy.ANONYMISE,
            help_text="The consent text should say the same.",
        ),
        "When a participant's data is removed", SettingGroup.PERSONAL_DATA, snapshot=True,
    )  # fmt: skip
    retention_days = setting(
        models.PositiveIntegerField(
            null=True, blank=True, validators=[InRange(1, 36_500)],
            help_text="Participants are anonymised this many days after the study is closed."
            " Leave empty to keep personal data until a participant asks for its removal.",
        ),
        "Days to keep personal data after closing", SettingGroup.PERSONAL_DATA, snapshot=True,
    )  # fmt: skip

    class Meta:
        abstract = True

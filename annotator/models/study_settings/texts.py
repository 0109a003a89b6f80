"""What a study is called, and what annotators read."""

from __future__ import annotations

from django.db import models

from annotator.models.setting import Change, SettingGroup, setting


class Identity(models.Model):
    """What the study is called and which HIT type it uses."""

    #: The study's address, so there is one of each on a server.
    slug = setting(
        models.SlugField(max_length=80, unique=True),
        "Short name", None, snapshot=False, change=Change.UNTIL_LAUNCH, api=False, copied=False, released=True,
    )  # fmt: skip
    title = setting(
        models.CharField(max_length=200, help_text="Shown to annotators."),
        "Title", SettingGroup.TEXTS, snapshot=True, copied=False, released=True,
    )  # fmt: skip
    hit_type = setting(
        models.CharField(max_length=60),
        "HIT type", None, snapshot=True, change=Change.UNTIL_LAUNCH, api=False, released=True,
    )  # fmt: skip
    variant = setting(
        models.CharField(
            max_length=60, blank=True, default="",
            help_text="The only variant of the HIT type that the study uses, such as one group of properties. Leave empty for all.",
        ),
        "Variant", None, snapshot=True, change=Change.UNTIL_LAUNCH, api=False, released=True,
    )  # fmt: skip

    class Meta:
        abstract = True


class Texts(models.Model):
    """What annotators read. Questions and translations have pages of their own."""

    summary = setting(
        models.TextField(blank=True, help_text="Shown on the invitation. One or two sentences."),
        "Summary", SettingGroup.TEXTS, snapshot=True, released=True, rows=3,
    )  # fmt: skip
    contact = setting(
        models.CharField(max_length=200, blank=True, help_text="Who runs the study, and how to reach them."),
        "Contact", SettingGroup.TEXTS, snapshot=True,
    )  # fmt: skip
    consent_text = setting(
        models.TextField(blank=True, help_text="Markdown. Leave empty for no consent page."),
        "Consent text", SettingGroup.TEXTS, snapshot=True, released=True, rows=12,
    )  # fmt: skip
    # A snapshot has the instructions and questions that the study uses, its own or the HIT type's.
    instructions_text = setting(
        models.TextField(blank=True, help_text="Markdown. Replaces the HIT type's instructions."),
        "Instructions text", SettingGroup.TEXTS, snapshot=False, released=True, rows=12,
    )  # fmt: skip
    exam_own = setting(
        models.JSONField(null=True, blank=True, help_text="Replaces the HIT type's exam questions."),
        "Exam questions", None, snapshot=False,
    )  # fmt: skip
    practice_own = setting(
        models.JSONField(null=True, blank=True, help_text="Replaces the HIT type's practice questions."),
        "Practice questions", None, snapshot=False,
    )  # fmt: skip
    #: The study's texts in other languages; see ``annotator.hit_types.translations``. Only a study that has any has them
    #: in its snapshot.
    translations = setting(
        models.JSONField(default=dict, blank=True),
        "Translations", None, snapshot=False,
    )  # fmt: skip

    class Meta:
        abstract = True

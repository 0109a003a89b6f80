"""Who can join a study, and how a panel sends them."""

from __future__ import annotations

from django.db import models

from annotator.core.ranges import InRange
from annotator.models.panel import PanelLinks, RejectedWork
from annotator.models.setting import SettingGroup, setting
from annotator.recruitment.registry import link_parameters, panel_choices


class Joining(models.Model):
    """Who can join, by which link or panel, and what they're shown at the end."""

    join_open = setting(
        models.BooleanField(default=True, help_text="Anyone with the link can join while the study is live."),
        "Open to anyone with the link", SettingGroup.JOINING, snapshot=False,
    )  # fmt: skip
    requires = setting(
        models.JSONField(
            default=list, blank=True,
            help_text="Qualifications that people need in order to join: HIT types, or exam versions (type@digest).",
        ),
        "Required qualifications", SettingGroup.JOINING, snapshot=True,
    )  # fmt: skip
    joins_per_hour = setting(
        models.PositiveIntegerField(
            null=True, blank=True, default=1000, validators=[InRange(1, 1_000_000)],
            help_text="People above the limit are asked to try again in an hour. Leave empty for no limit.",
        ),
        "Maximum new participants per hour", SettingGroup.JOINING, snapshot=False,
    )  # fmt: skip
    joins_per_address = setting(
        models.PositiveIntegerField(
            null=True, blank=True, default=50, validators=[InRange(1, 1_000_000)],
            help_text="Limits how many people without an account can join from one network address. Raise it for a class in one"
            " room. Leave empty for the server's limit only.",
        ),
        "Maximum new guests per hour from one address", SettingGroup.JOINING, snapshot=False,
    )  # fmt: skip
    panel = setting(
        models.CharField(
            max_length=40, choices=panel_choices, default="", blank=True,
            error_messages={"invalid_choice": "The panel %(value)s isn't installed on this server. Choose another one."},
        ),
        "Recruitment panel", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    panel_links = setting(
        models.CharField(
            max_length=6, choices=PanelLinks, default=PanelLinks.SIGNED,
            help_text="With unverified links, people can take part again under another id, and under the id of somebody else.",
        ),
        "Links from the panel", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    panel_study_ids = setting(
        models.CharField(
            max_length=500, blank=True, default="",
            help_text="The id of each of the panel's studies that recruits for this one, separated by commas. Links of other"
            " studies are refused.",
        ),
        "Studies on the panel", SettingGroup.RECRUITMENT, snapshot=False, copied=False,
    )  # fmt: skip
    panel_return = setting(
        models.CharField(
            max_length=500, blank=True, default="", db_default="",
            help_text="Only for panels that give each study its own address, such as https://school.example/credit?study=7&token={code}&id={person}."
            " {code} is replaced by the code of how the work ended, {person} by the person's id on the link. Leave empty to show only the code.",
        ),
        "Address to return to", SettingGroup.RECRUITMENT, snapshot=False, copied=False,
    )  # fmt: skip
    rejected_work = setting(
        models.CharField(
            max_length=7, choices=RejectedWork, default=RejectedWork.KEEP,
            help_text="What happens to the answers of people whose submission you reject on the panel, once its webhook says so."
            " If it is approved after all, the exclusion is lifted.",
        ),
        "Work that is rejected on the panel", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    join_parameters = setting(
        models.CharField(
            max_length=300, blank=True, default=link_parameters, db_default="",
            help_text="Names of the ids that a recruitment panel adds to the join link. The ids are stored with each participant.",
        ),
        "Ids on the join link", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    completion_code = setting(
        models.CharField(
            max_length=64, blank=True,
            help_text="Shown to people once they have done all their tasks.",
        ),
        "Code for completing", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    screened_out_code = setting(
        models.CharField(
            max_length=64, blank=True, default="",
            help_text="For people who fail the exam and have no attempts left.",
        ),
        "Code for failing the exam", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    nothing_left_code = setting(
        models.CharField(
            max_length=64, blank=True, default="",
            help_text="For people who come when no task is left for them, before they have done one.",
        ),
        "Code for finding no task", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    partly_code = setting(
        models.CharField(
            max_length=64, blank=True, default="",
            help_text="For people who stop after some of their tasks, or who can't go on. With it, they can end when they like.",
        ),
        "Code for doing some of the tasks", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    declined_code = setting(
        models.CharField(
            max_length=64, blank=True, default="",
            help_text="For people who don't consent, or who leave before they have done a task.",
        ),
        "Code for declining", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip
    stopped_code = setting(
        models.CharField(
            max_length=64, blank=True, default="",
            help_text="For people who find the study paused or closed before they have done a task.",
        ),
        "Code for a paused or closed study", SettingGroup.RECRUITMENT, snapshot=False,
    )  # fmt: skip

    class Meta:
        abstract = True

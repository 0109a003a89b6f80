"""What a study pays."""

from __future__ import annotations

from decimal import Decimal

from django.db import models

from annotator.core.ranges import InRange
from annotator.models.setting import Change, SettingGroup, setting


class Pay(models.Model):
    """What is paid for items and the exam."""

    pay_per_item = setting(
        models.DecimalField(max_digits=8, decimal_places=4, default=0, validators=[InRange(0, 9_999)]),
        "Pay per item", SettingGroup.PAY, snapshot=True, released=True,
    )  # fmt: skip
    exam_pay = setting(
        models.DecimalField(
            max_digits=8, decimal_places=2, default=0, validators=[InRange(0, 100_000)],
            help_text="Paid once to everyone who submits the exam, passed or not. 0 means that the exam isn't paid.",
        ),
        "Pay for the exam", SettingGroup.PAY, snapshot=True, released=True,
    )  # fmt: skip
    currency = setting(
        models.CharField(max_length=3, default="USD"),
        "Currency", SettingGroup.PAY, snapshot=True, change=Change.UNTIL_LAUNCH, released=True,
    )  # fmt: skip
    minutes_per_item = setting(
        models.FloatField(default=1.0, validators=[InRange(0.01, 1_440)]),
        "Estimated minutes per item", SettingGroup.PAY, snapshot=True, released=True,
    )  # fmt: skip
    unpaid_terms = setting(
        models.TextField(
            blank=True, default="", db_default="",
            help_text="One condition a line, such as: Answers that have nothing to do with the task. Participants read them before they start."
            " Work can be left unpaid only for one of these; leave empty if all work is paid. A failed exam is never a reason.",
        ),
        "Work that isn't paid", SettingGroup.PAY, snapshot=True, unless_default=True, change=Change.UNTIL_LAUNCH, released=True, rows=3,
    )  # fmt: skip
    pay_floor_per_hour = setting(
        models.DecimalField(
            max_digits=8, decimal_places=2, default=0, validators=[InRange(0, 100_000)],
            help_text="A study that is planned to pay less can't be launched.",
        ),
        "Minimum pay per hour", SettingGroup.PAY, snapshot=False, change=Change.ONLY_GROWS, released=True,
    )  # fmt: skip
    budget_notice = setting(
        models.DecimalField(
            max_digits=10, decimal_places=2, null=True, blank=True, validators=[InRange(Decimal("0.01"), 10_000_000)],
            help_text="When everything earned and in hand reaches this amount, the payments page says so, and notices of pay do. Leave empty for no notice.",
        ),
        "Notice at this cost", SettingGroup.PAY, snapshot=False,
    )  # fmt: skip
    budget_cap = setting(
        models.DecimalField(
            max_digits=10, decimal_places=2, null=True, blank=True, validators=[InRange(Decimal("0.01"), 10_000_000)],
            help_text="No task and no paid exam is given out whose pay would take what is earned and in hand above this amount."
            " The panel's fees come on top. Leave empty for no cap.",
        ),
        "No more tasks at this cost", SettingGroup.PAY, snapshot=False,
    )  # fmt: skip

    class Meta:
        abstract = True

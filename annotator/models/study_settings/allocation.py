"""Which tasks raters get, and how long they have for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.db import models

from annotator.core.ranges import InRange
from annotator.hit_types.arms import ANSWER_ONLY, NOTHING
from annotator.hit_types.languages import ENGLISH, LANGUAGES
from annotator.models.setting import Change, SettingGroup, setting

if TYPE_CHECKING:
    from annotator.hit_types.confidence import Scale


class WholeExplanations(models.TextChoices):
    """Whether explanations are completed one after another, and by whom."""

    NO = "no", "no: items in random order"
    SPREAD = "spread", "yes: each follow-up goes to whoever comes next"
    TOGETHER = "together", "yes: who begins an explanation gets all its follow-ups"


class ConfidenceScale(models.TextChoices):
    """Whether raters are asked how sure they are, and on which scale."""

    NO = "no", "no"
    STEPS = "steps", "yes: five named steps"
    PERCENT = "percent", "yes: 0 to 100 %"


class Allocation(models.Model):
    """Which tasks raters get, and how long they have for them."""

    language = setting(
        models.CharField(
            max_length=2, choices=LANGUAGES, default=ENGLISH,
            help_text="Answers of models are understood in this language as well as in English, such as ja, oui and 是.",
        ),
        "Language of the study's texts and items", SettingGroup.ITEMS, snapshot=False, released=True,
    )  # fmt: skip
    redundancy = setting(
        models.PositiveSmallIntegerField(
            default=3, validators=[InRange(1, 100)],
            help_text="The number of raters for each item (k).",
        ),
        "Raters per item", SettingGroup.ITEMS, snapshot=True, change=Change.ONLY_GROWS, released=True,
    )  # fmt: skip
    shared_items = setting(
        models.PositiveIntegerField(
            null=True, blank=True, validators=[InRange(1, 1_000_000)],
            help_text="This many items get all the raters, and each other item gets one: so that agreement is known and the rest is"
            " divided. They are drawn by whole explanations, evenly over systems and conditions, and given out first. Leave empty to give all items alike.",
        ),
        "Items for all raters", SettingGroup.ITEMS,
        snapshot=True, unless_default=True, change=Change.UNTIL_LAUNCH, released=True,
    )  # fmt: skip
    answer_only_raters = setting(
        models.PositiveSmallIntegerField(
            default=0, validators=[InRange(0, 100)],
            help_text="Other people who see the question and the system’s answer, but no explanation. 0: no such arm.",
        ),
        "Raters per item, control arm “answer only”", SettingGroup.ITEMS,
        snapshot=True, unless_default=True, change=Change.UNTIL_LAUNCH, released=True,
    )  # fmt: skip
    nothing_raters = setting(
        models.PositiveSmallIntegerField(
            default=0, validators=[InRange(0, 100)],
            help_text="Other people who see neither an explanation nor the system’s answer. 0: no such arm. Nobody gets"
            " two arms of one instance.",
        ),
        "Raters per item, control arm “nothing”", SettingGroup.ITEMS,
        snapshot=True, unless_default=True, change=Change.UNTIL_LAUNCH, released=True,
    )  # fmt: skip
    whole_explanations = setting(
        models.CharField(
            max_length=8, choices=WholeExplanations, default=WholeExplanations.NO,
            help_text="Give out explanations in random order, and all follow-ups of those that were begun before new ones. If"
            " you stop the study early, you have a random sample of complete explanations.",
        ),
        "Complete explanations before new ones are begun", SettingGroup.ITEMS,
        snapshot=True, unless_default=True, change=Change.UNTIL_LAUNCH, released=True,
    )  # fmt: skip
    confidence = setting(
        models.CharField(
            max_length=7, choices=ConfidenceScale, default=ConfidenceScale.NO,
            help_text="Ask “How sure are you?” after each answer of a task: people on the same page, simulators in their reply."
            " Practice and exam don’t ask it. Reports then say how well confidence matches what is right.",
        ),
        "Ask how sure raters are", SettingGroup.ITEMS,
        snapshot=True, unless_default=True, change=Change.UNTIL_LAUNCH, released=True,
    )  # fmt: skip
    max_items_per_rater = setting(
        models.PositiveIntegerField(null=True, blank=True, validators=[InRange(1, 1_000_000)]),
        "Maximum items per rater", SettingGroup.ITEMS, snapshot=True, released=True,
    )  # fmt: skip
    one_condition_per_instance = setting(
        models.BooleanField(
            default=False,
            help_text="Never give one person two items of the same instance. Without this, people can be asked a question"
            " again after they have read an explanation of it. Their answers “before” the explanation are then not"
            " independent of it.",
        ),
        "One condition per instance", SettingGroup.ITEMS, snapshot=True, released=True,
    )  # fmt: skip
    lease_minutes = setting(
        models.PositiveSmallIntegerField(
            default=30, validators=[InRange(1, 10_080)],
            help_text="How long an annotator has to answer before the task can go to someone else.",
        ),
        "Minutes to answer", SettingGroup.ITEMS, snapshot=True, released=True,
    )  # fmt: skip
    extra_time = setting(
        models.PositiveSmallIntegerField(
            default=4, validators=[InRange(0, 100)],
            help_text="How often an annotator can ask for more time for a task, or reopen it after its time has run out.",
        ),
        "Extensions per task", SettingGroup.ITEMS, snapshot=False,
    )  # fmt: skip
    unfinished_per_hour = setting(
        models.PositiveSmallIntegerField(
            null=True, blank=True, default=30, validators=[InRange(1, 10_000)],
            help_text="Tasks that one person can skip or let run out in an hour before they have to wait. Leave empty for no limit.",
        ),
        "Maximum unfinished tasks per person and hour", SettingGroup.ITEMS, snapshot=False,
    )  # fmt: skip
    undo_seconds = setting(
        models.PositiveSmallIntegerField(
            default=10, validators=[InRange(0, 3_600)],
            help_text="How long an answer can be undone. 0 means never.",
        ),
        "Seconds to undo an answer", SettingGroup.ITEMS, snapshot=True, released=True,
    )  # fmt: skip
    min_seconds = setting(
        models.FloatField(
            default=5.0, validators=[InRange(0, 3_600)],
            help_text="Answers that take less time are flagged.",
        ),
        "Minimum plausible time, in seconds", SettingGroup.ITEMS, snapshot=True, released=True,
    )  # fmt: skip
    seed = setting(
        models.PositiveIntegerField(
            default=1, validators=[InRange(0, 2**31 - 1)],
            help_text="Determines the order in which items are given out.",
        ),
        "Order seed", SettingGroup.ITEMS, snapshot=True, change=Change.UNTIL_LAUNCH, released=True,
    )  # fmt: skip

    class Meta:
        abstract = True

    @property
    def raters_by_arm(self) -> dict[str, int]:
        """The number of raters of each item, by arm: the empty one has the explanation, the others are the study's control arms."""
        control = {ANSWER_ONLY: self.answer_only_raters, NOTHING: self.nothing_raters}
        return {"": self.redundancy, **{arm: raters for arm, raters in control.items() if raters}}

    @property
    def raters_words(self) -> str:
        """The number of raters of each item, in words.

        >>> from annotator.models import Study
        >>> Study(redundancy=3).raters_words, Study(redundancy=3, shared_items=12).raters_words
        ('3', '3 for 12 items, 1 for each other item')
        """
        if self.shared_items is None:
            return str(self.redundancy)
        items = "item" if self.shared_items == 1 else "items"
        return f"{self.redundancy} for {self.shared_items:,} {items}, 1 for each other item"

    @property
    def confidence_scale(self) -> Scale:
        """How raters are asked how sure they are; empty if they aren't."""
        return "" if self.confidence == ConfidenceScale.NO else cast("Scale", self.confidence)

    @property
    def control_arms(self) -> tuple[str, ...]:
        """The control arms of the study; see ``annotator.hit_types.arms``."""
        return tuple(arm for arm in self.raters_by_arm if arm)

"""A study, its members, and the frozen snapshots that its judgments refer to."""

from __future__ import annotations

import secrets

from django.db import models
from django.db.models import F, Q

from annotator.core.ranges import InRange
from annotator.hit_types.languages import ENGLISH, LANGUAGES
from annotator.models.panel import Panel, PanelLinks


def new_token() -> str:
    return secrets.token_urlsafe(16)


class RevokedWork(models.TextChoices):
    """What happens to a person's open task when their qualification is revoked."""

    KEEP = "keep", "keep the answer, but don't count it"
    REFUSE = "refuse", "refuse the answer"


class Study(models.Model):
    """One HIT type put to raters on a set of items, under fixed rules."""

    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        LIVE = "live", "live"
        PAUSED = "paused", "paused"
        CLOSED = "closed", "closed"

    class ErasurePolicy(models.TextChoices):
        ANONYMISE = "anonymise", "keep the answers, without any link to the person"
        DELETE = "delete", "delete the answers too"

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="studies"
    )
    #: The study's address, so there is one of each on a server.
    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200, help_text="Shown to annotators.")
    hit_type = models.CharField(max_length=60)
    variant = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text="The only variant of the HIT type that the study uses, such as one group of properties. Leave empty for all.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT, editable=False)
    summary = models.TextField(blank=True, help_text="Shown on the invitation. One or two sentences.")
    contact = models.CharField(
        max_length=200, blank=True, help_text="Who runs the study, and how to reach them."
    )

    language = models.CharField(
        max_length=2,
        choices=LANGUAGES,
        default=ENGLISH,
        db_default=ENGLISH,
        help_text="Answers of models are understood in this language as well as in English, such as ja, oui and 是.",
    )

    #: The study's texts in other languages; see ``annotator.hit_types.translations``.
    translations = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True, editable=False
    )
    #: The digest of the original that each translated text was made from: ``{"de": {"title": "9f86...", "exam owls": ...}}``.
    translated_from = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True, editable=False
    )

    # Allocation
    redundancy = models.PositiveSmallIntegerField(
        default=3,
        validators=[InRange(1, 100)],
        help_text="The number of raters for each item (k).",
    )
    seed = models.PositiveIntegerField(
        default=1,
        validators=[InRange(0, 2**31 - 1)],
        help_text="Determines the order in which items are given out.",
    )
    lease_minutes = models.PositiveSmallIntegerField(
        default=30,
        validators=[InRange(1, 10_080)],
        help_text="How long an annotator has to answer before the task can go to someone else.",
    )
    extra_time = models.PositiveSmallIntegerField(
        default=4,
        db_default=4,
        validators=[InRange(0, 100)],
        help_text="How often an annotator can ask for more time for a task, or reopen it after its time has run out.",
    )
    unfinished_per_hour = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        default=30,
        db_default=30,
        validators=[InRange(1, 10_000)],
        help_text="Tasks that one person can skip or let run out in an hour before they have to wait. Leave empty for no limit.",
    )
    max_items_per_rater = models.PositiveIntegerField(
        null=True, blank=True, validators=[InRange(1, 1_000_000)]
    )
    one_condition_per_instance = models.BooleanField(
        default=False,
        help_text="Never give one person two items of the same instance. Without this, people can be asked a question"
        " again after they have read an explanation of it. Their answers “before” the explanation are then not"
        " independent of it.",
    )

    # Qualification
    consent_text = models.TextField(blank=True, help_text="Markdown. Leave empty for no consent page.")
    instructions_text = models.TextField(
        blank=True, help_text="Markdown. Replaces the HIT type's instructions."
    )
    exam_own = models.JSONField(null=True, blank=True, help_text="Replaces the HIT type's exam questions.")
    practice_own = models.JSONField(
        null=True, blank=True, help_text="Replaces the HIT type's practice questions."
    )
    # These columns have a default in the database, so that code of the previous version can still write rows.
    requires = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        blank=True,
        help_text="Qualifications that people need in order to join: HIT types, or exam versions (type@digest).",
    )
    practice_required = models.BooleanField(default=True)
    exam_required = models.BooleanField(default=True)
    exam_questions = models.PositiveSmallIntegerField(
        default=11,
        validators=[InRange(0, 500)],
        help_text="Questions are drawn evenly from the exam's pools.",
    )
    pass_mark = models.PositiveSmallIntegerField(default=9, validators=[InRange(0, 500)])
    exam_attempts = models.PositiveSmallIntegerField(default=2, validators=[InRange(1, 100)])
    exam_wait_minutes = models.PositiveIntegerField(
        default=0,
        validators=[InRange(0, 43_200)],
        help_text="The time that people have to wait before their next attempt.",
    )
    exam_feedback = models.BooleanField(
        default=True, help_text="Show people which questions they got wrong, and why, after the exam."
    )
    exam_key_early = models.BooleanField(
        "show correct answers while attempts are left",
        default=False,
        db_default=False,
        help_text="Show this even to people who can still take the exam again. Their next attempt uses different questions"
        " as far as the pools allow.",
    )
    revoked_work = models.CharField(
        "open tasks after a revocation",
        max_length=6,
        choices=RevokedWork,
        default=RevokedWork.KEEP,
        db_default=RevokedWork.KEEP,
        help_text="What happens to the answer to a task that a person had open when their qualification was revoked.",
    )
    exam_pay = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        default=0,
        db_default=0,
        validators=[InRange(0, 100_000)],
        help_text="Paid once to everyone who submits the exam, passed or not. 0 means that the exam isn't paid.",
    )

    # Pay and time
    pay_per_item = models.DecimalField(
        max_digits=8, decimal_places=4, default=0, validators=[InRange(0, 9_999)]
    )
    currency = models.CharField(max_length=3, default="USD")
    minutes_per_item = models.FloatField(default=1.0, validators=[InRange(0.01, 1_440)])
    pay_floor_per_hour = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        default=0,
        validators=[InRange(0, 100_000)],
        help_text="A study that is planned to pay less can't be launched.",
    )
    min_seconds = models.FloatField(
        default=5.0, validators=[InRange(0, 3_600)], help_text="Answers that take less time are flagged."
    )
    undo_seconds = models.PositiveSmallIntegerField(
        default=10,
        validators=[InRange(0, 3_600)],
        help_text="How long an answer can be undone. 0 means never.",
    )

    # Personal data
    erasure_policy = models.CharField(
        "when a participant's data is removed",
        max_length=9,
        choices=ErasurePolicy,
        default=ErasurePolicy.ANONYMISE,
        db_default=ErasurePolicy.ANONYMISE,
        help_text="The consent text should say the same.",
    )
    retention_days = models.PositiveIntegerField(
        "days to keep personal data",
        null=True,
        blank=True,
        validators=[InRange(1, 36_500)],
        help_text="Participants are anonymised this many days after the study is closed."
        " Leave empty to keep personal data until a participant asks for its removal.",
    )

    # Recruitment
    join_open = models.BooleanField(
        default=True, help_text="Anyone with the link can join while the study is live."
    )
    join_token = models.CharField(max_length=64, default=new_token, unique=True, editable=False)
    completion_code = models.CharField(
        max_length=64,
        blank=True,
        help_text="Shown to people once they have done all their tasks.",
    )
    panel = models.CharField(max_length=10, choices=Panel, default=Panel.NONE, db_default="", blank=True)
    panel_links = models.CharField(
        max_length=6,
        choices=PanelLinks,
        default=PanelLinks.SIGNED,
        db_default=PanelLinks.SIGNED,
        help_text="With unverified links, people can take part again under another id, and under the id of somebody else.",
    )
    panel_study_ids = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="The id of each Prolific study that recruits for this one, separated by commas. It is in the address of the"
        " study's page on Prolific. Links of other studies are refused.",
    )
    screened_out_code = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="For people who fail the exam and have no attempts left. On Prolific, choose that this code pays them the"
        " screen-out reward.",
    )
    nothing_left_code = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="For people who come when no task is left for them, before they have done one.",
    )
    #: The secret that signs the panel's webhooks, encrypted; see ``annotator.core.sealed``.
    panel_secret_sealed = models.TextField(blank=True, default="", db_default="", editable=False)
    joins_per_hour = models.PositiveIntegerField(
        "new participants per hour",
        null=True,
        blank=True,
        default=1000,
        db_default=1000,
        validators=[InRange(1, 1_000_000)],
        help_text="People above the limit are asked to try again in an hour. Leave empty for no limit.",
    )
    joins_per_address = models.PositiveIntegerField(
        "new guests per hour from one address",
        null=True,
        blank=True,
        default=50,
        db_default=50,
        validators=[InRange(1, 1_000_000)],
        help_text="Limits how many people without an account can join from one network address. Raise it for a class in one"
        " room. Leave empty for the server's limit only.",
    )
    join_parameters = models.CharField(
        max_length=300,
        blank=True,
        default="PROLIFIC_PID, STUDY_ID, SESSION_ID",
        db_default="PROLIFIC_PID, STUDY_ID, SESSION_ID",
        help_text="Names of the ids that a recruitment panel adds to the join link. The ids are stored with each participant.",
    )

    snapshot = models.ForeignKey(
        "Snapshot", models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    researchers = models.ManyToManyField("annotator.User", through="Membership", related_name="studies")
    created_at = models.DateTimeField(auto_now_add=True)
    launched_at = models.DateTimeField(null=True, blank=True, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    #: Hidden from everybody since then; removed for good after ``services.study_removal.KEPT_DAYS``.
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    deleted_by = models.ForeignKey(
        "annotator.User", models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(name="study_redundancy_positive", condition=Q(redundancy__gte=1)),
            models.CheckConstraint(name="study_pay_not_negative", condition=Q(pay_per_item__gte=0)),
            models.CheckConstraint(name="study_exam_pay_not_negative", condition=Q(exam_pay__gte=0)),
            models.CheckConstraint(
                name="study_pass_mark_in_exam", condition=Q(pass_mark__lte=F("exam_questions"))
            ),
            models.CheckConstraint(
                name="study_numbers_in_range",
                condition=Q(
                    lease_minutes__range=(1, 10_080),
                    exam_questions__lte=500,
                    exam_attempts__range=(1, 100),
                    minutes_per_item__range=(0.01, 1_440),
                    min_seconds__range=(0, 3_600),
                    undo_seconds__lte=3_600,
                    redundancy__lte=100,
                    pay_per_item__lte=9_999,
                ),
            ),
            models.CheckConstraint(
                name="study_panel_known",
                condition=Q(panel__in=Panel.values, panel_links__in=PanelLinks.values),
            ),
            models.CheckConstraint(
                name="study_launched_has_snapshot", condition=Q(state="draft") | Q(snapshot__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Snapshot(models.Model):
    """All rules and texts under which judgments were made, frozen and identified by a digest of the content."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="snapshots")
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, help_text="SHA-256 of the canonical JSON of the content.")
    content = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "digest"], name="snapshot_once_per_study"),
            models.UniqueConstraint(fields=["study", "number"], name="snapshot_number_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.study.slug} v{self.number} ({self.digest[:8]})"


class Membership(models.Model):
    """A researcher's role in one study, for people from outside its workspace or with a larger role than there."""

    class Role(models.TextChoices):
        OWNER = "owner", "owner"
        EDITOR = "editor", "editor"
        REVIEWER = "reviewer", "reviewer"
        VIEWER = "viewer", "viewer"

    study = models.ForeignKey(Study, models.CASCADE, related_name="memberships")
    user = models.ForeignKey("annotator.User", models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class Invitation(models.Model):
    """A link that makes a colleague a member of a study. Only a digest of its secret is kept."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role, default=Membership.Role.VIEWER)
    email = models.EmailField(
        blank=True, help_text="The person who is invited. Leave empty to invite anyone with the link."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_by = models.ForeignKey("annotator.User", models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(
        "annotator.User", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.email or 'anyone with the link'} as {self.role}"

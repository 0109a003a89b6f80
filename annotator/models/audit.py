"""The audit trail: who changed or saw what. Rows are added and never changed; a trigger in Postgres enforces that."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class AuditAction(models.TextChoices):
    """The kinds of entries. The part before the dot is the group by which the page filters."""

    STUDY_CREATED = "study.created", "Study created"
    STUDY_CHANGED = "study.changed", "Settings changed"
    STUDY_LAUNCHED = "study.launched", "Study launched"
    STUDY_PAUSED = "study.paused", "Study paused"
    STUDY_RESUMED = "study.resumed", "Study resumed"
    STUDY_REOPENED = "study.reopened", "Study reopened"
    STUDY_CLOSED = "study.closed", "Study closed"
    STUDY_ARCHIVED = "study.archived", "Study archived"
    STUDY_UNARCHIVED = "study.unarchived", "Study unarchived"
    STUDY_DELETED = "study.deleted", "Study deleted"
    STUDY_RESTORED = "study.restored", "Study restored"
    PLAN_SAVED = "study.plan_saved", "Analysis plan saved"
    PLAN_SEALED = "study.plan_sealed", "Analysis plan sealed"
    PLAN_LOOKED = "study.plan_looked", "Planned comparisons looked at early"
    STUDY_MOVED_OUT = "study.moved_out", "Written to an encrypted file"
    STUDY_MOVED_IN = "study.moved_in", "Made from an encrypted file"
    STUDY_KEPT = "study.kept", "Kept in a file and removed"
    STUDY_BROUGHT_BACK = "study.brought_back", "Brought back from its file"
    KEPT_FILE_DELETED = "study.kept_file_deleted", "File of a study that is back deleted"
    STUDY_PURGED = "study.purged", "Study permanently removed"
    ITEMS_IMPORTED = "items.imported", "Material imported"
    ITEMS_CLEARED = "items.cleared", "All items deleted"
    ITEM_CHANGED = "items.changed", "Item changed"
    ITEM_DELETED = "items.deleted", "Item deleted"
    ITEM_WITHDRAWN = "items.withdrawn", "Item withdrawn"
    ITEM_CORRECTED = "items.corrected", "Item corrected"
    IMAGES_ADDED = "items.images_added", "Images added"
    IMAGE_DELETED = "items.image_deleted", "Image deleted"
    JUDGMENTS_IMPORTED = "judgments.imported", "Judgments imported"
    SIMULATORS_MERGED = "judgments.simulators_merged", "Simulators counted as one"
    SIMULATORS_SEPARATED = "judgments.simulators_separated", "Simulators separated again"
    MEMBER_INVITED = "members.invited", "Colleague invited"
    INVITATION_WITHDRAWN = "members.invitation_withdrawn", "Invitation withdrawn"
    MEMBER_JOINED = "members.joined", "Invitation accepted"
    MEMBER_CHANGED = "members.changed", "Role changed"
    MEMBER_REMOVED = "members.removed", "Member removed"
    ADJUDICATED = "adjudication.labelled", "Item adjudicated"
    ADJUDICATION_UNDONE = "adjudication.undone", "Adjudication undone"
    ADJUDICATION_COPIED = "adjudication.copied", "Adjudicated items copied as gold"
    EXCLUDED = "exclusions.made", "Excluded"
    EXCLUSION_CHANGED = "exclusions.changed", "Reason of an exclusion changed"
    COLLECTED_AGAIN = "exclusions.collected_again", "Places opened again"
    EXCLUSION_LIFTED = "exclusions.lifted", "Exclusion lifted"
    QUALIFICATION_GRANTED = "qualifications.granted", "Qualification granted"
    QUALIFICATION_REVOKED = "qualifications.revoked", "Qualification revoked"
    DECISION_MADE = "review.decided", "Decision made"
    DECISION_UNDONE = "review.undone", "Decision undone"
    DECISION_DONE = "review.carried_out", "Decision carried out"
    MESSAGE_SENT = "review.message", "Message sent"
    WORK_ACCEPTED = "payments.accepted", "Work accepted"
    BONUS_GIVEN = "payments.bonus", "Bonus given"
    PAYMENT_RECORDED = "payments.recorded", "Payment recorded"
    TOP_UP_GIVEN = "payments.top_up", "Top-up given"
    PAY_BATCH_SETTLED = "payments.settled", "Payment in doubt settled"
    PAYMENT_UNDONE = "payments.undone", "Record of a payment undone"
    PANEL_CONNECTED = "recruitment.connected", "Panel connected"
    PANEL_DISCONNECTED = "recruitment.disconnected", "Panel disconnected"
    PANEL_STUDY_CREATED = "recruitment.created", "Study created on the panel"
    PANEL_STUDY_CHANGED = "recruitment.changed", "Study on the panel changed"
    PANEL_GROUP_FILLED = "recruitment.group", "Participant group filled"
    PANEL_WEBHOOKS = "recruitment.webhooks", "Webhooks set up"
    WORKSPACE_CREATED = "workspace.created", "Workspace created"
    WORKSPACE_CHANGED = "workspace.changed", "Workspace changed"
    WORKSPACE_DELETED = "workspace.deleted", "Workspace deleted"
    WORKSPACE_BACKED_UP = "workspace.backed_up", "Workspace backed up to an encrypted file"
    WORKSPACE_RESTORED = "workspace.restored", "Workspace restored from a backup"
    HIT_TYPE_SAVED = "hit_types.saved", "HIT type saved"
    HIT_TYPE_DELETED = "hit_types.deleted", "HIT type deleted"
    QUESTIONNAIRE_SAVED = "questionnaires.saved", "Questionnaire saved"
    QUESTIONNAIRE_DELETED = "questionnaires.deleted", "Questionnaire deleted"
    ENDPOINT_SAVED = "endpoints.saved", "Endpoint saved"
    ENDPOINT_DELETED = "endpoints.deleted", "Endpoint deleted"
    DEPLOYMENT_CONFIRMED = "endpoints.deployment_confirmed", "Same deployment confirmed"
    FINE_TUNING_GIVEN_UP = "endpoints.fine_tuning_given_up", "Fine-tuning job taken as cancelled"
    TOKEN_CREATED = "access.token_created", "API token created"
    TOKEN_REVOKED = "access.token_revoked", "API token revoked"
    SECOND_FACTOR_CHANGED = "access.second_factor", "Two-factor login changed"
    ACCOUNT_CHANGED = "access.account_changed", "Account changed"
    PEOPLE_VIEWED = "people.viewed", "Personal data viewed"
    EXPORTED = "people.exported", "Data exported"
    DOWNLOADED = "people.downloaded", "Export downloaded"
    DELETION_ASKED = "people.deletion_asked", "Deletion requested"
    DELETION_DECLINED = "people.deletion_declined", "Deletion declined"
    ERASED = "people.erased", "Personal data removed"


#: Group -> its name on the page, in this order.
AUDIT_GROUPS = {
    "study": "Study", "items": "Items", "judgments": "Judgments", "members": "Members", "adjudication": "Adjudication", "exclusions": "Exclusions",
    "qualifications": "Qualifications", "review": "Review desk", "payments": "Payments", "recruitment": "Recruitment",
    "workspace": "Workspace", "hit_types": "HIT types", "endpoints": "Endpoints",
    "access": "Accounts and tokens", "people": "Personal data",
}  # fmt: skip


class AuditSubject(models.Model):
    """The participant whom entries are about, within one study. An erasure sets ``rater`` to null, so the entries no
    longer name anyone."""

    study = models.BigIntegerField(null=True, blank=True)
    rater = models.ForeignKey("Rater", models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "rater"],
                condition=Q(rater__isnull=False),
                name="audit_subject_once",
                nulls_distinct=False,
            ),
        ]

    def __str__(self) -> str:
        return str(self.rater) if self.rater else "erased person"


def _reference(to: str) -> models.ForeignKey:
    """A reference without a constraint: an entry stays unchanged when the row that it refers to is deleted."""
    return models.ForeignKey(
        to, models.DO_NOTHING, null=True, blank=True, related_name="+", db_constraint=False, db_index=False
    )


class AuditEntry(models.Model):
    """One change, export or view of personal data. Holds no name, e-mail address or secret, only references."""

    at = models.DateTimeField(db_default=Now())
    action = models.CharField(max_length=40)
    via = models.CharField(max_length=8, help_text="How it was done: page, api, command or job.")
    address = models.CharField(
        max_length=50,
        blank=True,
        db_default="",
        help_text="The network of the address: /24 for IPv4, /48 for IPv6.",
    )
    actor = _reference("annotator.User")
    workspace = _reference("annotator.Workspace")
    study = _reference("annotator.Study")
    target = models.CharField(
        max_length=200,
        blank=True,
        db_default="",
        help_text="What was changed or viewed, such as an item's key.",
    )
    #: The researcher whose access changed, and the participant whom it is about.
    member = _reference("annotator.User")
    subject = models.ForeignKey(AuditSubject, models.PROTECT, null=True, blank=True, related_name="entries")
    before = models.JSONField(default=dict, blank=True)
    after = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["study", "-id"], name="audit_by_study"),
            models.Index(fields=["workspace", "-id"], name="audit_by_workspace"),
            models.Index(fields=["actor", "-id"], name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.action}"

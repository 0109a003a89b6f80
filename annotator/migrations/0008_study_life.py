import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# Rehearsals used to take places of participants. Those places become places of the rehearsal, and each item gets a
# free one back.
_GIVE_BACK = """
UPDATE annotator_place p SET rehearsal = true FROM annotator_assignment a, annotator_rater r
WHERE a.id = p.assignment_id AND r.id = a.rater_id AND r.rehearsal;
INSERT INTO annotator_place (study_id, item_id, number, position, freed, rehearsal)
SELECT study_id, item_id, number, position, true, false FROM annotator_place WHERE rehearsal;
"""


class Migration(migrations.Migration):
    """The life of a study: rehearsals of their own, corrected items, deletion with undo, invitations, payments."""

    dependencies = [
        ("annotator", "0007_stage_signals"),
    ]

    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "owner"),
                            ("editor", "editor"),
                            ("reviewer", "reviewer"),
                            ("viewer", "viewer"),
                        ],
                        default="viewer",
                        max_length=10,
                    ),
                ),
                (
                    "email",
                    models.EmailField(
                        blank=True, help_text="Who it is for. Empty: whoever has the link.", max_length=254
                    ),
                ),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Rehearsal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "waiting for a worker"),
                            ("running", "running"),
                            ("done", "finished"),
                            ("stopped", "stopped"),
                            ("failed", "failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "raters",
                    models.PositiveSmallIntegerField(
                        default=12,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(200),
                        ],
                    ),
                ),
                (
                    "accuracy",
                    models.FloatField(
                        default=0.85,
                        help_text="Mean share of right answers, from 0 to 1.",
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                    ),
                ),
                ("seed", models.PositiveIntegerField(default=1)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="place",
            name="place_number_unique",
        ),
        # In the database, 0029_place_indexes builds and removes these four while people work.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex(model_name="place", name="place_open"),
                migrations.RemoveIndex(model_name="place", name="place_freed"),
            ]
        ),
        migrations.AddField(
            model_name="item",
            name="replaces",
            field=models.OneToOneField(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="replaced_by",
                to="annotator.item",
            ),
        ),
        migrations.AddField(
            model_name="item",
            name="version",
            field=models.PositiveSmallIntegerField(
                db_default=1,
                default=1,
                help_text="A corrected item is a new version that replaces the one before.",
            ),
        ),
        migrations.AddField(
            model_name="item",
            name="withdrawn_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="item",
            name="withdrawn_by",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="item",
            name="withdrawn_reason",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="reference",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of the payment: a batch or transfer number.",
                max_length=200,
            ),
        ),
        migrations.AddField(
            model_name="participation",
            name="join_parameters",
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name="place",
            name="rehearsal",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="study",
            name="archived_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="deleted_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="deleted_by",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="join_parameters",
            field=models.CharField(
                blank=True,
                db_default="PROLIFIC_PID, STUDY_ID, SESSION_ID",
                default="PROLIFIC_PID, STUDY_ID, SESSION_ID",
                help_text="Names of the ids that a panel adds to the join link. They are kept with each participant.",
                max_length=300,
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddIndex(
                    model_name="place",
                    index=models.Index(
                        condition=models.Q(("assignment__isnull", True)),
                        fields=["study", "rehearsal", "position", "number"],
                        name="place_open_in_layer",
                    ),
                ),
                migrations.AddIndex(
                    model_name="place",
                    index=models.Index(
                        condition=models.Q(("assignment__isnull", True), ("freed", True)),
                        fields=["study", "rehearsal", "position", "number"],
                        name="place_freed_in_layer",
                    ),
                ),
            ]
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("withdrawn_at__isnull", True),
                    models.Q(("withdrawn_reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="item_withdrawn_has_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="ledgerentry",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind", "payment"), models.Q(("reference", ""), _negated=True)),
                fields=("study", "rater", "reference"),
                name="ledger_payment_once_per_reference",
            ),
        ),
        migrations.AddConstraint(
            model_name="place",
            constraint=models.UniqueConstraint(
                fields=("item", "number", "rehearsal"), name="place_number_unique_in_layer"
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="accepted_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="created_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="annotator.study"
            ),
        ),
        migrations.AddField(
            model_name="rehearsal",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="rehearsal",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="rehearsals", to="annotator.study"
            ),
        ),
        migrations.AddConstraint(
            model_name="rehearsal",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["queued", "running"])),
                fields=("study",),
                name="rehearsal_one_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="rehearsal",
            constraint=models.CheckConstraint(
                condition=models.Q(("accuracy__gte", 0), ("accuracy__lte", 1)),
                name="rehearsal_accuracy_is_a_share",
            ),
        ),
        migrations.RunSQL(_GIVE_BACK, migrations.RunSQL.noop),
    ]

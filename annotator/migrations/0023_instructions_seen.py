import django.db.models.deletion
from django.db import migrations, models

# Who has read the instructions read those that the study had then: its newest version of before that moment, or its first.
_KNOWN = """
UPDATE annotator_participation p SET instructions_seen_id = COALESCE(
    (SELECT s.id FROM annotator_snapshot s WHERE s.study_id = p.study_id AND s.created_at <= p.instructions_at
     ORDER BY s.number DESC LIMIT 1),
    (SELECT s.id FROM annotator_snapshot s WHERE s.study_id = p.study_id ORDER BY s.number LIMIT 1))
WHERE p.instructions_at IS NOT NULL
"""


def seen() -> models.ForeignKey:
    return models.ForeignKey(
        blank=True,
        db_index=False,
        null=True,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="annotator.snapshot",
    )


class Migration(migrations.Migration):
    """Which version of the instructions each participant confirmed, and each judgment was made with."""

    dependencies = [("annotator", "0022_study_variant")]

    operations = [
        migrations.AddField("participation", "instructions_seen", seen()),
        migrations.AddField("judgment", "instructions_seen", seen()),
        # Only Django's own rule changes: somebody keeps their qualification when its attempt is deleted.
        migrations.AlterField(
            "qualification",
            "attempt",
            models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="qualification",
                to="annotator.examattempt",
            ),
        ),
        migrations.RunSQL(_KNOWN, migrations.RunSQL.noop),
    ]

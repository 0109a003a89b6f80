from annotator.core.ranges import InRange
from django.db import migrations, models


class Migration(migrations.Migration):
    """Limits of joining, extra time and unfinished tasks; a guest's one task.

    New columns have a default in the database, so that code of the version before can still write rows.
    """

    dependencies = [("annotator", "0015_workspace")]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="sole",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name="study",
            name="extra_time",
            field=models.PositiveSmallIntegerField(
                db_default=4,
                default=4,
                help_text="How often somebody may ask for more time for a task, or open it again after its time ran"
                " out.",
                validators=[InRange(0, 100)],
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="joins_per_address",
            field=models.PositiveIntegerField(
                blank=True,
                db_default=50,
                default=50,
                help_text="People without an account who join through one network address. Raise it for a class in"
                " one room. Empty: only the server's limit.",
                null=True,
                validators=[InRange(1, 1_000_000)],
                verbose_name="new guests per hour from one address",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="joins_per_hour",
            field=models.PositiveIntegerField(
                blank=True,
                db_default=1000,
                default=1000,
                help_text="Whoever comes later is asked to try again in an hour. Empty: no limit.",
                null=True,
                validators=[InRange(1, 1_000_000)],
                verbose_name="new participants per hour",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="unfinished_per_hour",
            field=models.PositiveSmallIntegerField(
                blank=True,
                db_default=30,
                default=30,
                help_text="Tasks that one person may skip or let run out in an hour before they have to wait. Empty:"
                " no limit.",
                null=True,
                validators=[InRange(1, 10_000)],
            ),
        ),
    ]

from django.db import migrations, models
from django.db.models.functions import MD5


class Migration(migrations.Migration):
    """What keeps one answer from spoiling another: inputs compared across datasets, answer keys shown late.

    New columns have a default in the database, so that code of the version before can still write rows.
    """

    dependencies = [("annotator", "0008_study_life")]

    operations = [
        migrations.AddIndex(
            model_name="instance", index=models.Index(MD5("input"), name="instance_by_input")
        ),
        migrations.AddField(
            model_name="assignment",
            name="snapshot",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.deletion.PROTECT,
                related_name="+",
                to="annotator.snapshot",
            ),
        ),
        migrations.AddField(
            model_name="examattempt",
            name="offered",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="The exam's pay when the attempt was started: a later cut doesn't change it.",
                max_digits=8,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="exam_key_early",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Show what was missed, and why, even to people who can still take the exam again. Their next attempt has other questions as far as there are any.",
                verbose_name="correct answers while attempts are left",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="revoked_work",
            field=models.CharField(
                choices=[("keep", "keep the answer, don't count it"), ("refuse", "refuse the answer")],
                db_default="keep",
                default="keep",
                help_text="An answer to a task that somebody had open when their qualification was revoked.",
                max_length=6,
                verbose_name="work in hand after a revocation",
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="extended",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="How often its lease was made longer, or taken again after its end.",
            ),
        ),
        migrations.AddField(
            model_name="participation",
            name="practice_answered",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="Practice questions answered: the next one opens after its reason was shown.",
            ),
        ),
        migrations.AlterField(
            model_name="loginattempt",
            name="kind",
            field=models.CharField(
                choices=[
                    ("login", "login"),
                    ("reset", "request for a reset link"),
                    ("mail", "reset link sent"),
                    ("join", "new account"),
                ],
                max_length=8,
            ),
        ),
        migrations.AlterField(
            model_name="study",
            name="one_condition_per_instance",
            field=models.BooleanField(
                default=False,
                help_text="Never give one person two items of the same instance. Without this, people may be asked a question again after they have read an explanation of it: answers “before” the explanation are then no longer independent of it.",
            ),
        ),
    ]

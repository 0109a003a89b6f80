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
        migrations.AlterField(
            model_name="study",
            name="one_condition_per_instance",
            field=models.BooleanField(
                default=False,
                help_text="Never give one person two items of the same instance. Without this, people may be asked a question again after they have read an explanation of it: answers “before” the explanation are then no longer independent of it.",
            ),
        ),
    ]

from django.db import migrations, models
from django.db.models.functions import MD5


class Migration(migrations.Migration):
    """The column has a default in the database, so that code of the version before can still write rows."""

    dependencies = [("annotator", "0005_login_attempt")]

    operations = [
        migrations.AddField(
            model_name="stagecommit",
            name="signals",
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddIndex(
            model_name="instance", index=models.Index(MD5("input"), name="instance_by_input")
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

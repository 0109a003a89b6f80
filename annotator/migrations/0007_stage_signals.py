from django.db import migrations, models


class Migration(migrations.Migration):
    """The column has a default in the database, so that code of the version before can still write rows."""

    dependencies = [("annotator", "0006_user_demo")]

    operations = [
        migrations.AddField(
            model_name="stagecommit",
            name="signals",
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict),
        ),
    ]

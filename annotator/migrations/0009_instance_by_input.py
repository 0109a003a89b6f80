from django.db import migrations, models
from django.db.models.functions import MD5


class Migration(migrations.Migration):
    """An index for comparing inputs across datasets."""

    dependencies = [("annotator", "0008_study_life")]

    operations = [
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

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotator", "0009_untouched_answers")]

    operations = [
        migrations.AddField(
            model_name="followup",
            name="validated",
            field=models.BooleanField(
                blank=True,
                null=True,
                help_text="Whether a majority found it of its kind, answerable and correctly answered; empty: not asked yet.",
            ),
        )
    ]

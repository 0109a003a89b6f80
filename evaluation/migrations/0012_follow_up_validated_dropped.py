from django.db import migrations


class Migration(migrations.Migration):
    """Drop the column of marks that verdicts by validation study have replaced.

    No model has named it since annotator's 0018, and 0009 has copied what it held, so no process that reads or writes
    follow-ups through the models uses it.
    """

    dependencies = [
        ('annotator', '0026_read_replies'),
        ('evaluation', '0011_ranges_of_numbers'),
    ]

    operations = [
        migrations.RunSQL(
            'ALTER TABLE annotator_followup DROP COLUMN IF EXISTS validated',
            'ALTER TABLE annotator_followup ADD COLUMN IF NOT EXISTS validated boolean NULL',
        ),
    ]

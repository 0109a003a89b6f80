from django.db import migrations


class Migration(migrations.Migration):
    """Drop the table of log-in attempts that 0005_login_attempt replaced and left to the version before it."""

    dependencies = [("annotator", "0031_help_texts")]

    operations = [migrations.RunSQL("DROP TABLE IF EXISTS annotator_knock", migrations.RunSQL.noop)]

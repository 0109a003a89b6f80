from django.db import migrations, models

from annotator.migrations._indexes import AddIndexWhilePeopleWork


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("annotator", "0053_own_questionnaires"),
    ]

    operations = [
        AddIndexWhilePeopleWork(
            model_name="judgment",
            index=models.Index(fields=["study", "id"], name="judgment_by_study"),
        ),
    ]

import django.contrib.postgres.indexes
from django.db import migrations, models

from annotator.migrations._indexes import AddIndexWhilePeopleWork


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("annotator", "0055_pay_batch_retry"),
    ]

    operations = [
        AddIndexWhilePeopleWork(
            model_name="judgment",
            index=models.Index(
                condition=models.Q(("source", "web"), _negated=True),
                fields=["study", "source", "id"],
                name="judgment_not_in_browser",
            ),
        ),
        AddIndexWhilePeopleWork(
            model_name="judgment",
            index=models.Index(
                condition=models.Q(("standing", "surplus")),
                fields=["study", "id"],
                name="judgment_surplus",
            ),
        ),
        AddIndexWhilePeopleWork(
            model_name="judgment",
            index=django.contrib.postgres.indexes.BrinIndex(
                autosummarize=True,
                fields=["instructions_seen"],
                name="judgment_by_version_seen",
                opclasses=["int8_minmax_multi_ops"],
            ),
        ),
    ]

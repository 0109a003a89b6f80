from __future__ import annotations

import django.core.validators
from django.db import migrations, models

_KEPT = {
    "choices": [
        ("coarsen", "coarsen them: numbers become bands, rare values “other”"),
        ("drop", "leave them out"),
        ("keep", "release them as they are"),
    ],
    "max_length": 7,
}


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0027_instance_part")]

    operations = [
        # Earlier releases have all attributes as they are.
        migrations.AddField(
            "release", "small_groups", models.CharField(**_KEPT, db_default="keep", default="keep")
        ),
        migrations.AlterField(
            "release", "small_groups", models.CharField(**_KEPT, db_default="coarsen", default="coarsen")
        ),
        migrations.AddField(
            "release",
            "smallest_group",
            models.PositiveSmallIntegerField(
                db_default=5,
                default=5,
                validators=[
                    django.core.validators.MinValueValidator(2),
                    django.core.validators.MaxValueValidator(1000),
                ],
            ),
        ),
        migrations.AddField(
            "release",
            "timings",
            models.CharField(
                choices=[
                    ("exact", "as measured"),
                    ("1", "rounded to 1 second"),
                    ("10", "rounded to 10 seconds"),
                    ("none", "not released"),
                ],
                db_default="exact",
                default="exact",
                max_length=5,
            ),
        ),
    ]

"""The part of a dataset that an instance belongs to, where the dataset's file names it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0036_settings_declared"),
        ("evaluation", "0026_release_authors"),
    ]

    operations = [
        migrations.CreateModel(
            name="InstancePart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "part",
                    models.CharField(
                        choices=[("train", "training"), ("validation", "validation"), ("test", "test")], max_length=10
                    ),
                ),
                (
                    "instance",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="own_part",
                        to="annotator.instance",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("part__in", ["train", "validation", "test"])),
                        name="instance_part_known",
                    )
                ],
            },
        ),
    ]

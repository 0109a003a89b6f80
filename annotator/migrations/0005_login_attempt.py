from django.db import migrations, models


class Migration(migrations.Migration):
    """A new table instead of a renamed one: code of the version before may still be running and write to the old one.

    The rows of the old table count for an hour at most and are not copied. A later migration drops it.
    """

    dependencies = [("annotator", "0004_knocks")]

    operations = [
        migrations.CreateModel(
            name="LoginAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("login", "login"),
                            ("reset", "request for a reset link"),
                            ("mail", "reset link sent"),
                        ],
                        max_length=8,
                    ),
                ),
                ("account", models.CharField(max_length=64)),
                ("address", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "at"], name="attempt_by_account"),
                    models.Index(fields=["address", "at"], name="attempt_by_address"),
                ],
            },
        ),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="Knock")]),
    ]

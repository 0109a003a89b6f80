from django.db import migrations, models

_CREATE = [
    "DROP INDEX CONCURRENTLY IF EXISTS assignment_one_of_a_guest",  # an earlier attempt may have left an invalid one
    "CREATE UNIQUE INDEX CONCURRENTLY assignment_one_of_a_guest ON annotator_assignment (rater_id)"
    " WHERE state = 'leased' AND sole",
]


class Migration(migrations.Migration):
    """The constraint that a guest has one task in hand; built while people work, which needs its own migration."""

    atomic = False
    dependencies = [("annotator", "0016_limits_of_joining")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(_CREATE, "DROP INDEX CONCURRENTLY IF EXISTS assignment_one_of_a_guest")
            ],
            state_operations=[
                migrations.AddConstraint(
                    model_name="assignment",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(("sole", True), ("state", "leased")),
                        fields=("rater",),
                        name="assignment_one_of_a_guest",
                    ),
                )
            ],
        )
    ]

import django.db.models.deletion
from django.db import migrations, models

#: (model, field, index, what on_delete is): other indexes begin with the same column.
REDUNDANT = (
    ("assignment", "item", "annotator_assignment_item_id_2e4f4f60", "PROTECT"),
    ("assignment", "participation", "annotator_assignment_participation_id_9c73a448", "CASCADE"),
    ("assignment", "rater", "annotator_assignment_rater_id_9c2bef57", "PROTECT"),
    ("judgment", "item", "annotator_judgment_item_id_d8af0986", "PROTECT"),
    ("judgment", "study", "annotator_judgment_study_id_65b0955d", "CASCADE"),
    ("place", "item", "annotator_place_item_id_9bb75050", "CASCADE"),
)


def dropped(model, field, index, on_delete):
    """Drop one index while people work. Django's own statements would also check all rows against the foreign key again,
    and drop ``assignment_one_of_a_guest``, which is on the column of the rater as well."""
    return migrations.SeparateDatabaseAndState(
        database_operations=[
            migrations.RunSQL(
                f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON annotator_{model} ({field}_id)",
            )
        ],
        state_operations=[
            migrations.AlterField(
                model_name=model,
                name=field,
                field=models.ForeignKey(
                    db_index=False,
                    on_delete=getattr(django.db.models.deletion, on_delete),
                    related_name=f"{model}s",
                    to=f"annotator.{field}",
                ),
            )
        ],
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("annotator", "0032_old_login_attempts_dropped")]

    operations = [dropped(*one) for one in REDUNDANT]

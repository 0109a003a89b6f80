from django.db import migrations


class Migration(migrations.Migration):
    """Verdicts on questions now belong to their validation study.

    The column stays, empty for new rows, until no process of the previous version writes it.
    """

    dependencies = [
        ('annotator', '0017_one_task_of_a_guest'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(
                    model_name='followup',
                    name='validated',
                ),
            ],
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    """Limits of practice, extra time and new accounts; work in hand after a revocation.

    New columns have a default in the database, so that code of the version before can still write rows.
    """

    dependencies = [("annotator", "0011_usernames_without_case")]

    operations = [
        migrations.AddField(
            model_name="study",
            name="revoked_work",
            field=models.CharField(
                choices=[("keep", "keep the answer, don't count it"), ("refuse", "refuse the answer")],
                db_default="keep",
                default="keep",
                help_text="An answer to a task that somebody had open when their qualification was revoked.",
                max_length=6,
                verbose_name="work in hand after a revocation",
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="extended",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="How often its lease was made longer, or taken again after its end.",
            ),
        ),
        migrations.AddField(
            model_name="participation",
            name="practice_answered",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="Practice questions answered: the next one opens after its reason was shown.",
            ),
        ),
        migrations.AlterField(
            model_name="loginattempt",
            name="kind",
            field=models.CharField(
                choices=[
                    ("login", "login"),
                    ("reset", "request for a reset link"),
                    ("mail", "reset link sent"),
                    ("join", "new account"),
                ],
                max_length=8,
            ),
        ),
    ]

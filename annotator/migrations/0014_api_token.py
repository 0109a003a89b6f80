from django.conf import settings
from django.db import migrations, models


_TAKE_OVER = """
INSERT INTO annotator_apitoken (user_id, digest, may_write, password_state, created, expires_at)
    SELECT user_id, encode(sha256(convert_to(key, 'UTF8')), 'hex'), true, '', now(), now() + interval '365 days'
    FROM authtoken_token;
DELETE FROM authtoken_token;
"""


def take_over(apps, schema_editor):
    """Tokens that were stored as they are become digests; programs go on with them for a year.

    A new installation may not have their table yet, and has no tokens.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('authtoken_token')")
        if cursor.fetchone() != (None,):
            cursor.execute(_TAKE_OVER)


class Migration(migrations.Migration):
    """API tokens are stored as digests. Code of the version before refuses tokens until it is replaced."""

    dependencies = [("annotator", "0013_personal_data")]

    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "digest",
                    models.CharField(help_text="SHA-256 of the token.", max_length=64, unique=True),
                ),
                ("may_write", models.BooleanField(default=True, help_text="False: it can only read.")),
                ("password_state", models.CharField(max_length=20)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(blank=True, help_text="To the hour.", null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.RunPython(take_over, migrations.RunPython.noop),
    ]

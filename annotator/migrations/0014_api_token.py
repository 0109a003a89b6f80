import hashlib
from datetime import timedelta

from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def take_over(apps, schema_editor):
    """Tokens that were stored as they are become digests; programs go on with them for a year."""
    Old, New = apps.get_model("authtoken", "Token"), apps.get_model("annotator", "ApiToken")
    for old in Old.objects.all():
        New.objects.create(
            user_id=old.user_id,
            digest=hashlib.sha256(old.key.encode()).hexdigest(),
            password_state="",
            expires_at=timezone.now() + timedelta(days=365),
        )
    Old.objects.all().delete()


class Migration(migrations.Migration):
    """API tokens are stored as digests. Code of the version before refuses tokens until it is replaced."""

    dependencies = [("annotator", "0013_personal_data"), ("authtoken", "0001_initial")]

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

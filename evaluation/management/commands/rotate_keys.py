"""``manage.py rotate_keys [--check]``: encrypt stored API keys, second factors, tokens of panels and webhook secrets with the newest secret key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.core.words import plural
from annotator.services.panel_connection import panel_tokens_rotate
from annotator.services.panel_events import panel_secrets_rotate
from annotator.services.second_factor import second_factors_rotate
from evaluation.services.endpoint import endpoint_keys_rotate
from evaluation.services.signing_key import signing_keys_rotate


class Command(BaseCommand):
    help = (
        "Encrypt the stored API keys of endpoints, people's second factors, tokens of recruitment panels, webhook secrets and the labs' signing keys with SECRET_KEY. Those encrypted with one of SECRET_KEY_FALLBACKS are read "
        "and encrypted again; afterwards the fallbacks can be removed. Run it after changing SECRET_KEY."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="Change nothing; exit with 1 if keys are left to encrypt."
        )

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        endpoints = endpoint_keys_rotate(dry_run=check)
        will = "would be encrypted" if check else "encrypted"
        self.stdout.write(
            f"{plural(len(endpoints.resealed), 'key')} {will} with the new secret key; {len(endpoints.current)} already were."
        )
        factors, lost = second_factors_rotate(dry_run=check)
        if factors or lost:
            self.stdout.write(f"{plural(factors, 'second factor')} {will} with the new secret key.")
        webhooks, unread = panel_secrets_rotate(dry_run=check)
        if webhooks or unread:
            self.stdout.write(f"{plural(webhooks, 'webhook secret')} {will} with the new secret key.")
        tokens, locked = panel_tokens_rotate(dry_run=check)
        if tokens or locked:
            self.stdout.write(f"{plural(tokens, 'token')} of panels {will} with the new secret key.")
        signing, unsigned = signing_keys_rotate(dry_run=check)
        if signing or unsigned:
            self.stdout.write(f"{plural(signing, 'signing key')} {will} with the new secret key.")
        if unsigned:
            raise CommandError(
                f"No secret key can decrypt the signing key of releases: {', '.join(unsigned)}. Add the key that it was encrypted with "
                "to SECRET_KEY_FALLBACKS and run this again."
            )
        if locked:
            raise CommandError(
                f"No secret key can decrypt the token of: {', '.join(locked)}. Add the key that it was encrypted with to "
                "SECRET_KEY_FALLBACKS and run this again, or connect the panel again (Settings > Recruitment)."
            )
        if unread:
            raise CommandError(
                f"No secret key can decrypt the webhook secret of: {', '.join(unread)}. Add the key that it was encrypted with to "
                "SECRET_KEY_FALLBACKS and run this again, or enter the secret again (Settings > Recruitment)."
            )
        if lost:
            raise CommandError(
                f"No secret key can decrypt the second factor of: {', '.join(lost)}. Add the key that it was encrypted with to "
                "SECRET_KEY_FALLBACKS and run this again, or remove their second factors (Users)."
            )
        if endpoints.unreadable:
            raise CommandError(
                f"No secret key can decrypt the stored key of: {', '.join(endpoints.unreadable)}. Add the key that they were "
                "encrypted with to SECRET_KEY_FALLBACKS and run this again, or enter these API keys again."
            )
        if check and (endpoints.resealed or factors or webhooks or tokens or signing):
            raise CommandError("Run rotate_keys without --check before you remove SECRET_KEY_FALLBACKS.")

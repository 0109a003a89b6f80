"""Foretell's own commands run without Django's checks of the code."""

from __future__ import annotations

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand

OWN = ("annotator.", "evaluation.", "foretell.")


class Commands(ManagementUtility):
    """Django's commands and Foretell's.

    The checks load every page, which takes longer than most commands. They find mistakes of developers, who run
    `manage.py check` (as `make check` does).
    """

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        if type(command).__module__.startswith(OWN):
            command.requires_system_checks = []
        return command

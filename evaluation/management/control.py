"""What ``manage.py run`` and ``manage.py pipeline_control`` share: show a row, or act on it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from annotator.core.errors import Conflict


def money(text: str) -> Decimal:
    """An amount of 0 or more, for arguments of commands; raises ``ValueError``."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(text)
    return amount


class ControlCommand(BaseCommand):
    """A command with the number of a row and an action."""

    noun: ClassVar[str]
    rows: ClassVar[QuerySet[Any]]
    #: Actions that take nothing but the row.
    actions: ClassVar[Mapping[str, Callable[..., Any]]]
    confirm: ClassVar[Callable[..., Any]]
    retry: ClassVar[Callable[..., int]]
    #: Further actions on failed calls, which take ``calls`` and return how many there were.
    on_calls: ClassVar[Mapping[str, Callable[..., int]]] = {}
    deployment_help = "same-deployment: where the endpoint is now, as the error without it names it"
    cost_help: ClassVar[str]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(self.noun, type=int, help=f"The number of the {self.noun}.")
        parser.add_argument(
            "action", choices=["show", *self.actions, "same-deployment", "retry", *self.on_calls, "budget"]
        )
        parser.add_argument("--deployment", action="append", help=f"{self.deployment_help}.")
        parser.add_argument(
            "--call",
            type=int,
            action="append",
            help=f"{', '.join(('retry', *self.on_calls))}: this call only; may be repeated.",
        )
        parser.add_argument("--cost", type=money, help=self.cost_help)

    def handle(self, *args: Any, **options: Any) -> None:
        row = self.rows.all().filter(pk=options[self.noun]).first()
        if row is None:
            raise CommandError(f"There is no {self.noun} {options[self.noun]}.")
        try:
            self._act(row, options)
        except (Conflict, ValidationError) as error:
            raise CommandError("; ".join(getattr(error, "messages", [str(error)]))) from None
        row.refresh_from_db()
        self.show(row)

    def _act(self, row: Any, options: dict[str, Any]) -> None:
        action, target = options["action"], {self.noun: row}
        if action in self.actions:
            self.actions[action](**target)
        elif action == "same-deployment":
            type(self).confirm(**target, deployments=options["deployment"] or [])
        elif action == "retry":
            again = type(self).retry(**target, calls=options["call"])
            self.stdout.write(f"{again} failed {'call is' if again == 1 else 'calls are'} sent again.")
        elif action in self.on_calls:
            ended = self.on_calls[action](**target, calls=options["call"])
            self.stdout.write(f"{ended} failed {'call is' if ended == 1 else 'calls are'} given up.")
        elif action == "budget":
            self.budget_set(row, options)

    def budget_set(self, row: Any, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def show(self, row: Any) -> None:
        """Print the state of the row."""
        raise NotImplementedError

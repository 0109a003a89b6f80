"""Manage a study from the command line: launch, pause, resume, close, reopen, set, show."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import models

from annotator.core.words import plural
from annotator.models import Study, column_of, settings_of
from annotator.services.study import (
    study_close,
    study_launch,
    study_pause,
    study_reopen,
    study_resume,
    study_update,
)

ACTIONS = {"pause": study_pause, "resume": study_resume, "close": study_close, "reopen": study_reopen}


class Command(BaseCommand):
    help = "Launch, pause, resume, close or reopen a study; change its settings; show its state."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["launch", *ACTIONS, "set", "show"])
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("values", nargs="*", metavar="SETTING=VALUE", help="For set: e.g. redundancy=3")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"], deleted_at__isnull=True).first()
        if study is None:
            raise CommandError(f"there is no study {options['study']!r}")
        action = options["action"]
        if options["values"] and action != "set":
            raise CommandError(f"{action} takes no values: {' '.join(options['values'])}")
        try:
            if action == "launch":
                study_launch(study=study)
            elif action == "set":
                study_update(study=study, **self.changes(options["values"]))
            elif action != "show":
                ACTIONS[action](study=study)
        except ValidationError as error:
            faults = error.message_dict.items() if hasattr(error, "error_dict") else [("", error.messages)]
            raise CommandError("; ".join(f"{n}: {m}" if n else m for n, ms in faults for m in ms)) from None
        self.show(Study.objects.get(pk=study.pk))

    def changes(self, values: list[str]) -> dict[str, Any]:
        columns = {name: column_of(Study, name) for name in settings_of(Study)}
        fields = {name: column for name, column in columns.items() if column.editable}
        changes: dict[str, Any] = {}
        for value in values:
            name, equals, text = value.partition("=")
            if name not in fields:
                raise CommandError(f"{name!r} is not a setting; expected one of: {', '.join(fields)}")
            if not equals:
                raise CommandError(f"{value!r}: expected SETTING=VALUE")
            field = fields[name]
            try:
                changes[name] = None if text == "" and field.null else self.value(field, text)
            except ValidationError as error:
                raise CommandError(f"{name}: {'; '.join(error.messages)}") from None
        return changes

    def value(self, field: models.Field[Any, Any], text: str) -> Any:
        if isinstance(field, models.BooleanField):
            text = {"yes": "true", "no": "false", "on": "true", "off": "false"}.get(
                text.lower(), text
            ).title()
        if isinstance(field, models.JSONField):
            try:
                return json.loads(text)
            except ValueError:
                raise ValidationError("Expected JSON.") from None
        return field.to_python(text)

    def show(self, study: Study) -> None:
        counted = study.judgments.filter(standing="counted").count()
        items = plural(study.items.count(), "item")
        self.stdout.write(f"{study.slug}: {study.state}, {items}, {plural(counted, 'judgment')}")
        if study.snapshot:
            self.stdout.write(f"version {study.snapshot.number}, {study.snapshot.digest[:12]}")
            self.stdout.write(f"annotators join at /join/{study.join_token}/")

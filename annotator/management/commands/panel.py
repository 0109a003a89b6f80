"""``manage.py panel STUDY ACTION``: what the recruitment page does with the study at its panel, for scripts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.models import PanelStudy, Study
from annotator.recruitment.api import TRANSITIONS
from annotator.selectors.panel_connection import connection_of, current_of, panel_study_rows
from annotator.services.panel_connection import panel_connection_test
from annotator.services.panel_reconcile import panel_reconcile
from annotator.services.panel_study import panel_study_mend, panel_study_move, panel_study_places_set


class Command(BaseCommand):
    help = (
        "Steer the study on the recruitment panel that recruits for one of ours: test the connection, compare both sides, make the panel match, publish, pause, "
        "resume, stop, or set its places. Connect the workspace and create the study on Settings > Recruitment."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's slug")
        parser.add_argument("action", choices=["show", "test", "compare", "match", *TRANSITIONS, "places"])
        parser.add_argument("places", nargs="?", type=int, help="for places: how many the study should have")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"], deleted_at__isnull=True).first()
        if study is None:
            raise CommandError(f"there is no study {options['study']!r}")
        action, places = options["action"], options["places"]
        if (action == "places") != (places is not None):
            raise CommandError("places takes a number, and no other action does")
        try:
            if action == "test":
                connection = connection_of(study)
                if connection is None:
                    raise CommandError("The workspace isn't connected to the panel (Settings > Recruitment).")
                panel_connection_test(connection=connection)
                self.stdout.write("The panel accepts the token.")
                return
            row = current_of(panel_study_rows(study))
            if row is None:
                raise CommandError("No study was created on the panel from here (Settings > Recruitment).")
            row = self.carry_out(row, action, places)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        about = {
            "id": row.remote_id,
            "state": row.state,
            "places": row.remote.get("places"),
            "submissions": row.counts,
        }
        self.stdout.write(json.dumps(about, indent=2))

    def carry_out(self, row: PanelStudy, action: str, places: int | None) -> PanelStudy:
        if action == "compare":
            changed = panel_reconcile(row=row)
            self.stderr.write(f"{plural(changed, 'submission')} changed here.")
            row.refresh_from_db()
        elif action == "match":
            row, left = panel_study_mend(row=row, link=str(row.plan.get("url", "")), by=None)
            if left:
                self.stderr.write(f"The panel doesn't allow these to be changed any more: {', '.join(left)}.")
        elif action == "places":
            row = panel_study_places_set(row=row, places=places or 0, by=None)
        elif action in TRANSITIONS:
            row = panel_study_move(row=row, transition=action, by=None)
        return row

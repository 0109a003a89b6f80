"""The demo of a paid panel: people come from the stand-in, take part, and are decided about and paid."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from annotator.models import LedgerEntry, Participation, ReviewDecision, Study, User
from annotator.selectors.pay_batch import pay_proposal
from annotator.services.demo import RESEARCHER
from foretell import stand_in
from foretell.embedded.process import free_port
from tests.factories import make_user
from tests.processes import Process, WebProcess, WorkerProcess, shared_environment, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]
PEOPLE = 20


def test_people_come_to_the_demo_and_are_paid(tmp_path: Path) -> None:
    port = free_port()
    settings = stand_in.variables(port, people=PEOPLE)
    web = WebProcess(tmp_path, WEB_WORKERS="1", **settings)
    worker = WorkerProcess(
        tmp_path, SOLE_WORKER="1", WORKER_CONCURRENCY="1", DATA_DIR=str(tmp_path), **settings
    )
    command = [
        *stand_in.command(port, people=PEOPLE, site=web.url),
        "--arrivals",
        "120",
        "--pause",
        "0.1",
        "--pay-every",
        "5",
    ]
    panel = Process(command, tmp_path / "stand-in.log", shared_environment(**settings))
    panel.environment["DJANGO_SETTINGS_MODULE"] = "foretell.settings"
    try:
        web.start()
        worker.start()
        panel.start()
        assert sys.executable == panel.command[0]
        researcher = make_user(RESEARCHER, staff=True, demo=True)  # it waits until the demo is loaded
        wait_until(lambda: f"{PEOPLE} people came:" in panel.text(), 300, "everybody has come")
        study = Study.objects.get(slug="demo-paid-panel")
        wait_until(lambda: paid(study), 300, "those without a sign are paid")
        assert "Traceback" not in panel.text()
    finally:
        for process in (panel, web, worker):
            process.stop()
    assert_everybody_is_known(study, researcher)


def paid(study: Study) -> bool:
    """Whether nothing is owed for accepted work, and nobody is at work."""
    at_work = study.participations.filter(panel_status__in=["", "ACTIVE", "RESERVED"]).exists()
    payments = LedgerEntry.objects.filter(study=study, kind="payment", pay_line__part__state="sent")
    return not at_work and payments.count() >= 5 and not pay_proposal(study).payments


def assert_everybody_is_known(study: Study, researcher: User) -> None:
    people = Participation.objects.filter(study=study)
    statuses = set(people.values_list("panel_status", flat=True))
    assert {"APPROVED", "SCREENED OUT", "RETURNED"} <= statuses
    assert people.count() >= PEOPLE * 0.8, "all but those who closed the page at once"
    decided = ReviewDecision.objects.filter(study=study, by=researcher)
    assert decided.filter(kind="accept").count() >= 5
    assert study.panel_study_rows.get().created_by == researcher

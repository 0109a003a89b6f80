"""The pages of a study's recruitment and of its participants."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import PanelEvent, Participation, Study, User
from annotator.recruitment.stand_in import books, links
from annotator.services.panel_events import panel_secret, panel_secret_set
from foretell import env, stand_in
from foretell.embedded.process import free_port
from tests.factories import make_participation, make_study
from tests.prolific_server import SECRET, STUDY

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(
        items=2,
        launched=True,
        by=researcher,
        panel="prolific",
        panel_links="plain",
        panel_study_ids=f"{STUDY}, b2",
    )


def person(study: Study, number: int, **fields: object) -> Participation:
    Study.objects.filter(pk=study.pk).update(panel="")  # the panel's own joining is tested with its links
    study.refresh_from_db()
    found = make_participation(study)
    Study.objects.filter(pk=study.pk).update(panel="prolific")
    values = {
        "recruiter": "prolific",
        "recruiter_id": f"pid-{number}",
        "recruiter_session": f"sub-{number}",
    } | fields
    Participation.objects.filter(pk=found.pk).update(**values)
    return found


def page(client: Client, study: Study, name: str = "recruitment", query: str = "") -> str:
    reply = client.get(f"/admin/annotator/study/{study.pk}/{name}/?{query}")
    assert reply.status_code == 200
    return reply.content.decode()


def test_the_page_shows_what_to_enter_at_prolific(researcher_client: Client, study: Study) -> None:
    shown = page(researcher_client, study)
    assert (
        f"http://testserver/join/{study.join_token}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&amp;STUDY_ID="
        in shown
    )
    assert f"http://testserver/recruitment/prolific/{study.join_token}/" in shown
    assert "missing: people can&#x27;t return" in shown or "missing: people can't return" in shown
    assert "Not verified:" in shown


def test_it_says_how_to_try_prolific_without_an_account(
    study: Study, researcher: User, researcher_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who runs the server reads how to start it with the stand-in; once it was, everybody how to use it."""
    assert "Try Prolific without an account" not in page(researcher_client, study), "others can't restart it"
    User.objects.filter(pk=researcher.pk).update(is_superuser=True)
    assert "PANEL_STAND_IN=1 make run" in page(researcher_client, study)
    User.objects.filter(pk=researcher.pk).update(is_superuser=False)
    monkeypatch.setattr(env, "PANEL_STAND_IN", True)
    assert f"enter the token <code>{books.TOKEN}</code>" in page(researcher_client, study)


def test_make_run_starts_the_stand_in_as_it_is() -> None:
    """What ``make run`` tells the other processes is what the stand-in signs and accepts."""
    port = free_port()
    assert (stand_in.TOKEN, stand_in.ISSUER) == (books.TOKEN, links.ISSUER)
    assert {name for name in stand_in.variables(port) if name.startswith("PROLIFIC_")} >= {
        "PROLIFIC_API_URL", "PROLIFIC_KEYS_URL", "PROLIFIC_ISSUER", "PROLIFIC_SITE_URL",
    }  # fmt: skip
    process = subprocess.Popen(stand_in.command(port), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = dict(line.strip().split("=", 1) for line in (process.stdout.readline() for _ in range(4)))
        assert said.items() <= stand_in.variables(port).items()
        assert process.stdout.readline().strip() == f"token: {stand_in.TOKEN}"
    finally:
        process.kill()
        process.wait()


def test_an_editor_sets_and_removes_the_secret(researcher_client: Client, study: Study) -> None:
    url = f"/admin/annotator/study/{study.pk}/recruitment/"
    assert researcher_client.post(url, {"secret": "short"}).status_code == 400
    assert researcher_client.post(url, {"secret": SECRET}).status_code == 302
    study.refresh_from_db()
    assert panel_secret(study) == SECRET
    assert SECRET not in page(researcher_client, study)
    researcher_client.post(url, {"secret": ""})
    study.refresh_from_db()
    assert panel_secret(study) == ""


def test_the_page_shows_the_state_of_the_study_and_of_submissions(
    researcher_client: Client, study: Study
) -> None:
    panel_secret_set(study=study, by=None, secret=SECRET)
    ann = person(study, 1, panel_status="RETURNED", panel_status_at=AT, recruiter_verified=True)
    person(study, 2)
    about = {"study": study, "kind": "study.status.change", "subject": STUDY, "outcome": "applied"}
    for number, status in enumerate(["ACTIVE", "PAUSED"]):
        at = AT.replace(hour=10 + number)
        PanelEvent.objects.create(event_id=status, signature_digest=status, status=status, at=at, **about)
    PanelEvent.objects.create(
        study=study, event_id="x", signature_digest="x", kind="submission.status.change", subject="d", status="RETURNED", at=AT,
        outcome="applied", participation=ann,
    )  # fmt: skip
    shown = page(researcher_client, study)
    assert f"<code>{STUDY}</code></dt><dd>paused" in shown
    assert "<code>b2</code></dt><dd>no webhook yet" in shown
    assert "1 by a signed link, 1 by an unverified one" in shown
    assert "Submissions returned</dt><dd>1" in shown
    assert f"<td>{ann.rater.name}</td><td>applied" in shown


def test_participants_are_found_by_id_status_and_link(researcher_client: Client, study: Study) -> None:
    person(study, 1, panel_status="RETURNED", panel_status_at=AT, recruiter_verified=True)
    person(study, 2, panel_status="ACTIVE", panel_status_at=AT)
    person(study, 3, recruiter="", recruiter_id="", recruiter_session="")
    everybody = page(researcher_client, study, "participants")
    assert "pid-1" in everybody
    assert "sub-2" in everybody
    assert "returned" in everybody
    for query, found in {
        "q=PID-1": {"pid-1"}, "q=sub-2": {"pid-2"}, "status=ACTIVE": {"pid-2"}, "link=signed": {"pid-1"},
        "link=plain": {"pid-2"}, "link=none": set(), "q=nobody": set(), "link=other&from=x": {"pid-1", "pid-2"},
    }.items():  # fmt: skip
        shown = page(researcher_client, study, "participants", query)
        assert {one for one in ("pid-1", "pid-2") if f"<code>{one}</code>" in shown} == found, query


@pytest.mark.parametrize("name", ["recruitment", "participants"])
def test_the_number_of_queries_does_not_grow(researcher_client: Client, study: Study, name: str) -> None:
    person(study, 1)
    page(researcher_client, study, name)
    with CaptureQueriesContext(
        connection,
    ) as few:
        page(researcher_client, study, name)
    for number in range(2, 8):
        one = person(study, number, panel_status="ACTIVE", panel_status_at=AT)
        PanelEvent.objects.create(
            study=study, event_id=str(number), signature_digest=str(number), kind="submission.status.change", subject="d",
            status="ACTIVE", at=AT, outcome="applied", participation=one,
        )  # fmt: skip
    with CaptureQueriesContext(connection) as many:
        page(researcher_client, study, name)
    assert len(many) == len(few)

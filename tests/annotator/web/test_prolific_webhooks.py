"""Prolific's webhooks, sent over HTTP with real signatures: once, again, out of order, forged and in parallel."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from django.test import Client
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.models import Assignment, AuditEntry, PanelEvent, Participation, Place, Study
from annotator.recruitment.identity import PanelIdentity
from annotator.recruitment.panel import Panel
from annotator.recruitment.panels.prolific import webhook_signature
from annotator.services.assignment import assignment_next
from annotator.services.panel_events import (
    panel_secret,
    panel_secret_set,
    panel_secrets_rotate,
    panel_sweep,
)
from annotator.services.panel_join import panel_join
from annotator.services.participation import (
    instructions_finish,
    participation_finish,
    participation_return,
)
from annotator.services.submit_and_next import turn_take
from tests.factories import make_study, make_user
from tests.prolific_server import SECRET, STUDY, webhook, webhook_send

NOW = 1_700_000_000.0


@pytest.fixture
def study(transactional_db: None) -> Study:
    found = make_study(
        items=3, redundancy=1, launched=True, panel="prolific", panel_links="plain", panel_study_ids=STUDY
    )
    return panel_secret_set(study=found, by=None, secret=SECRET)


@pytest.fixture
def address(study: Study, live_server: Any) -> str:
    return f"{live_server.url}/recruitment/prolific/{study.join_token}/"


def join(study: Study, person: str = "p1", submission: str = "s1", **about: Any) -> Participation:
    user = make_user()
    identity = PanelIdentity("prolific", person, submission, STUDY, **about)
    found = panel_join(study=study, user=user, visitor=user, identity=identity)
    instructions_finish(participation=found)
    return found


def with_task(study: Study) -> tuple[Participation, Assignment]:
    person = join(study)
    task = assignment_next(participation=person)
    assert task is not None
    return person, task


def fresh(person: Participation) -> Participation:
    return Participation.objects.select_related("study", "rater").get(pk=person.pk)


def send(address: str, status: str, **about: Any) -> str:
    reply = webhook_send(address, status, **{"submission": "s1", "person": "p1"} | about)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["outcome"])


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "REJECTED"])
def test_an_ended_submission_frees_its_place_at_once(study: Study, address: str, status: str) -> None:
    person, task = with_task(study)
    assert send(address, "ACTIVE", at=NOW) == "applied"
    assert send(address, status, at=NOW + 1) == "applied"
    task.refresh_from_db()
    assert task.state == Assignment.State.EXPIRED
    assert not Place.objects.filter(assignment=task).exists()
    person = fresh(person)
    assert (person.state, person.panel_status) == ("left", status.replace("-", " "))
    with pytest.raises(Refused, match="has ended"):
        participation_return(participation=person)


def test_other_statuses_change_nothing_else(study: Study, address: str) -> None:
    person, task = with_task(study)
    for number, status in enumerate(["RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "SOMETHING NEW"]):
        assert send(address, status, at=NOW + number) == "applied"
        assert fresh(person).panel_status == status
    task.refresh_from_db()
    assert (task.state, fresh(person).state) == ("leased", "active")


def test_the_same_event_is_processed_once(study: Study, address: str) -> None:
    person, _ = with_task(study)
    body, headers = webhook("RETURNED", submission="s1", person="p1")
    first = httpx2.post(address, content=body, headers=headers, timeout=120)
    Participation.objects.filter(pk=person.pk).update(panel_status="ACTIVE")
    again = httpx2.post(address, content=body, headers=headers, timeout=120)
    copied = httpx2.post(address, content=body, headers=headers | {"X-Event-ID": "another-id"}, timeout=120)
    assert [one.json()["outcome"] for one in (first, again, copied)] == ["applied", "repeated", "repeated"]
    assert fresh(person).panel_status == "ACTIVE", "nothing was processed again"
    assert PanelEvent.objects.count() == 1


def test_the_same_event_in_parallel_is_processed_once(study: Study, address: str) -> None:
    with_task(study)
    body, headers = webhook("RETURNED", submission="s1", person="p1")
    with ThreadPoolExecutor(8) as pool:
        replies = list(
            pool.map(lambda _: httpx2.post(address, content=body, headers=headers, timeout=300), range(8))
        )
    assert sorted(one.json()["outcome"] for one in replies) == ["applied", *["repeated"] * 7]
    assert PanelEvent.objects.count() == 1


def test_different_events_in_parallel_end_with_the_newest(study: Study, address: str) -> None:
    person, task = with_task(study)
    events = [("RESERVED", 0), ("ACTIVE", 1), ("TIMED-OUT", 2), ("AWAITING REVIEW", 3), ("RETURNED", 4)]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda one: send(address, one[0], at=NOW + one[1]), events))
    assert (fresh(person).panel_status, fresh(person).state) == ("RETURNED", "left")
    task.refresh_from_db()
    assert task.state == Assignment.State.EXPIRED


def test_an_older_event_never_undoes_a_newer_one(study: Study, address: str) -> None:
    person, _ = with_task(study)
    assert send(address, "RETURNED", at=NOW + 60) == "applied"
    assert send(address, "ACTIVE", at=NOW) == "older"
    assert send(address, "ACTIVE", at=NOW + 60) == "older", "in the same second, the later status wins"
    assert (fresh(person).panel_status, fresh(person).state) == ("RETURNED", "left")


def test_a_submission_that_goes_on_after_all_lets_its_participant_go_on(study: Study, address: str) -> None:
    person, _ = with_task(study)
    send(address, "TIMED-OUT", at=NOW)
    send(address, "AWAITING REVIEW", at=NOW + 5)
    assert (fresh(person).state, fresh(person).finished_at) == ("active", None)
    assert assignment_next(participation=fresh(person)) is not None


def test_a_new_submission_replaces_one_that_has_ended(study: Study, address: str) -> None:
    person, _ = with_task(study)
    send(address, "RETURNED", at=NOW)
    user = fresh(person).rater.user
    assert user is not None
    identity = PanelIdentity("prolific", "p1", "s2", STUDY)
    again = panel_join(study=study, user=user, visitor=user, identity=identity)
    assert (again.pk, again.state, again.panel_status, again.recruiter_session) == (
        person.pk,
        "active",
        "",
        "s2",
    )
    assert send(address, "RETURNED", at=NOW + 9) == "unknown", "the old submission"


def test_a_return_after_finishing_is_only_noted(study: Study, address: str) -> None:
    person, task = with_task(study)
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    Assignment.objects.filter(participation=person, state="leased").delete()
    participation_finish(participation=fresh(person))
    finished_at = fresh(person).finished_at
    assert send(address, "RETURNED") == "noted"
    person = fresh(person)
    assert (person.state, person.finished_at, person.panel_status) == ("active", finished_at, "RETURNED")
    assert person.assignments.get().state == Assignment.State.SUBMITTED


def test_an_event_that_comes_before_its_participant_counts_when_they_join(study: Study, address: str) -> None:
    assert send(address, "RESERVED", at=NOW) == "unknown"
    assert send(address, "RETURNED", at=NOW + 1) == "unknown"
    assert "s1" not in str(list(PanelEvent.objects.values())), "ids of strangers are not kept"
    person = join(study)
    assert (fresh(person).panel_status, fresh(person).state) == ("RETURNED", "left")
    assert set(PanelEvent.objects.values_list("participation", flat=True)) == {person.pk}


def test_events_about_others_change_nothing(study: Study, address: str) -> None:
    person, task = with_task(study)
    assert send(address, "RETURNED", submission="s9") == "unknown"
    assert send(address, "RETURNED", person="p9") == "unknown"
    other = make_study(items=1, launched=True, panel="prolific", panel_links="plain")
    panel_secret_set(study=other, by=None, secret=SECRET)
    assert send(address.replace(study.join_token, other.join_token), "RETURNED") == "unknown"
    task.refresh_from_db()
    assert (fresh(person).panel_status, task.state) == ("", "leased")


def test_the_status_of_the_study_is_kept(study: Study, address: str) -> None:
    assert send(address, "PAUSED", study=STUDY) == "applied"
    assert send(address, "COMPLETED", study="another") == "unknown"
    event = PanelEvent.objects.get(outcome="applied")
    assert (event.kind, event.subject, event.status) == ("study.status.change", STUDY, "PAUSED")


REFUSED: dict[str, tuple[dict[str, Any], dict[str, str], int]] = {
    "another secret": ({"secret": "another-secret-of-16"}, {}, 401),
    "ten minutes ago": ({"sent": time.time() - 600}, {}, 401),
    "in ten minutes": ({"sent": time.time() + 600}, {}, 401),
    "without a signature": ({}, {"X-Prolific-Request-Signature": ""}, 401),
    "a signature of no base64": ({}, {"X-Prolific-Request-Signature": "%%%"}, 401),
    "without a timestamp": ({}, {"X-Prolific-Request-Timestamp": ""}, 401),
    "another timestamp": ({}, {"X-Prolific-Request-Timestamp": str(int(time.time()) + 1)}, 401),
    "a timestamp that is no number": ({}, {"X-Prolific-Request-Timestamp": "now"}, 401),
}


@pytest.mark.parametrize("forged", REFUSED)
def test_a_forged_or_old_webhook_is_refused(study: Study, address: str, forged: str) -> None:
    person, _ = with_task(study)
    about, replaced, status = REFUSED[forged]
    if "sent" in about:
        about = {"sent": time.time() + (600 if "in ten" in forged else -600)}
    body, headers = webhook("RETURNED", submission="s1", person="p1", **about)
    if forged == "another timestamp":
        replaced = {"X-Prolific-Request-Timestamp": str(int(headers["X-Prolific-Request-Timestamp"]) + 1)}
    reply = httpx2.post(address, content=body, headers=headers | replaced, timeout=120)
    assert reply.status_code == status
    assert fresh(person).panel_status == ""
    assert not PanelEvent.objects.exists()


def test_a_changed_body_is_refused(study: Study, address: str) -> None:
    body, headers = webhook("ACTIVE", submission="s1", person="p1")
    reply = httpx2.post(address, content=body.replace(b"ACTIVE", b"RETURN"), headers=headers, timeout=120)
    assert reply.status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[]", 400),
        (b"{}", 400),
        (b"\xff", 400),
        (b"[" * 50_000, 400),
        (b"x" * (Panel.largest_webhook + 1), 413),
    ],
)
def test_a_signed_body_that_is_no_event_is_refused(
    study: Study, address: str, body: bytes, status: int
) -> None:
    stamp = str(int(time.time()))
    signature = webhook_signature(secret=SECRET, timestamp=stamp, body=body)
    headers = {"X-Prolific-Request-Timestamp": stamp, "X-Prolific-Request-Signature": signature}
    assert httpx2.post(address, content=body, headers=headers, timeout=120).status_code == status


def test_half_a_surrogate_pair_in_an_event_is_left_out(study: Study, address: str) -> None:
    person, _ = with_task(study)
    reply = webhook_send(address, "RETURNED\ud800", submission="s1", person="p1\udc00", event="e1")
    assert (reply.status_code, reply.json()["outcome"]) == (200, "applied")
    assert fresh(person).panel_status == "RETURNED"


def test_the_signature_of_the_documentations_example_is_accepted(study: Study, address: str) -> None:
    """It signs the JSON as Python writes it, with spaces."""
    with_task(study)
    stamp = str(int(time.time()))
    spaced = b'{"event_type": "submission.status.change", "resource_id": "s1", "status": "ACTIVE"}'
    headers = {
        "X-Prolific-Request-Timestamp": stamp,
        "X-Prolific-Request-Signature": webhook_signature(secret=SECRET, timestamp=stamp, body=spaced),
    }
    reply = httpx2.post(
        address, content=spaced.replace(b": ", b":").replace(b", ", b","), headers=headers, timeout=120
    )
    assert reply.json() == {"outcome": "applied"}


def test_a_study_without_a_secret_accepts_no_webhooks(study: Study, address: str) -> None:
    panel_secret_set(study=study, by=None, secret="")
    body, headers = webhook("RETURNED", submission="s1", person="p1", secret="")
    assert httpx2.post(address, content=body, headers=headers, timeout=120).status_code == 404
    assert (
        httpx2.post(address.replace(study.join_token, "nowhere"), content=body, timeout=120).status_code
        == 404
    )
    assert httpx2.get(address, timeout=120).status_code == 405


def test_an_event_cannot_be_later_than_its_request(study: Study, address: str) -> None:
    """``X-Timestamp`` isn't signed: a copy with a date far in the future would block everything after it."""
    person, _ = with_task(study)
    send(address, "ACTIVE", at=time.time() + 10**7)
    at = fresh(person).panel_status_at
    assert at is not None
    assert at <= timezone.now() + timedelta(minutes=5)


# -- the secret, and what is kept ------------------------------------------------------------------------


def test_the_secret_is_stored_encrypted_and_never_in_the_audit_trail(study: Study, settings: Any) -> None:
    study.refresh_from_db()
    assert SECRET not in study.panel_secret_sealed
    assert panel_secret(study) == SECRET
    assert SECRET not in str(list(AuditEntry.objects.values("before", "after")))
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another-key-of-this-installation"
    assert panel_secret(study) == ""
    assert panel_secrets_rotate() == (0, [study.slug])
    settings.SECRET_KEY_FALLBACKS = [old]
    assert panel_secrets_rotate(dry_run=True) == (1, [])
    assert panel_secrets_rotate() == (1, [])
    assert panel_secrets_rotate() == (0, [])
    settings.SECRET_KEY_FALLBACKS = []
    study.refresh_from_db()
    assert panel_secret(study) == SECRET


def test_old_links_and_events_about_strangers_are_deleted(study: Study, address: str) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC)
    person = join(study, verified=True, digest="ab" * 32, expires_at=past)
    send(address, "ACTIVE")
    send(address, "ACTIVE", submission="s9")
    PanelEvent.objects.update(received_at=past)
    assert panel_sweep() == 2
    assert PanelEvent.objects.get().participation_id == person.pk
    assert not person.panel_links_used.exists()
    assert panel_sweep() == 0


def test_the_page_of_an_ended_submission_says_so(study: Study, address: str) -> None:
    person, _ = with_task(study)
    client = Client()
    user = fresh(person).rater.user
    assert user is not None
    client.force_login(user)
    send(address, "RETURNED")
    shown = client.get(f"/study/{study.slug}/", follow=True)
    assert "Your submission on Prolific has ended" in shown.content.decode()
    assert "Take part again" not in shown.content.decode()

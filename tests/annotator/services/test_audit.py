"""The audit trail: every service of these kinds writes to it, entries are never deleted, and erased people aren't named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from annotator.core import jobs
from annotator.core.acting import PAGE, Acting, acting_as
from annotator.models import (
    AuditAction,
    AuditEntry,
    AuditSubject,
    Membership,
    User,
)
from annotator.selectors.audit import audit_of, audit_who
from annotator.services import (
    account,
    api_tokens,
    erasure,
    items,
    payment,
    study_removal,
)
from annotator.services import study as studies
from annotator.services.audit import SECRETS, audit_write, people_viewed
from annotator.services.imports.material_import import material_import
from tests.annotator.services.audit_walk import (
    EXEMPT,
    KINDS,
    WALK,
    World,
    asked,
    deleted,
    make_world,
    material,
)
from tests.annotator.services.service_names import services
from tests.factories import make_item, make_judgment, make_participation, make_rater, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]
A = AuditAction


@pytest.fixture
def world(researcher: User) -> World:
    return make_world(researcher)


def test_every_service_is_in_the_walk_or_exempt() -> None:
    """A new service of these kinds is called by the walk in `audit_walk`, or the reason is written down."""
    found = {name for name in services() if KINDS.match(name)}
    assert found - set(WALK) - set(EXEMPT) == set()
    assert (set(WALK) | set(EXEMPT)) - set(services()) == set(), "gone, or renamed"


@pytest.mark.parametrize("name", WALK)
def test_every_service_writes_its_audit_entry(
    name: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "enqueue", lambda *_, **__: True)
    action, call = WALK[name]
    last = AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0
    with acting_as(Acting(via=PAGE, address="192.0.2.0/24", user=lambda: world.rosa)):
        call(world)
    entry = AuditEntry.objects.filter(action=action, id__gt=last).latest("id")
    assert (entry.via, entry.address) == ("page", "192.0.2.0/24")
    assert entry.actor_id in (world.rosa.pk, world.otto.pk)
    everything = " ".join(map(str, AuditEntry.objects.values_list()))
    for private in ("zephyrine", "@example.org", "sk-very-secret", world.rosa.password):
        assert private not in everything


def test_an_entry_has_the_values_before_and_after(world: World) -> None:
    studies.study_update(
        study=world.live, by=world.rosa, summary="After", redundancy=4, title=world.live.title
    )
    entry = AuditEntry.objects.get(action=A.STUDY_CHANGED)
    assert entry.before == {"summary": "", "redundancy": 3}
    assert entry.after == {"summary": "After", "redundancy": 4}
    studies.study_update(study=world.live, by=world.rosa, summary="After")
    assert AuditEntry.objects.filter(action=A.STUDY_CHANGED).count() == 1, "nothing changed the second time"


def test_a_long_text_is_stored_as_its_digest(world: World) -> None:
    studies.study_update(study=world.draft, by=world.rosa, consent_text="x" * 10_000)
    after = AuditEntry.objects.get(action=A.STUDY_CHANGED).after["consent_text"]
    assert (after["characters"], len(after["begins"]), len(after["sha256"])) == (10_000, 500, 64)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE annotator_auditentry SET action = 'x'",
        "DELETE FROM annotator_auditentry",
        "UPDATE annotator_auditentry SET actor_id = NULL WHERE id > 0",
    ],
)
def test_entries_cannot_be_changed_or_deleted(world: World, sql: str) -> None:
    before = list(AuditEntry.objects.values())
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
    assert list(AuditEntry.objects.values()) == before


@pytest.mark.django_db(transaction=True)
def test_the_trail_cannot_be_truncated() -> None:
    trigger = "ALTER TABLE annotator_auditentry {} TRIGGER audit_no_truncate"
    audit_write(action=A.STUDY_CHANGED)
    with connection.cursor() as cursor:
        cursor.execute(trigger.format("ENABLE"))  # the test session disables it, to empty its tables
        with pytest.raises(DatabaseError, match="append-only"):
            cursor.execute("TRUNCATE annotator_auditentry")
        cursor.execute(trigger.format("DISABLE"))
    assert AuditEntry.objects.count() == 1


def test_a_change_that_fails_leaves_no_entry(world: World) -> None:
    with transaction.atomic():
        studies.study_pause(study=world.live)
        assert AuditEntry.objects.filter(action=A.STUDY_PAUSED).exists()
        transaction.set_rollback(True)
    assert not AuditEntry.objects.filter(action=A.STUDY_PAUSED).exists()


@pytest.mark.parametrize("secret", sorted(SECRETS))
def test_secrets_are_refused(secret: str) -> None:
    with pytest.raises(ValueError, match=secret):
        audit_write(action=A.STUDY_CHANGED, after={secret: "x"})


def test_an_erasure_keeps_the_entries_without_the_person(world: World) -> None:
    payment.bonus_give(study=world.live, rater=world.rater, by=world.rosa, amount=Decimal(1), reason="care")
    other = make_study(by=world.rosa, items=1, launched=True)
    make_participation(other, world.rater.user)
    payment.bonus_give(study=other, rater=world.rater, by=world.rosa, amount=Decimal(2), reason="care")
    erasure.data_request_carry_out(request=asked(world), by=world.rosa)
    entry = AuditEntry.objects.get(action=A.BONUS_GIVEN, study=world.live)
    assert (entry.subject is not None, str(entry.subject)) == (True, "erased person")
    kept = AuditEntry.objects.get(action=A.BONUS_GIVEN, study=other)
    assert str(kept.subject) == "zephyrine", "the other study still knows them"
    assert not AuditSubject.objects.filter(study=world.live.pk, rater__isnull=False).exists()


def test_an_entry_remains_after_its_object_is_deleted(world: World) -> None:
    study_removal.study_purge(study_pk=deleted(world).pk)
    account.account_delete(account=world.otto)
    purged = AuditEntry.objects.get(action=A.STUDY_PURGED)
    assert purged.target == "draft"
    assert purged in audit_of(workspace=world.live.workspace)
    gone = audit_of().filter(action=A.ACCOUNT_CHANGED).get()
    assert audit_who(gone) == "command line"


def test_bulk_changes_are_one_entry(world: World) -> None:
    make_judgment(make_item(world.live), make_rater("pam"))
    material_import(study=world.draft, file=material(), name="items.jsonl")
    items.items_clear(study=world.draft)
    assert AuditEntry.objects.filter(action=A.ITEMS_IMPORTED).count() == 1
    assert AuditEntry.objects.get(action=A.ITEMS_CLEARED).before == {"items": 3}


def test_reopening_a_page_is_one_view(world: World, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        people_viewed(by=world.rosa, page="raters", studies=[world.live, world.draft])
    people_viewed(by=world.rosa, page="raters", studies=[world.live])
    people_viewed(by=world.otto, page="raters", studies=[world.live])
    found = AuditEntry.objects.filter(action=A.PEOPLE_VIEWED).values_list("actor__username", "study__slug")
    assert sorted(found) == [("otto", "live"), ("rosa", "draft"), ("rosa", "live")]


def test_entries_tell_pages_api_and_jobs_apart(world: World) -> None:
    client = Client(REMOTE_ADDR="198.51.100.77")
    client.force_login(world.rosa)
    client.post(f"/admin/annotator/study/{world.live.pk}/do/pause/")
    entry = AuditEntry.objects.get(action=A.STUDY_PAUSED)
    assert (entry.via, entry.address, entry.actor) == ("page", "198.51.100.0/24", world.rosa)
    token = api_tokens.api_token_make(user=world.otto)
    Membership.objects.create(study=world.live, user=world.otto, role="editor")
    program = Client(headers={"Authorization": f"Token {token}"}, REMOTE_ADDR="2001:db8:1:2::7")
    assert program.post("/api/v1/studies/live/resume/").status_code == 200
    entry = AuditEntry.objects.get(action=A.STUDY_RESUMED)
    assert (entry.via, entry.address, entry.actor) == ("api", "2001:db8:1::/48", world.otto)

    @jobs.job("tests.audit")
    def closing() -> None:
        studies.study_close(study=world.live)

    closing()
    entry = AuditEntry.objects.get(action=A.STUDY_CLOSED)
    assert (entry.via, entry.actor, audit_who(entry)) == ("job", None, "scheduled job")

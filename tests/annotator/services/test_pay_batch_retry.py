"""Payments through the panel that were interrupted: continued by themselves, and nobody is paid twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from annotator.models import PayBatch, User
from annotator.recruitment.api import PanelApiError
from annotator.recruitment.panels._prolific_api import ProlificApi
from annotator.services import pay_batch
from annotator.services.pay_batch import pay_batch_send, pay_batch_settle, pay_batches_sweep
from tests.annotator.services.pay_world import ALL, PAY, World
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


@pytest.fixture
def world(books: ProlificBooks, researcher: User) -> World:
    return World(books, researcher)


def due(batch: PayBatch, *, hours: float = 0) -> PayBatch:
    """The batch as if it had been made that long ago and its time had come."""
    now = timezone.now()
    PayBatch.objects.filter(pk=batch.pk).update(retry_at=now, created_at=now - timedelta(hours=hours))
    return PayBatch.objects.get(pk=batch.pk)


def test_an_interrupted_batch_continues_by_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotator.recruitment.requests.ATTEMPTS", 1)
    world.books.troubles = [("bonus-payments", "500")]
    batch = world.make()
    with pytest.raises(ValidationError):
        pay_batch_send(batch=batch)
    assert pay_batches_sweep() == 0, "its time hasn't come"
    assert world.got()["cleo"] == 0
    world.books.troubles = [("bonus-payments", "500")]
    due(batch, hours=0.5)
    assert pay_batches_sweep() == 0
    batch.refresh_from_db()
    assert batch.retry_at is not None
    assert timedelta(minutes=14) < batch.retry_at - timezone.now() < timedelta(minutes=16), (
        "half as long as it has waited"
    )
    world.books.troubles = [(PAY, "lost")]
    due(batch, hours=0.5)
    assert pay_batches_sweep() == 0
    batch.refresh_from_db()
    assert batch.retry_at < timezone.now() + timedelta(seconds=20), (
        "the panel is asked soon whether it has paid"
    )
    due(batch)
    assert pay_batches_sweep() == 1, "the panel shows what was paid"
    batch.refresh_from_db()
    assert (batch.retry_at, batch.fault) == (None, "")
    assert world.got() == ALL
    world.agrees()


def test_a_batch_that_fails_unexpectedly_waits_behind_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = due(world.make())

    def broken(*, batch: PayBatch) -> PayBatch:
        raise RuntimeError("not foreseen")

    monkeypatch.setattr(pay_batch, "pay_batch_send", broken)
    with pytest.raises(RuntimeError):
        pay_batches_sweep()
    assert pay_batches_sweep() == 0, "others that are due would have their turn now"
    monkeypatch.undo()
    due(batch)
    assert pay_batches_sweep() == 1


def test_a_batch_whose_process_was_killed_is_found(world: World) -> None:
    world.make()
    assert pay_batches_sweep() == 0, "somebody is probably sending it"
    due(PayBatch.objects.get())
    assert pay_batches_sweep() == 1
    assert world.got() == ALL
    world.agrees()


@pytest.mark.parametrize("step", ["submissions_approve", "bonuses_set_up", "bonuses_pay"])
@pytest.mark.parametrize("carried_out", [True, False])
def test_a_process_that_is_killed_at_any_request_pays_nobody_twice(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str, carried_out: bool
) -> None:
    """Before the panel has carried the request out, or before its reply was noted."""
    request = getattr(ProlificApi, step)

    def killed(*arguments: object) -> None:
        if carried_out:
            request(*arguments)
        raise SystemExit

    batch = world.make()
    with monkeypatch.context() as patch:
        patch.setattr(ProlificApi, step, killed)
        with pytest.raises(SystemExit):
            pay_batch_send(batch=batch)
    due(batch)
    in_doubt = step == "bonuses_pay" and not carried_out
    assert pay_batches_sweep() == (0 if in_doubt else 1)
    if in_doubt:  # the panel never shows it, and only a researcher can know that
        pay_batch_settle(batch=batch, paid=False, by=world.by)
        pay_batch_send(batch=batch)
    assert world.got() == ALL
    world.agrees()


def test_a_refused_batch_waits_for_a_researcher(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PanelApiError("Low balance.", status=400)

    batch = world.make()
    with monkeypatch.context() as patch:
        patch.setattr(ProlificApi, "bonuses_set_up", refused)
        due(batch)
        assert pay_batches_sweep() == 0
    batch.refresh_from_db()
    assert (batch.retry_at, batch.fault) == (None, "Low balance.")
    assert pay_batches_sweep() == 0
    assert pay_batch_send(batch=batch).finished_at


def test_a_batch_is_not_continued_for_ever(world: World) -> None:
    world.books.troubles = [(PAY, "500")]
    batch = world.make()
    due(batch)
    pay_batches_sweep()
    for hours, again in ((47, True), (49, False)):
        batch.parts.filter(state="sending").update(sent_at=timezone.now() - timedelta(hours=hours))
        due(batch)
        pay_batches_sweep()
        batch.refresh_from_db()
        assert (batch.retry_at is not None) == again, "the panel may show it later, but not days later"
    pay_batches_sweep()
    batch.refresh_from_db()
    assert batch.retry_at is None
    assert not world.books.bonuses, "and it was never sent a second time"

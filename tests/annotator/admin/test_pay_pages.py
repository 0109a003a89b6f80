"""The pages, the API and the command that pay through the panel and give top-ups, for whom and for whom not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotator.models import LedgerEntry, PanelStudy, PayBatch, Study, User
from annotator.services.panel_reconcile import panel_reconcile
from annotator.services.payment import bonus_give
from tests.annotator.services.panel_people import arrives, connected_study, published
from tests.annotator.services.worked_study import worked
from tests.factories import make_user
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


@pytest.fixture
def study(books: ProlificBooks, researcher: User) -> Study:
    """Ann has earned the reward by a bonus, and more."""
    study, connection = connected_study(researcher)
    row = published(study, connection, places=1, reward=Decimal("1.00"))
    submission, ann = arrives(books, row, "ann")
    books.complete(submission, "DONE")
    panel_reconcile(row=PanelStudy.objects.get(pk=row.pk))
    bonus_give(study=study, rater=ann.rater, by=researcher, amount=Decimal("1.25"), reason="careful notes")
    return study


def page(study: Study, rest: str = "panel/") -> str:
    return f"/admin/annotator/study/{study.pk}/payments/{rest}"


def fields(html: str) -> dict[str, str]:
    return dict(re.findall(r'name="(key|digest|total)" value="([^"]*)"', html))


def test_one_button_pays_and_a_double_click_pays_once(
    researcher_client: Client, study: Study, books: ProlificBooks
) -> None:
    assert page(study) in researcher_client.get(page(study, "")).content.decode()
    shown = researcher_client.get(page(study)).content.decode()
    assert "Pay 1.25 GBP through Prolific" in shown
    sent = fields(shown) | {"send": "1"}
    for _ in range(2):
        reply = researcher_client.post(page(study), sent, follow=True).content.decode()
        assert "Everything was sent." in reply
    assert books.paid("ann") == Decimal("1.25")
    assert PayBatch.objects.count() == 1
    assert "Nobody can be paid through Prolific now" in reply
    ledger = researcher_client.get(page(study, "")).content.decode()
    assert "prolific batch" in ledger
    assert "Undo “" not in ledger, "what was sent can't be taken back here"


def test_a_payment_in_doubt_is_explained_and_settled(
    researcher_client: Client, study: Study, books: ProlificBooks
) -> None:
    books.troubles = [("/pay/", "500")]
    sent = fields(researcher_client.get(page(study)).content.decode()) | {"send": "1"}
    assert (
        "may have been carried out" in researcher_client.post(page(study), sent, follow=True).content.decode()
    )
    shown = researcher_client.get(page(study)).content.decode()
    assert "Prolific may have paid it" in shown
    assert "continued by itself after" in shown
    assert 'name="cancel"' not in shown
    researcher_client.post(page(study), {"settle": "unpaid"})
    assert (
        "The rest was sent."
        in researcher_client.post(page(study), {"continue": "1"}, follow=True).content.decode()
    )
    assert books.paid("ann") == Decimal("1.25")


def test_others_can_neither_see_nor_pay(study: Study, books: ProlificBooks) -> None:
    stranger = Client()
    stranger.force_login(make_user("otto", staff=True))
    sent: dict[str, Any] = {"key": "key-00001", "digest": "x"}
    assert stranger.get(page(study)).status_code == 404
    assert stranger.post(page(study), sent | {"send": "1"}).status_code == 404
    assert stranger.post(page(study, "top-up/"), {"total": "1"}).status_code == 404
    api = f"/api/v1/studies/{study.slug}/payments/"
    for path, content in (
        ("panel/", sent),
        ("panel/settle/", {"key": "key-00001", "outcome": "paid"}),
        ("top-up/", {"total": "1"}),
    ):
        assert stranger.post(api + path, content, content_type="application/json").status_code == 404
    member = make_user("mia", staff=True)
    study.memberships.create(user=member, role="reviewer")
    stranger.force_login(member)
    assert "An editor of the workspace can pay this" in stranger.get(page(study)).content.decode()
    refused = stranger.post(page(study), sent | {"send": "1"}, follow=True).content.decode()
    assert "Only an editor of the workspace can pay" in refused, "it isn't their money"
    reply = stranger.post(f"{api}panel/", sent, content_type="application/json")
    assert reply.status_code == 404
    assert not PayBatch.objects.exists()


def test_the_api_pays_once_and_continues_by_the_key(
    researcher_client: Client, study: Study, books: ProlificBooks
) -> None:
    api = f"/api/v1/studies/{study.slug}/payments/panel/"
    shown = researcher_client.get(api).json()
    assert (shown["total"], shown["currency"], shown["fault"]) == ("1.25", "GBP", "")
    sent = {"key": "key-00001", "digest": shown["digest"]}
    books.troubles = [("/pay/", "lost")]
    assert researcher_client.post(api, sent, content_type="application/json").status_code == 400
    settle = {"key": "another-key", "outcome": "cancel"}
    assert researcher_client.post(f"{api}settle/", settle, content_type="application/json").status_code == 400
    for _ in range(2):
        reply = researcher_client.post(api, sent, content_type="application/json")
        assert reply.status_code == 201, reply.content
    assert [part["state"] for part in reply.json()["parts"]] == ["sent", "sent"]
    assert books.paid("ann") == Decimal("1.25")


def test_the_command_does_the_same(study: Study, books: ProlificBooks) -> None:
    out = StringIO()
    call_command("payments", study.slug, "show", stdout=out)
    digest = re.search(r"in all 1.25 GBP, digest (\w+)", out.getvalue())
    assert digest
    with pytest.raises(CommandError, match="has changed since"):
        call_command("payments", study.slug, "pay", key="key-00001", digest="x", stdout=out)
    call_command("payments", study.slug, "pay", key="key-00001", digest=digest[1], stdout=out)
    assert books.paid("ann") == Decimal("1.25")
    with pytest.raises(CommandError, match="Every batch is finished"):
        call_command("payments", study.slug, "continue", stdout=out)
    with pytest.raises(CommandError, match="expected an amount"):
        call_command("payments", study.slug, "top-up", total="lots", stdout=out)


def test_a_top_up_is_given_by_one_button(researcher_client: Client, researcher: User) -> None:
    study = worked([60, 60])
    study.memberships.create(user=researcher, role="owner")
    researcher_client.post(
        page(study, ""),
        {"accept": "1", "sure": "1", "rater": [one.rater_id for one in study.participations.all()]},
    )
    assert (
        "A top-up for everybody costs <strong>0.10 USD</strong>"
        in researcher_client.get(page(study, "")).content.decode()
    )
    sent = fields(researcher_client.get(page(study, "top-up/")).content.decode())
    assert sent == {"total": "0.10"}
    for forged in ("NaN", "-1", "9" * 400, "", "0.10 USD"):
        reply = researcher_client.post(page(study, "top-up/"), {"total": forged}, follow=True)
        assert "Nothing was given" in reply.content.decode()
    first = researcher_client.post(page(study, "top-up/"), sent, follow=True).content.decode()
    assert "2 participants will get 0.10 USD in all" in first
    again = researcher_client.post(page(study, "top-up/"), sent, follow=True).content.decode()
    assert "No top-up is due now" in again
    assert LedgerEntry.objects.filter(kind="top_up").count() == 2
    api = researcher_client.get(f"/api/v1/studies/{study.slug}/payments/top-up/").json()
    assert (api["per_hour"], api["floor"], api["amounts"]) == ("9.00", "9.00", [])


def test_the_budget_is_on_the_page(researcher_client: Client, researcher: User) -> None:
    study = worked([60])
    study.memberships.create(user=researcher, role="owner")
    assert "<h2>Budget</h2>" not in researcher_client.get(page(study, "")).content.decode()
    Study.objects.filter(pk=study.pk).update(budget_cap="0.15", budget_notice="0.10")
    shown = researcher_client.get(page(study, "")).content.decode()
    assert "The cap is reached." in shown
    Study.objects.filter(pk=study.pk).update(budget_cap="5")
    assert "the amount at which you wanted to know" in researcher_client.get(page(study, "")).content.decode()


def test_participants_read_their_pay_line_by_line(client: Client) -> None:
    study = worked([60])
    person = study.participations.get()
    bonus_give(
        study=study, rater=person.rater, by=None, amount=Decimal("0.50"), reason="careful <b>notes</b>"
    )
    assert person.rater.user is not None
    client.force_login(person.rater.user)
    shown = client.get("/me/").content.decode()
    assert "1 task, still being checked" in shown
    assert "careful &lt;b&gt;notes&lt;/b&gt;" in shown
    client.cookies["django_language"] = "de"
    shown = client.get("/me/", headers={"Accept-Language": "de"}).content.decode()
    assert "1 Aufgabe, wird noch geprüft" in shown
    assert '"kind": "pay"' in b"".join(client.get("/me/data/")).decode()  # type: ignore[arg-type]

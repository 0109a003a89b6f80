"""A paid study over HTTP, as its researcher sees it: created and published at the stand-in of Prolific, and paid through it."""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from html import unescape
from typing import Any

import httpx2
from django.test import Client

from annotator.core.tls import tls_context
from annotator.models import PanelStudy, PayBatch, Study, User
from annotator.recruitment.stand_in.books import PLACES_PER_HOUR, TOKEN, ProlificBooks
from annotator.services.rehearsal.over_http import Browser
from tests.factories import make_study
from tests.processes import WebProcess

CODES: dict[str, Any] = {
    "completion_code": "DONE", "screened_out_code": "EXAM", "partly_code": "SOME", "declined_code": "NO", "nothing_left_code": "NONE",
    "stopped_code": "STOP",
}  # fmt: skip
#: What the study's researcher chooses for people who end by each code.
ACTIONS = {
    "completion_code": "review", "screened_out_code": "screen_out", "partly_code": "review", "declined_code": "return",
    "nothing_left_code": "return", "stopped_code": "return",
}  # fmt: skip
_FIELD = re.compile(r'name="(key|digest)" value="([^"]*)"')
_RATER = re.compile(r'name="rater" value="(\d+)"')


def paid_study(by: User, *, people: int) -> Study:
    """A draft that takes about as many people, if three quarters of them do all their tasks."""
    return make_study(
        items=people * 3 // 4 + 2, redundancy=2, by=by, panel="prolific", panel_links="signed", currency="GBP", max_items_per_rater=2,
        exam_required=True, exam_attempts=1, exam_questions=1, pass_mark=1, exam_pay=Decimal("0.20"), pay_per_item=Decimal("0.50"),
        consent_text="We keep your answers.", joins_per_address=None, joins_per_hour=None, unfinished_per_hour=None,
        pay_floor_per_hour=Decimal("6.00"), minutes_per_item=2, **CODES,
    )  # fmt: skip


class Researcher:
    """Somebody who works on the study's pages."""

    def __init__(self, web: WebProcess, user: User, study: Study) -> None:
        self.study, self.browser = study, Browser(web.url)
        logged_in = Client()
        logged_in.force_login(user)
        self.browser.client.cookies.set("sessionid", logged_in.cookies["sessionid"].value)
        self.base = f"/admin/annotator/study/{study.pk}/"
        self.get("recruitment/")  # sets the CSRF cookie

    def get(self, path: str) -> str:
        return self.browser.get(self.base + path).text

    def post(self, path: str, data: dict[str, Any]) -> str:
        page: httpx2.Response = self.browser.post(self.base + path, data)
        assert page.status_code == 200, f"{path} {page.status_code}: {page.text[:3000]}"
        return unescape(page.text)

    def does(self, action: str, row: PanelStudy | None = None, **more: Any) -> str:
        """Press one of the buttons of the recruitment page."""
        about = {"row": str(row.pk)} if row is not None else {}
        return self.post("recruitment/", {"do": action, **about, **more})

    def publish(self, *, most_places: int, places: int) -> PanelStudy:
        """From an empty form to a study that people can see."""
        assert "Connected to Prolific." in self.does("connect", token=TOKEN)
        chosen = {
            "title": "Owls", "description": "Read and judge.", "minutes": "5", "reward": "1.20", "places": str(places),
            "devices": ["desktop", "tablet", "mobile"], "filters": "", "screen_out_reward": "0.20", "slots": "100",
            **{f"action_{field}": action for field, action in ACTIONS.items()},
        }  # fmt: skip
        preview = self.post("recruitment/new/", chosen | {"do": "preview"})
        assert f"about {places / PLACES_PER_HOUR:g} hours" in preview
        assert PanelStudy.objects.count() == 0, "nothing was created"
        assert "as a draft" in self.post("recruitment/new/", chosen | {"do": "create"})
        assert "The study is live." in self.post("do/launch/", {})
        assert "Webhooks are set up and confirmed." in self.does("hooks")
        row = PanelStudy.objects.get(study=self.study)
        assert "is live now" in self.does("publish", row)
        assert "Saved." in self.does("follow", row, on="on", most_places=str(most_places))
        return PanelStudy.objects.select_related("study").get(pk=row.pk)

    def accept(self) -> None:
        """Accept all work that was submitted."""
        asked = self.post("payments/", {"accept_all": "1"})
        if raters := _RATER.findall(asked):
            assert "accepted." in self.post("payments/", {"accept": "1", "sure": "1", "rater": raters})

    def pay(self) -> PayBatch:
        """Pay what the page proposes; pressed again if more is owed by then than the page showed."""
        for _ in range(20):
            shown = dict(_FIELD.findall(self.get("payments/panel/")))
            assert shown.keys() == {"key", "digest"}, "nobody can be paid"
            self.post("payments/panel/", {**shown, "send": "1"})
            if batch := PayBatch.objects.filter(study=self.study, key=shown["key"]).first():
                return batch
        raise AssertionError("what is owed has changed each time")


@dataclass
class Webhooks:
    """Sends the stand-in's webhooks over HTTP: a fifth of them never, some twice, in another order."""

    books: ProlificBooks
    seed: int = 5
    outcomes: Counter[str] = field(default_factory=Counter)
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=120, verify=tls_context()))

    def send(self) -> None:
        self.seed += 1
        waiting = len(self.books.outbox)
        sent = self.books.deliver(self._one, seed=self.seed, lost=0.2, doubled=0.3)
        self.outcomes["waiting"] += waiting
        self.outcomes["sent"] += sent

    def _one(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        reply = self.client.post(url, content=body, headers=headers)
        assert reply.status_code == 200, reply.text
        self.outcomes[str(reply.json()["outcome"])] += 1


def in_background(work: Any, *arguments: Any, **more: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, kwargs=more, daemon=True)
    thread.start()
    return thread


def cents(amount: Decimal) -> int:
    return int(amount * 100)

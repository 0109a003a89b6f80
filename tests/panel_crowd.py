"""People from the stand-in of Prolific who take part over HTTP: most work, the others leave in every way that there is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import ValidationError
from django.test import Client
from lxml import html

from annotator.models import Assignment, PanelStudy, Participation, Study, User
from annotator.recruitment.stand_in.books import ProlificBooks, Refusal
from annotator.selectors.pay_batch import pay_proposal
from annotator.selectors.study import study_hit_type
from annotator.services.panel_reconcile import panel_reconcile, panel_reconcile_sweep
from annotator.services.pay_batch import pay_batch_make, pay_batch_send
from annotator.services.payment import work_accept
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.services.rehearsal.fill import right_answers

#: How people end, of ten: seven do all their tasks.
FATES = ("works", "works", "returns", "works", "fails", "works", "works", "declines", "works", "works")
#: The same for every second ten.
OTHERS = ("works", "times out", "works", "works", "works", "vanishes", "works", "works", "stops", "works")
CODE = re.compile(r"submissions/complete\?cc=([\w-]+)")


@dataclass
class Crowd:
    """The people of one published study. ``ends`` counts how they ended; ``unanswered`` are those who saw neither a code nor a word."""

    books: ProlificBooks
    row: PanelStudy
    by: User
    seed: int = 5
    ends: Counter[str] = field(default_factory=Counter)
    unanswered: list[str] = field(default_factory=list)
    lost: int = 0
    _rng: Random = field(default_factory=lambda: Random(5))

    @property
    def study(self) -> Study:
        return Study.objects.get(pk=self.row.study_id)

    def come(self, most: int) -> int:
        """People come in waves until the study is complete, or ``most`` have come; returns how many came. After each wave, webhooks are
        delivered and both sides compared."""
        came = idle = 0
        while came < most and idle < 2:  # comparing both sides may raise the places
            wave = 0
            while wave < 20 and came < most and self._one(came):
                wave, came = wave + 1, came + 1
            self.webhooks()
            panel_reconcile_sweep()
            idle = 0 if wave else idle + 1
        return came

    def webhooks(self) -> None:
        """Deliver what waits: some of it never, some twice, in another order."""
        client, waiting = Client(), len(self.books.outbox)

        def send(url: str, body: bytes, headers: dict[str, str]) -> None:
            sent = {name: value for name, value in headers.items() if name != "Content-Type"}
            reply = client.post(urlsplit(url).path, body, content_type="application/json", headers=sent)
            assert reply.status_code == 200, reply.content

        self.seed += 1
        self.books.deliver(send, seed=self.seed, lost=0.2, doubled=0.3)
        self.lost += waiting

    def _one(self, number: int) -> bool:
        """Somebody comes and does what is their lot; False if there is no place for them."""
        fate = (FATES if number // 10 % 2 == 0 else OTHERS)[number % 10]
        try:
            submission = self.books.arrive(self.row.remote_id, f"{number:024x}")
        except Refusal:
            return False
        self.ends[fate] += 1
        # Everybody has an address of their own: only so many may join from one in an hour.
        client = Client(REMOTE_ADDR=f"10.20.{number // 250}.{number % 250 + 1}")
        person = _Person(self, submission, fate, Random(number), client)
        person.goes()
        return True


@dataclass
class _Person:
    crowd: Crowd
    submission: str
    fate: str
    rng: Random
    client: Client

    def goes(self) -> None:
        books, study = self.crowd.books, self.crowd.study
        link = urlsplit(books.link(self.submission))
        shown = self.client.get(f"{link.path}?{link.query}")
        assert shown.status_code == 200, shown.content
        if self.fate == "vanishes":  # closes the page; their time runs out
            books.move(self.submission, "TIMED-OUT")
            return
        came = self.client.post(shown.context["join_url"], follow=True)
        assert came.status_code == 200, came.content
        if not Participation.objects.filter(study=study, recruiter_session=self.submission).exists():
            self.crowd.ends["finds nothing"] += 1  # others did what was left a moment ago
            self._enters(came)
            return
        digest = _form(self._get(study, "consent/")).fields["digest"]
        if self.fate == "declines":
            self._post(study, "consent/", {"decision": "decline", "digest": digest, "sure": "yes"})
            self._enters(self._get(study, "left/"))
            books.move(self.submission, "RETURNED")
            return
        self._post(study, "consent/", {"decision": "agree", "digest": digest})
        version = _form(self._get(study, "instructions/")).fields["version"]
        self._post(study, "instructions/", {"version": version})
        self._exam(study, self._get(study, "exam/"))
        page = self.client.get(f"/study/{study.slug}/", follow=True)
        if self.fate == "fails":
            self._enters(page)
            return
        if self.fate == "returns":
            books.move(self.submission, "RETURNED")
            return
        page = self._tasks(page, most=1 if self.fate in ("times out", "stops") else 99)
        if self.fate == "times out":
            books.move(self.submission, "TIMED-OUT")
            return
        if self.fate == "stops":
            self._post(study, "leave/", {})
            page = self._get(study, "left/")
        self._enters(page)

    def _get(self, study: Study, path: str) -> Any:
        page = self.client.get(f"/study/{study.slug}/{path}")
        assert page.status_code == 200, f"{self.fate}: {path} {page.status_code}"
        return page

    def _post(self, study: Study, path: str, data: dict[str, Any]) -> Any:
        sent = self.client.post(f"/study/{study.slug}/{path}", data)
        assert sent.status_code in (200, 302), f"{self.fate}: {path} {sent.content.decode()}"
        return sent

    def _exam(self, study: Study, page: Any) -> None:
        mine = Participation.objects.select_related("study").get(
            study=study, recruiter_session=self.submission
        )
        attempt = mine.exam_attempts.latest("number")
        answers = right_answers(mine, attempt.drawn)
        if self.fate == "fails":
            kind = study_hit_type(study)
            for question in kind.exam:
                if question.key in answers:
                    stage = kind.question_stage(question.payload, question.gold)
                    answers[question.key] = rehearsal_answer(
                        stage, gold=question.gold, item_key=question.key, accuracy=0, rng=self.rng
                    )
        sent = {
            f"q{n}-{name}": value
            for n, key in enumerate(attempt.drawn, 1)
            for name, value in answers[key].items()
        }
        self._post(study, "exam/", {"attempt": _form(page, r"/exam/").fields["attempt"]} | sent)

    def _tasks(self, page: Any, *, most: int) -> Any:
        done = 0
        while done < most and re.search(rb'action="/task/\d+/"', page.content):
            form = _form(page, r"^/task/\d+/$")
            task = Assignment.objects.select_related("item", "participation__study").get(
                pk=int(form.action.split("/")[2])
            )
            stage = study_hit_type(task.participation.study).stages(task.item.payload, task.presentation)[
                task.stage
            ]
            raw = rehearsal_answer(
                stage, gold=task.item.gold, item_key=task.item.key, accuracy=0.9, rng=self.rng
            )
            sent = {name: value for name, value in form.fields.items() if value is not None}
            page = self.client.post(form.action, sent | raw, follow=True)
            assert page.status_code == 200, page.content
            done += 1
        return page

    def _enters(self, page: Any) -> None:
        """Enter the code of the page at Prolific, as its button does."""
        found = CODE.search(page.content.decode())
        if found is None:
            self.crowd.unanswered.append(f"{self.fate}: {page.request['PATH_INFO']}")
            return
        self.crowd.books.complete(self.submission, parse_qs(f"cc={found[1]}")["cc"][0])


def _form(page: Any, action: str = "") -> Any:
    forms = [
        one
        for one in html.fromstring(page.content).forms
        if one.method == "POST" and re.search(action, one.action or "") and len(one.fields)
    ]
    wanted = [one for one in forms if action or {"digest", "version"} & set(one.fields.keys())]
    assert wanted, f"no form in {page.request['PATH_INFO']}:\n{page.content.decode()[:2000]}"
    return wanted[0]


def payment_step(crowd: Crowd) -> None:
    """Accept the work and pay it through the panel's API, as the payments page does.

    The API is down in the middle of the payment, and then takes the request that pays but loses its reply: the batch is continued each
    time, and pays nobody twice.
    """
    study, books, row = crowd.study, crowd.books, crowd.row
    work_accept(study=study, by=crowd.by)
    panel_reconcile(row=PanelStudy.objects.select_related("study").get(pk=row.pk))
    left_out = {one.name for one in pay_proposal(study).left_out}
    for one in Participation.objects.filter(study=study, rater__name__in=left_out):
        # They did part of it. Their submission is returned, so it isn't paid in full, and what they earned is a bonus.
        books.move(one.recruiter_session, "RETURNED")
    panel_reconcile(row=PanelStudy.objects.select_related("study").get(pk=row.pk))
    proposal = pay_proposal(study)
    assert not proposal.left_out, proposal.left_out
    for trouble in ([("POST /api/v1/submissions/bonus-payments", "500")] * 3, [("/pay/", "500 after")], []):
        books.troubles = list(trouble)
        batch = pay_batch_make(study=study, key="crowd-0001", digest=proposal.digest, by=crowd.by)
        try:
            pay_batch_send(batch=batch)
        except ValidationError:
            assert trouble, "nothing went wrong"
        else:
            assert not trouble, "the trouble went unnoticed"
    batch.refresh_from_db()
    assert batch.finished_at is not None
    assert not pay_proposal(study).payments


def cents(amount: Decimal) -> int:
    return int(amount * 100)

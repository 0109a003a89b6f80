"""Emails to researchers: each their own choice, at once or once a day, and nobody gets one twice."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from annotator.core import news as news_module
from annotator.core.news import News
from annotator.models import Judgment, Membership, Message, Notice, NoticeChoices, Participation, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.notices import notice_choices_set, notices_sweep
from annotator.services.submit_and_next import turn_take
from annotator.tasks import notices_sweep_task
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
SITE = "https://lab.example"


def chosen(user: User, **choices: str) -> NoticeChoices:
    return notice_choices_set(user=user, site=f"{SITE}/", choices=choices)


def ada_and_study(**rules: Any) -> tuple[User, Study]:
    ada = make_user("ada", staff=True, email="ada@example.org")
    return ada, make_study(by=ada, launched=True, title="Owls", redundancy=1, **({"items": 2} | rules))


def work(person: Participation, *, tasks: int = 1, seconds: float = 60) -> None:
    """A participant does some tasks, each in this time."""
    for _ in range(tasks):
        task = assignment_next(participation=person)
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    Judgment.objects.filter(rater=person.rater).update(seconds=seconds)


def ask(study: Study, text: str = "Why owls?") -> Message:
    rater = make_participation(study).rater
    return Message.objects.create(study=study, rater=rater, kind=Message.Kind.QUESTION, text=text)


def test_without_a_choice_nobody_gets_email() -> None:
    _, study = ada_and_study()
    ask(study)
    assert notices_sweep() == 0
    assert mail.outbox == []


def test_messages_are_sent_at_once_and_once() -> None:
    ada, study = ada_and_study()
    chosen(ada, messages="now")
    ask(study, "My name is Kim.")
    ask(study)
    assert notices_sweep() == 1
    assert notices_sweep_task() == 0
    [sent] = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert sent.subject == "News about Owls"
    assert f"- New question (2): {SITE}/admin/annotator/study/{study.pk}/messages/" in sent.body
    assert "Kim" not in sent.body, "what a participant wrote stays in Foretell"


def test_news_from_before_the_choice_and_settled_messages_are_not_sent() -> None:
    ada, study = ada_and_study()
    ask(study)
    chosen(ada, messages="daily")
    settled = ask(study)
    notices_sweep()
    mail.outbox.clear()
    later = ask(study)
    assert notices_sweep() == 0, "the digest of today has been sent"
    Message.objects.filter(pk__in=[settled.pk, later.pk]).update(settled_at=timezone.now())
    NoticeChoices.objects.update(digest_at=timezone.now() - timedelta(days=2))
    assert notices_sweep() == 0
    assert mail.outbox == []


def test_a_daily_email_holds_everything_of_a_day() -> None:
    ada, study = ada_and_study()
    other = make_study(by=ada, items=1, launched=True, title="Bats")
    chosen(ada, messages="daily", full="daily")
    ask(study)
    assert notices_sweep() == 1
    for one in (study, other):
        ask(one)
    work(make_participation(study), tasks=2)
    assert notices_sweep() == 0
    NoticeChoices.objects.update(digest_at=timezone.now() - timedelta(days=1, minutes=1))
    assert notices_sweep() == 1
    body = mail.outbox[1].body
    assert mail.outbox[1].subject == "News about 2 studies"
    assert body.index("Owls\n") < body.index("All 2 places are filled") < body.index("Bats\n")
    assert notices_sweep() == 0


def test_each_researcher_chooses_and_only_hears_of_their_own_studies() -> None:
    ada, study = ada_and_study()
    bea = make_user("bea", staff=True, email="bea@example.org")
    kim = make_user("kim", email="kim@example.org")
    for user in (ada, bea, kim):
        chosen(user, messages="now")
    ask(study)
    assert notices_sweep() == 1
    assert [one.to for one in mail.outbox] == [["ada@example.org"]]
    Membership.objects.create(user=bea, study=study, role=Membership.Role.VIEWER)
    assert notices_sweep() == 1
    assert mail.outbox[1].to == ["bea@example.org"]


def test_who_lost_access_or_changed_their_mind_before_the_email_gets_none() -> None:
    ada, study = ada_and_study()
    bea = make_user("bea", staff=True, email="")
    Membership.objects.create(user=bea, study=study, role=Membership.Role.VIEWER)
    chosen(bea, messages="now")
    ask(study)
    assert notices_sweep() == 0, "no address"
    bea.email = "bea@example.org"
    bea.save()
    Membership.objects.filter(user=bea).delete()
    assert notices_sweep() == 0
    assert Notice.objects.get(user=bea).sent_at is not None
    chosen(ada, messages="off")
    ask(study)
    assert notices_sweep() == 0


def test_low_pay_and_places_that_run_out() -> None:
    ada, study = ada_and_study(
        items=20, pay_per_item=Decimal("1"), pay_floor_per_hour=Decimal("12"), minutes_per_item=1
    )
    chosen(ada, pay="now", places="now", full="now")
    person = make_participation(study)
    work(person, tasks=18, seconds=3_600)
    assert notices_sweep() == 1
    assert "an hour, below your minimum of 12.00" in mail.outbox[0].body
    assert "Places are running out" not in mail.outbox[0].body
    work(person, seconds=3_600)
    assert notices_sweep() == 1
    assert "Places are running out: 1 of 20 are left" in mail.outbox[1].body
    assert "below your minimum" not in mail.outbox[1].body, "said already"
    work(person, seconds=3_600)
    assert notices_sweep() == 1
    assert "All 20 places are filled" in mail.outbox[2].body


def test_a_study_whose_pay_passes_its_notice_is_told_of_once_and_again_at_the_cap() -> None:
    ada, study = ada_and_study(
        items=4, pay_per_item=Decimal("1"), minutes_per_item=1,
        budget_notice=Decimal("2.50"), budget_cap=Decimal("4"),
    )  # fmt: skip
    chosen(ada, pay="now")
    person = make_participation(study)
    work(person)
    assert notices_sweep() == 0, "one task is done and one in hand"
    work(person)
    assert (notices_sweep(), notices_sweep()) == (1, 0)
    assert "3.00 USD are earned or reserved, your notice was at 2.50" in mail.outbox[0].body
    work(person)
    assert notices_sweep() == 1
    assert "The cap of 4.00 USD is reached; no more tasks are given out" in mail.outbox[1].body


def test_an_email_that_the_server_refuses_is_sent_later(monkeypatch: pytest.MonkeyPatch) -> None:
    ada, study = ada_and_study()
    chosen(ada, messages="daily")
    ask(study)

    def refuse(self: Any, *args: Any, **kwargs: Any) -> int:
        raise OSError("connection refused")

    with monkeypatch.context() as patched:
        patched.setattr(mail.EmailMessage, "send", refuse)
        assert notices_sweep() == 0
    assert Notice.objects.get().sent_at is None
    assert NoticeChoices.objects.get().digest_at is None
    assert notices_sweep() == 1


def test_a_worker_that_is_killed_while_it_sends_does_not_send_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    ada, study = ada_and_study()
    chosen(ada, messages="now")
    ask(study)

    def die(self: Any, *args: Any, **kwargs: Any) -> int:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(mail.EmailMessage, "send", die)
        with pytest.raises(SystemExit):
            notices_sweep()
    assert notices_sweep() == 0


def test_a_thousand_pieces_of_news_make_one_short_email(monkeypatch: pytest.MonkeyPatch) -> None:
    ada, study = ada_and_study()
    chosen(ada, quality="now")
    many = [
        News(study.pk, "quality", f"run {n}", f"A run of model {n} has failed", "/") for n in range(1_000)
    ]
    monkeypatch.setattr(news_module, "_SOURCES", {"many": (lambda studies: many, frozenset({"quality"}))})
    assert notices_sweep() == 1
    assert "- and 950 more" in mail.outbox[0].body
    assert notices_sweep() == 0


def test_news_that_nobody_wants_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ada, study = ada_and_study()
    chosen(ada, messages="now")

    def refuse(studies: Any) -> list[News]:
        raise AssertionError("nobody asked for it")

    monkeypatch.setattr(news_module, "_SOURCES", {"quality": (refuse, frozenset({"quality"}))})
    ask(study)
    assert notices_sweep() == 0


def test_the_page_stores_the_choice_and_refuses_forged_input(client: Client) -> None:
    ada = make_user("ada", staff=True, email="ada@example.org")
    client.force_login(ada)
    where = "/admin/annotator/study/emails/"
    choices = dict.fromkeys(NoticeChoices.KINDS, "off") | {"messages": "now", "places": "daily"}
    assert client.post(where, choices).status_code == 302
    stored = NoticeChoices.objects.get(user=ada)
    assert (stored.messages, stored.places, stored.full) == ("now", "daily", "off")
    assert stored.site == "http://testserver"
    assert "Emails go to ada@example.org" in client.get(where).content.decode()
    refused = client.post(where, choices | {"full": "hourly"})
    assert refused.status_code == 400
    assert "Select a valid choice" in refused.content.decode()
    client.force_login(make_user("kim"))
    assert client.post(where, choices).status_code in (302, 403, 404)
    assert NoticeChoices.objects.count() == 1


def test_the_link_in_an_email_stops_them_without_a_login_and_only_by_a_post() -> None:
    ada, study = ada_and_study()
    chosen(ada, messages="now", full="daily")
    ask(study)
    notices_sweep()
    [sent] = mail.outbox
    link = re.search(r"No more emails: (\S+)", sent.body)
    assert link
    assert sent.extra_headers["List-Unsubscribe"] == f"<{link[1]}>"
    assert sent.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    path = link[1].removeprefix(SITE)
    client = Client(enforce_csrf_checks=True)
    assert "Stop all emails" in client.get(path).content.decode()
    assert NoticeChoices.objects.get().messages == "now", "programs that check mail open its links"
    assert "no more emails" in client.post(path, {"List-Unsubscribe": "One-Click"}).content.decode()
    stored = NoticeChoices.objects.get()
    assert {stored.when(kind) for kind in NoticeChoices.KINDS} == {"off"}
    ask(study)
    assert notices_sweep() == 0
    assert client.post("/no-emails/forged/").status_code == 404
    assert client.post(path[:-2] + "x/").status_code == 404


class MailServer:
    """A mail server that takes what it's sent, by SMTP."""

    def __init__(self) -> None:
        self.received: list[EmailMessage] = []
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.talk, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n")
        while line := await reader.readline():
            word = line[:4].upper().strip()
            if word == b"DATA":
                writer.write(b"354 go on\r\n")
                data = await reader.readuntil(b"\r\n.\r\n")
                self.received.append(message_from_bytes(data[:-3], policy=policy.default))  # type: ignore[arg-type]
            writer.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")
            if word == b"QUIT":
                break
        writer.close()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.server.close()
        self.loop.close()


@pytest.fixture
def mail_server(settings: Any) -> Iterator[MailServer]:
    server = MailServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    yield server
    server.stop()


def test_a_mail_server_gets_one_email_with_the_header_that_stops_them(mail_server: MailServer) -> None:
    ada, study = ada_and_study()
    Study.objects.filter(pk=study.pk).update(title="Owls\r\nBcc: eve@example.org")
    chosen(ada, messages="now")
    ask(study)
    assert notices_sweep() == 1
    assert notices_sweep() == 0
    [received] = mail_server.received
    assert received["To"] == "ada@example.org"
    assert received["Bcc"] is None, "a title can't add a header"
    assert received["List-Unsubscribe"].strip().startswith(f"<{SITE}/no-emails/")
    assert "New question" in received.get_content()

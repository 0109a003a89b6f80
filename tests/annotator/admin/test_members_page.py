"""A colleague is invited by a link or by email, accepts, and can do what their role allows."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.core import mail
from django.db import transaction
from django.test import Client
from django.utils import timezone

from annotator.models import Invitation, Membership, Study, User
from annotator.services.membership import invitation_create
from annotator.services.message import message_send
from annotator.services.study import study_launch
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def study(owner: User) -> Study:
    return make_study(by=owner, items=1, title="Owls")


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def url(study: Study) -> str:
    return f"/admin/annotator/study/{study.pk}/members/"


def text(reply: Any) -> str:
    return unescape(" ".join(reply.content.decode().split()))


def link_of(reply: Any) -> str:
    return re.search(r'value="http://testserver(/colleague/[^"]+)"', reply.content.decode())[1]


def test_a_colleague_accepts_a_link_and_gets_a_viewers_access(owner: User, study: Study) -> None:
    link = link_of(logged_in(owner).post(url(study), {"invite": "1", "email": "", "role": "viewer"}))
    assert Invitation.objects.get().digest not in link, "only a digest of the secret is stored"
    guest = make_user("ben")
    client = logged_in(guest)
    assert "ada invites you to this study as viewer" in text(client.get(link))
    reply = client.post(link)
    assert reply.status_code == 302
    assert Membership.objects.get(user=guest).role == "viewer"
    shown = text(client.get(reply["Location"]))
    assert "Owls" in shown
    for forbidden in ("Launch", "Import material", "Rehearse"):
        assert f">{forbidden}</a>" not in shown
    assert logged_in(make_user()).post(link).status_code in (403, 404), "it works once"


class Forms(HTMLParser):
    """The POST forms of a page that have a button: the address, the hidden fields and the first button."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sendable: list[tuple[str, dict[str, str]]] = []
        self.page = page
        self.form: tuple[str, dict[str, str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.form = (has.get("action") or self.page, {}) if has.get("method") == "post" else None
        elif self.form and tag == "button" and has.get("type", "submit") == "submit":
            if self.form not in self.sendable:
                self.sendable.append(self.form)
                self.form[1][has.get("name", "")] = has.get("value", "")
        elif self.form and tag == "input" and has.get("type") == "hidden":
            self.form[1][has["name"]] = has.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None


@pytest.mark.parametrize(
    ("role", "launched"),
    [(role, launched) for role in ("viewer", "reviewer", "editor") for launched in (False, True)]
    + [("owner", False)],
)
def test_no_link_or_form_that_a_role_is_shown_is_refused(
    owner: User, study: Study, role: str, launched: bool
) -> None:
    if launched:
        study_launch(study=study)
        study.refresh_from_db()
        message_send(participation=make_participation(study), kind="question", text="May I look it up?")
    member = make_user("vera", staff=True)
    Membership.objects.create(study=study, user=member, role=role)
    client = logged_in(member)
    root = f"/admin/annotator/study/{study.pk}/"
    pages = {f"{root}{name}/" for name in ("live", "items", "raters", "payments", "judgments", "change")}
    seen: set[str] = set()
    forms: list[tuple[str, dict[str, str]]] = []
    while pages - seen:
        page = (pages - seen).pop()
        seen.add(page)
        reply = client.get(page)
        assert reply.status_code in (200, 302), page
        if reply.status_code == 200 and not reply.streaming and "html" in reply["Content-Type"]:
            html = reply.content.decode()
            pages |= set(re.findall(rf'href="({root}[^"#?]*)"', html))
            reader = Forms(page)
            reader.feed(html)
            forms += [one for one in reader.sendable if one[0].startswith(root)]
    assert len(seen) > 12
    assert forms or role == "viewer"
    for action, fields in forms:
        with transaction.atomic():
            status = client.post(action, fields).status_code
            transaction.set_rollback(True)
        assert status in (200, 302, 400), f"{action}: {status}"


def test_an_invitation_is_sent_by_email(owner: User, study: Study, settings: Any) -> None:
    reply = logged_in(owner).post(url(study), {"invite": "1", "email": "ben@example.org", "role": "editor"})
    (sent,) = mail.outbox
    assert sent.to == ["ben@example.org"]
    assert link_of(reply) in sent.body
    assert "as editor" in sent.body


def test_a_visitor_is_asked_to_log_in_first(study: Study, owner: User) -> None:
    _, token = invitation_create(study=study, by=owner, role="viewer")
    shown = text(Client().get(f"/colleague/{token}/"))
    assert f"/login/?next=/colleague/{token}/" in shown
    assert Client().post(f"/colleague/{token}/").status_code == 200
    assert study.memberships.count() == 1


@pytest.mark.parametrize("how", ["expired", "withdrawn", "wrong"])
def test_an_invalid_link_adds_no_member(how: str, study: Study, owner: User) -> None:
    _, token = invitation_create(study=study, by=owner, role="viewer")
    if how == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    elif how == "withdrawn":
        logged_in(owner).post(url(study), {"revoke": Invitation.objects.get().pk})
    else:
        token = "x" * 32
    user = make_user()
    logged_in(user).post(f"/colleague/{token}/")
    assert not Membership.objects.filter(user=user).exists()


def test_accepting_never_lowers_a_role(study: Study, owner: User) -> None:
    _, token = invitation_create(study=study, by=owner, role="viewer")
    logged_in(owner).post(f"/colleague/{token}/")
    assert Membership.objects.get(user=owner).role == "owner"


def test_roles_can_change_but_the_last_owner_stays(study: Study, owner: User) -> None:
    ben = Membership.objects.create(study=study, user=make_user("ben", staff=True), role="viewer")
    mine = Membership.objects.get(user=owner)
    client = logged_in(owner)
    client.post(url(study), {"change": ben.pk, f"role-{ben.pk}": "editor"})
    ben.refresh_from_db()
    assert ben.role == "editor"
    for sent in ({"remove": mine.pk}, {"change": mine.pk, f"role-{mine.pk}": "viewer"}):
        assert "is the only owner" in text(client.post(url(study), sent, follow=True))
    client.post(url(study), {"remove": ben.pk})
    assert study.memberships.count() == 1


def test_an_editor_sees_the_members_and_cannot_change_them(study: Study) -> None:
    editor = make_user(staff=True)
    Membership.objects.create(study=study, user=editor, role="editor")
    client = logged_in(editor)
    assert "Invite a colleague" not in text(client.get(url(study)))
    assert client.post(url(study), {"invite": "1", "role": "owner"}).status_code == 404
    assert not Invitation.objects.exists()

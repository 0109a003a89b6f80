"""A colleague is invited by a link or by email, accepts, and can do what their role allows."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from annotator.models import Invitation, Membership, Study, User
from annotator.services.membership import invitation_create
from tests.factories import make_study, make_user

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

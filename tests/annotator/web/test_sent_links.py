"""People who come by a link that they were sent: personal ones of a list, and those signed with a secret of the study."""

from __future__ import annotations

import io
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from annotator.core.tables.faults import FaultLog
from annotator.models import PersonalLink, Study, User
from annotator.recruitment.panel import COMPLETED, DECLINED
from annotator.recruitment.panels.shared_secret import signature
from annotator.services.erasure import erase
from annotator.services.panel_events import panel_secret_set
from annotator.services.personal_links import (
    people_read,
    personal_link_remove,
    personal_link_renew,
    personal_link_revoke,
    personal_links_make,
)
from annotator.services.study import study_update
from annotator.web.exits import way_back
from tests.annotator.web.sent_links import address, joins
from tests.factories import make_study

pytestmark = pytest.mark.django_db
SECRET = "a-secret-of-the-mailing-list"


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(items=3, launched=True, panel="personal", by=researcher, slug="owls")


def added(study: Study, *names: str, **about: Any) -> list[PersonalLink]:
    file = io.BytesIO(b"name\n" + "".join(f"{name}\n" for name in names).encode())
    log = FaultLog("class.csv")
    return personal_links_make(
        study=study, people=people_read(file, name="class.csv", log=log), by=None, log=log, **about
    )


def told(client: Client, link: str) -> str:
    reply = client.get(link)
    assert reply.status_code == 403
    return reply.content.decode()


def test_a_personal_link_brings_the_same_person_back_on_any_device(study: Study) -> None:
    ann, bob = added(study, "Ann Example", "Bob Example")
    first = joins(Client(), address(ann))
    assert first is not None
    assert first.recruiter_verified
    assert (first.recruiter, first.recruiter_id) == ("personal", ann.person)
    assert "Ann" not in f"{first.join_parameters} {first.rater.name} {first.recruiter_session}"
    again = joins(Client(), address(ann))
    assert again is not None
    assert again.pk == first.pk, "another browser"
    other = joins(Client(), address(bob))
    assert other is not None
    assert other.pk != first.pk
    assert study.participations.count() == 2


def test_what_is_wrong_with_a_link_is_said(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    ann, bob, cem = added(study, "Ann", "Bob", "Cem")
    good = address(ann)
    other = make_study(items=1, launched=True, panel="personal", slug="hens")
    forged = [
        good[:-3] + "AAA", good.replace(ann.person, bob.person), good.replace(study.join_token, other.join_token),
        f"/join/{study.join_token}/?person_id={ann.person}&link_id={ann.link}&key=",
    ]  # fmt: skip
    for link in forged:
        assert "Copy the whole link from the message" in told(Client(), link)
    assert "Open this study with the link you were sent" in told(Client(), f"/join/{study.join_token}/")
    personal_link_renew(row=ann, by=None)
    assert "Open the newest one" in told(Client(), good)
    personal_link_revoke(row=bob, by=None)
    assert "was withdrawn" in told(Client(), address(bob))
    PersonalLink.objects.filter(pk=cem.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    assert "has expired" in told(Client(), address(cem))
    gone = address(cem)
    personal_link_remove(row=cem, by=None)
    assert "no longer valid" in told(Client(), gone)
    assert study.participations.count() == 0
    assert "it was revoked" in caplog.text
    assert not any(text in caplog.text for text in (good.partition("key=")[2], "Ann", "Bob"))


def test_a_link_that_was_made_anew_brings_them_back_to_their_work(study: Study) -> None:
    [ann] = added(study, "Ann")
    before = joins(Client(), address(ann))
    personal_link_revoke(row=ann, by=None)
    assert joins(Client(), address(ann)) is None
    ann = personal_link_renew(row=ann, by=None)
    after = joins(Client(), address(ann))
    assert before is not None
    assert after is not None
    assert (after.pk, after.recruiter_session) == (before.pk, ann.link)


def test_who_was_erased_is_no_longer_on_the_list(study: Study) -> None:
    ann, _ = added(study, "Ann Example", "Bob Example")
    person = joins(Client(), address(ann))
    assert person is not None
    with pytest.raises(ValidationError, match="deletion request"):
        personal_link_remove(row=ann, by=None)
    link = address(ann)
    erase(study=study, rater=person.rater, policy="delete")
    assert list(study.personal_links.values_list("name", flat=True)) == ["Bob Example"]
    assert "no longer valid" in told(Client(), link)


def test_only_signed_links_are_accepted_from_a_list(study: Study) -> None:
    with pytest.raises(ValidationError, match="always signed"):
        study_update(study=study, panel_links="plain")


# -- links signed with the study's own secret ---------------------------------------------------------------


@pytest.fixture
def listed(researcher: User) -> Study:
    study = make_study(items=3, launched=True, panel="shared_secret", by=researcher)
    return panel_secret_set(study=study, by=None, secret=SECRET)


def signed(study: Study, person: str, *, expires: str = "", secret: str = SECRET) -> str:
    key = signature(secret=secret, person=person, expires=expires)
    more = f"&expires={expires}" if expires else ""
    return f"/join/{study.join_token}/?person_id={person}{more}&signature={key}"


def test_a_link_of_a_mailing_list_names_the_person(listed: Study) -> None:
    first = joins(Client(), signed(listed, "p-77"))
    again = joins(Client(), signed(listed, "p-77", expires=str(int(time.time()) + 60)))
    assert first is not None
    assert again is not None
    assert (first.recruiter_id, first.recruiter_verified) == ("p-77", True)
    assert again.pk == first.pk


def test_forged_and_expired_links_of_a_mailing_list_are_refused(listed: Study) -> None:
    late = str(int(time.time()) - 60)
    assert "has expired" in told(Client(), signed(listed, "p-77", expires=late))
    assert "was changed" in told(Client(), signed(listed, "p-77").replace("p-77", "p-78"))
    for link in (
        signed(listed, "p-77", secret="another-secret-of-16"),
        signed(listed, "p-77", expires="soon"),
    ):
        assert "was changed" in told(Client(), link)
    stays = signed(listed, "p-77")
    panel_secret_set(study=listed, by=None, secret="")
    assert "was changed" in told(Client(), stays)


def test_an_id_of_one_study_opens_no_account_of_another(listed: Study, researcher: User) -> None:
    """Whoever has the secret of one study could otherwise become a participant of another."""
    other = make_study(items=3, launched=True, panel="shared_secret", by=researcher)
    panel_secret_set(study=other, by=None, secret="the-secret-of-the-other-study")
    first = joins(Client(), signed(listed, "p-77"))
    second = joins(Client(), signed(other, "p-77", secret="the-secret-of-the-other-study"))
    assert first is not None
    assert second is not None
    assert first.rater_id != second.rater_id


@pytest.mark.parametrize(
    ("template", "completed", "declined"),
    [
        ("https://lab.example/back?c={code}&p={person}", "https://lab.example/back?c=DONE&p=p-77", ""),
        ("https://pool.example/credit?id={person}", "https://pool.example/credit?id=p-77", ""),
        ("", "", ""),
    ],
)
def test_people_return_to_the_address_of_the_settings(
    listed: Study, template: str, completed: str, declined: str
) -> None:
    study = study_update(study=listed, panel_return=template, completion_code="DONE")
    person = joins(Client(), signed(study, "p-77"))
    assert way_back(study, COMPLETED, person)["return_url"] == completed
    assert way_back(study, DECLINED, person)["return_url"] == declined


def test_an_address_to_return_to_that_cannot_be_one_is_refused(listed: Study) -> None:
    with pytest.raises(ValidationError, match="begins with https"):
        study_update(study=listed, panel_return="javascript:alert(1)")
    with pytest.raises(ValidationError, match=r"\{worker\} is not replaced"):
        study_update(study=listed, panel_return="https://lab.example/?w={worker}")

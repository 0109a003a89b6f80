"""Links from Prolific: what is refused, who may join with them, and who may come back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.models import Participation, Rater, Study, User
from annotator.selectors.workspace import workspaces_for
from annotator.services.study import study_update
from annotator.web.views.panel import SESSION
from tests.annotator.web.exits import come_signed as come
from tests.annotator.web.exits import link, path
from tests.factories import make_study, make_user
from tests.prolific_server import STUDY, Prolific, keys_forget, prolific_trusted, rsa_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def prolific() -> Iterator[Prolific]:
    with prolific_trusted() as found:
        yield found


@pytest.fixture
def study() -> Study:
    return make_study(
        items=3, launched=True, panel="prolific", panel_study_ids=STUDY, by=make_user("ada", staff=True)
    )


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def by_hand(prolific: Prolific, algorithm: str, **about: Any) -> str:
    """A token that PyJWT refuses to write: without a signature, or signed with HMAC and the public key as its secret."""
    _, claims, _ = prolific.token("p1", **about).split(".")
    signed = f"{_encoded(json.dumps({'alg': algorithm, 'kid': 'key-1'}).encode())}.{claims}"
    public = json.dumps(prolific.key_set()["keys"][0]).encode()
    mac = hmac.new(public, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_encoded(mac) if algorithm == 'HS256' else ''}"


FORGED: dict[str, Any] = {
    "algorithm none": lambda p, **about: by_hand(p, "none", **about),
    "HMAC with the public key": lambda p, **about: by_hand(p, "HS256", **about),
    "expired": lambda p, **about: p.token("p1", **about, exp=int(time.time()) - 60),
    "without an expiry": lambda p, **about: p.token("p1", **about, exp=None),
    "not yet valid": lambda p, **about: p.token("p1", **about, nbf=int(time.time()) + 3600),
    "another issuer": lambda p, **about: p.token("p1", **about, iss="https://evil.example"),
    "another audience": lambda p, **about: p.token("p1", **about, aud="https://other.example/"),
    "another study's address": lambda p, **about: p.token("p1", **about, aud="https://testserver/join/xyz/"),
    "without an audience": lambda p, **about: p.token("p1", **about, aud=None),
    "an unknown key": lambda p, **about: p.token("p1", **about, headers={"kid": "key-9"}),
    "another key under the same id": lambda p, **about: p.token("p1", **about, key=rsa_key()),
    "no key id": lambda p, **about: p.token("p1", **about, headers={"x": "y"}),
    "another study": lambda p, **about: p.token("p1", **about, study="64395e9c2332b8a59a65d51f"),
    "ids outside of their claim": lambda p, **about: p.token("p1", **about, prolific=None, PROLIFIC_PID="p1"),
    "an id that is none": lambda p, **about: p.token("p 1", **about),
    "too long": lambda p, **about: p.token("p1", **about, x="y" * 9_000),
    "an expiry that is no date": lambda p, **about: p.token("p1", **about, exp=10**14),
    "an expiry that is text": lambda p, **about: p.token("p1", **about, exp=str(int(time.time()) + 60)),
    "no token": lambda p, **about: "nonsense",
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_link_is_refused_with_what_to_do(
    forged: str, prolific: Prolific, study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    token = FORGED[forged](prolific, path=path(study))
    for reply in (
        Client().get(link(study), {"prolific_token": token}),
        Client().post(f"{link(study)}prolific_token={token}"),
    ):
        assert reply.status_code == 403
        assert "open the study again from there" in reply.content.decode()
        assert 'href="https://app.prolific.com/"' in reply.content.decode()
    assert "was refused: " in caplog.text
    assert token not in caplog.text
    assert (Participation.objects.count(), Rater.objects.count()) == (0, 0)


def test_a_signed_link_joins_once_and_keeps_the_ids(prolific: Prolific, study: Study) -> None:
    client = Client()
    address = link(study, prolific.query("p1", path=path(study), submission="s1"))
    shown = client.get(address)
    assert shown.status_code == 200
    assert client.post(shown.context["join_url"]).status_code == 302
    person = study.participations.get()
    assert (person.recruiter, person.recruiter_id, person.recruiter_session) == ("prolific", "p1", "s1")
    assert person.recruiter_verified
    assert person.join_parameters == {"PROLIFIC_PID": "p1", "STUDY_ID": STUDY, "SESSION_ID": "s1"}
    assert client.get(f"/study/{study.slug}/instructions/").status_code == 200
    assert client.post(address).status_code == 302, "opened again in the same browser"
    assert Participation.objects.count() == User.objects.filter(is_staff=False).count() == 1


@pytest.mark.parametrize("elliptic", [False, True])
def test_a_link_signed_with_a_new_key_is_accepted(prolific: Prolific, study: Study, elliptic: bool) -> None:
    prolific.rotate(elliptic=elliptic)
    come(prolific, study, "p1")
    assert study.participations.get().recruiter_id == "p1"


def test_an_audience_that_is_only_the_host_is_accepted(prolific: Prolific, study: Study) -> None:
    come(prolific, study, "p1", aud="testserver")
    come(prolific, study, "p2", aud=["https://testserver"])
    assert study.participations.count() == 2


def test_a_copy_of_a_link_is_refused_in_another_browser_and_for_another_account(
    prolific: Prolific, study: Study
) -> None:
    address = link(study, prolific.query("p1", path=path(study)))
    owner, thief, member = Client(), Client(), Client()
    owner.post(address)
    member.force_login(make_user("kim"))
    for client in (thief, member):
        before = dict(client.session)
        assert client.post(address).status_code == 403
        assert client.session.get("_auth_user_id") == before.get("_auth_user_id")
    assert thief.get(f"/study/{study.slug}/").status_code == 404
    assert Participation.objects.count() == 1


def test_a_new_link_brings_its_participant_back_after_cookies_were_cleared(
    prolific: Prolific, study: Study
) -> None:
    first = come(prolific, study, "p1")
    again = come(prolific, study, "p1")
    assert again.session["_auth_user_id"] == first.session["_auth_user_id"]
    assert Participation.objects.count() == 1


def test_the_link_alone_does_not_open_an_account_with_a_password(prolific: Prolific, study: Study) -> None:
    kim = make_user("kim")
    client = Client()
    client.force_login(kim)
    come(prolific, study, "p1", client)
    assert study.participations.get().rater.user == kim
    other = Client()
    reply = other.post(link(study, prolific.query("p1", path=path(study))))
    assert reply.status_code == 403
    assert "Log in, then open the study again" in reply.content.decode()
    assert "_auth_user_id" not in other.session
    other.force_login(kim)
    come(prolific, study, "p1", other)


def test_another_participant_at_the_same_computer_gets_their_own_account(
    prolific: Prolific, study: Study
) -> None:
    client = come(prolific, study, "p1")
    come(prolific, study, "p2", client)
    assert set(study.participations.values_list("recruiter_id", flat=True)) == {"p1", "p2"}
    assert study.participations.values("rater").distinct().count() == 2


def test_a_participant_is_the_same_rater_in_every_study_of_the_workspace(
    prolific: Prolific, study: Study
) -> None:
    ada = User.objects.get(username="ada")
    assert workspaces_for(user=ada).exists()
    second = make_study(items=1, launched=True, panel="prolific", panel_study_ids="other-1", by=ada)
    elsewhere = make_study(
        items=1, launched=True, panel="prolific", panel_study_ids="other-2", by=make_user("otto", staff=True)
    )
    come(prolific, study, "p1")
    come(prolific, second, "p1", study="other-1", submission="s2")
    come(prolific, elsewhere, "p1", study="other-2", submission="s3")
    assert second.participations.get().rater_id == study.participations.get().rater_id
    assert elsewhere.participations.get().rater_id != study.participations.get().rater_id, "another lab"


def test_people_without_a_signed_link_cannot_join(prolific: Prolific, study: Study) -> None:
    member = Client()
    member.force_login(make_user("kim"))
    for client in (Client(), member):
        for query in ("", "PROLIFIC_PID=p1&STUDY_ID=x&SESSION_ID=y"):
            for reply in (client.get(link(study, query)), client.post(link(study, query))):
                assert reply.status_code == 403
                assert "Open this study from Prolific" in reply.content.decode()
    assert not study.participations.exists()


def test_participants_come_back_to_the_invitation_without_a_link(prolific: Prolific, study: Study) -> None:
    client = come(prolific, study, "p1")
    assert client.get(link(study)).status_code == 200
    assert client.post(link(study)).status_code == 302
    assert client.post(link(study, "prolific_token=nonsense")).status_code == 302
    assert Participation.objects.count() == 1


def test_a_link_may_expire_while_its_invitation_is_read(prolific: Prolific, study: Study) -> None:
    client = Client()
    token = prolific.token("p1", path=path(study), exp=int(time.time()) + 3600)
    address = f"{link(study)}prolific_token={token}"
    assert client.get(address).status_code == 200
    prolific.rotate()  # the key is gone, so the link would be refused if it were read again
    keys_forget(prolific)
    assert Client().post(address).status_code == 403
    assert client.post(address).status_code == 302
    assert study.participations.count() == 1


def test_what_a_browser_remembers_of_a_link_lasts_an_hour(prolific: Prolific, study: Study) -> None:
    client = Client()
    address = link(study, prolific.query("p1", path=path(study)))
    client.get(address)
    session = client.session
    session[SESSION] = session[SESSION] | {"at": time.time() - 3601}
    session.save()
    prolific.rotate()
    keys_forget(prolific)
    assert client.post(address).status_code == 403


def test_links_cannot_be_checked_while_the_keys_are_unavailable(prolific: Prolific, study: Study) -> None:
    prolific.down = True
    reply = Client().get(link(study, prolific.query("p1", path=path(study))))
    assert reply.status_code == 503
    assert "Reload this page in a few minutes" in reply.content.decode()


# -- plain links -----------------------------------------------------------------------------------------


@pytest.fixture
def plain(study: Study) -> Study:
    study_update(study=study, panel_links="plain")
    study.refresh_from_db()
    return study


IDS = f"PROLIFIC_PID=p1&STUDY_ID={STUDY}&SESSION_ID=s1"


def test_a_plain_link_joins_unverified(plain: Study) -> None:
    assert Client().post(link(plain, IDS)).status_code == 302
    person = plain.participations.get()
    assert (person.recruiter_id, person.recruiter_session, person.recruiter_verified) == ("p1", "s1", False)


@pytest.mark.parametrize(
    "ids",
    [IDS.replace("p1", ""), IDS.replace("s1", ""), IDS.replace(STUDY, "other"), IDS.replace("p1", "p/1")],
)
def test_an_incomplete_plain_link_is_refused(plain: Study, ids: str) -> None:
    assert Client().post(link(plain, ids)).status_code == 403
    assert not plain.participations.exists()


def test_a_known_participant_id_in_another_browser_gets_nothing(plain: Study) -> None:
    first = Client()
    first.post(link(plain, IDS))
    member = Client()
    member.force_login(make_user("kim"))
    for other in (Client(), member):
        for ids in (
            IDS,
            IDS.replace("s1", "s2"),
            IDS.replace("p1", "p2"),
        ):  # the id, and its submission under another id
            reply = other.post(link(plain, ids))
            assert reply.status_code == 403, ids
            assert "was started in another browser" in reply.content.decode()
            assert other.get(f"/study/{plain.slug}/").status_code == 404
    assert Participation.objects.count() == 1
    assert first.post(link(plain, IDS)).status_code == 302


def test_another_id_in_the_same_browser_makes_no_second_participation(plain: Study) -> None:
    client = Client()
    client.post(link(plain, IDS))
    client.post(link(plain, IDS.replace("p1", "p2").replace("s1", "s2")))
    assert plain.participations.get().recruiter_id == "p1"


def ids_of(person: str) -> str:
    return IDS.replace("p1", person).replace("s1", f"s-{person}")


def test_a_second_id_in_a_browser_is_asked_who_is_there(plain: Study) -> None:
    client = Client()
    for person in ("p1", "p2", "p3"):
        address = link(plain, ids_of(person))
        asked = client.get(address)
        if person == "p1":
            assert "Who is there?" not in asked.content.decode()
            client.post(address)
            continue
        for reply in (asked, client.post(address), client.post(address, {"who": "nonsense"})):
            assert "Who is there?" in reply.content.decode()
            assert f"<bdi>{person}</bdi>" in reply.content.decode()
        assert not plain.participations.filter(recruiter_id=person).exists(), "they have not answered yet"
        assert client.post(address, {"who": "new"})["Location"] == f"/study/{plain.slug}/"
        mine = plain.participations.get(recruiter_id=person)
        assert client.session["_auth_user_id"] == str(mine.rater.user_id)
        assert mine.join_parameters["PROLIFIC_PID"] == person
    assert sorted(plain.participations.values_list("recruiter_id", flat=True)) == ["p1", "p2", "p3"]
    assert plain.participations.values("rater").distinct().count() == 3
    assert client.post(link(plain, ids_of("p1")), {"who": "new"}).status_code == 302, "the first one is back"
    assert client.session["_auth_user_id"] == str(plain.participations.get(recruiter_id="p1").rater.user_id)
    assert Client().post(link(plain, ids_of("p1"))).status_code == 403, "in another browser"
    assert plain.participations.count() == 3


def test_the_same_person_with_another_id_goes_on_with_their_own_work(plain: Study) -> None:
    client = Client()
    client.post(link(plain, IDS))
    mine = plain.participations.get()
    address = link(plain, ids_of("p2"))
    assert f"continue as <bdi>{mine.rater.name}</bdi>" in client.get(address).content.decode()
    assert client.post(address, {"who": "me"})["Location"] == f"/study/{plain.slug}/"
    mine.refresh_from_db()
    assert (mine.recruiter_id, mine.join_parameters["PROLIFIC_PID"]) == ("p1", "p1")
    assert plain.participations.count() == 1


def test_an_id_is_asked_for_in_a_study_without_a_panel_too() -> None:
    study = make_study(items=2, launched=True, join_parameters="workerId")
    client = Client()
    client.post(link(study, "workerId=w1"))
    assert client.post(link(study, "workerId=w1")).status_code == 302
    assert "Who is there?" in client.post(link(study, "workerId=w2")).content.decode()
    assert client.post(link(study, "workerId=w2"), {"who": "new"}).status_code == 302
    kept = study.participations.order_by("id").values_list("join_parameters", flat=True)
    assert list(kept) == [{"workerId": "w1"}, {"workerId": "w2"}]


def test_a_signed_link_says_the_name_of_the_person_it_is_for(prolific: Prolific, study: Study) -> None:
    client = come(prolific, study, "p1")
    first = study.participations.get().rater.name
    shown = client.get(link(study, prolific.query("p2", path=path(study)))).content.decode()
    assert first not in shown
    assert ">Start</button>" in shown
    come(prolific, study, "p2", client)
    shown = client.get(link(study, prolific.query("p1", path=path(study)))).content.decode()
    assert f"Continue as {first}" in shown


def test_a_signed_link_takes_over_what_began_with_a_plain_one(prolific: Prolific, plain: Study) -> None:
    first = Client()
    first.post(link(plain, IDS))
    study_update(study=plain, panel_links="signed")
    second = come(prolific, plain, "p1", submission="s1")
    assert second.session["_auth_user_id"] == first.session["_auth_user_id"]
    assert plain.participations.get().recruiter_verified


# -- settings --------------------------------------------------------------------------------------------


def test_signed_links_need_the_id_of_the_study_on_prolific() -> None:
    study = make_study(items=1, launched=True)
    with pytest.raises(ValidationError, match="Enter the id of the study on Prolific"):
        study_update(study=study, panel="prolific", panel_links="signed")
    study_update(study=study, panel="prolific", panel_links="plain")
    with pytest.raises(ValidationError):
        study_update(study=study, panel="nowhere")

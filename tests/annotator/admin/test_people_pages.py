"""The page of accounts, for operators, and the page of qualifications, for the members of a workspace."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html

from annotator.models import AuditAction, AuditEntry, Qualification, Study, User, WorkspaceMember
from annotator.services.exam import exam_start, exam_submit, qualification_grant, qualification_revoke
from annotator.services.study import study_update
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
USERS, QUALIFICATIONS = "/admin/annotator/user/", "/admin/annotator/qualification/"


def words(found: Any) -> str:
    return " ".join(found.text_content().split())


def page(client: Client, address: str, **query: Any) -> Any:
    reply = client.get(address, query)
    assert reply.status_code == 200
    return html.document_fromstring(reply.content)


def lab_study(owner: User | None) -> Study:
    return make_study(by=owner, items=1, launched=True)


def rows(found: Any, *, number: int = -1) -> list[list[str]]:
    """The cells of each row of one of the page's tables, by default the last."""
    table = found.xpath("//table[contains(@class, 'fk-table')]")[number]
    return [[words(cell) for cell in row.xpath("./td|./th")] for row in table.xpath("./tbody/tr")]


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("boss", last_login=timezone.now()))
    return client


# -- accounts -------------------------------------------------------------------------------------


def test_each_account_has_its_role_its_workspaces_its_login_and_its_second_factor(boss: Client) -> None:
    rosa = make_user("rosa", staff=True, first_name="Rosa", last_name="Lux", email="rosa@example.org")
    make_user("kim")
    study = lab_study(rosa)
    assert study.workspace is not None
    Authenticator.objects.create(user=rosa, type=Authenticator.Type.TOTP, data={})
    found = {row[1].split()[0]: row for row in rows(page(boss, USERS))}
    assert found["rosa"][1] == "rosa Rosa Lux, rosa@example.org"
    assert found["rosa"][2:5] == ["Researcher", f"{study.workspace.name} owner", "on"]
    assert found["rosa"][5] == "never"
    assert (found["boss"][2], found["boss"][4]) == ("Administrator", "off")
    assert found["kim"][2:5] == ["Annotator", "", ""]
    text = words(page(boss, USERS))
    for needed in (
        "Opens every study and workspace",
        "Add a user",
        "Reset two-factor login",
        "Log out everywhere",
    ):
        assert needed in text, needed


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "ros"}, {"rosa"}),
        ({"q": "EXAMPLE.org"}, {"rosa"}),
        ({"role": "researcher"}, {"rosa"}),
        ({"role": "annotator"}, {"kim", "old"}),
        ({"role": "administrator"}, {"boss"}),
        ({"state": "inactive"}, {"old"}),
        ({"state": "no-two-factor", "role": "researcher"}, set()),
        ({"role": "nonsense"}, {"boss", "rosa", "kim", "old"}),
    ],
)
def test_accounts_are_searched_and_filtered(boss: Client, query: dict[str, str], expected: set[str]) -> None:
    rosa = make_user("rosa", staff=True, email="rosa@example.org")
    Authenticator.objects.create(user=rosa, type=Authenticator.Type.TOTP, data={})
    make_user("kim")
    make_user("old", is_active=False)
    found = page(boss, USERS, **query)
    if not expected:
        assert "No account matches." in words(found)
        return
    assert {row[1].split()[0] for row in rows(found)} == expected


def test_accounts_of_rehearsal_raters_are_left_out_and_counted(boss: Client) -> None:
    study = lab_study(None)
    synthetic = make_participation(study, make_user("robot")).rater
    synthetic.rehearsal = True
    synthetic.save()
    text = words(page(boss, USERS))
    assert "1 account of a rehearsal rater is left out." in text
    assert "robot" not in text
    assert [row[1] for row in rows(page(boss, USERS, rehearsal="yes"))] == ["robot rehearsal"]


def test_only_operators_see_the_accounts() -> None:
    researcher = Client()
    researcher.force_login(make_user("rosa", staff=True))
    assert researcher.get(USERS).status_code == 403
    assert Client().get(USERS).status_code == 302


def test_the_pages_take_as_many_queries_for_many_rows(boss: Client) -> None:
    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as made:
            page(boss, address)
        return len(made)

    study = lab_study(make_user("rosa", staff=True))

    def more(number: int) -> None:
        for _ in range(number):
            make_study(by=make_user(staff=True))
            person = make_participation(study)
            qualification_grant(rater=person.rater, hit_type="utility", workspace=study.workspace, by=None)

    more(2)
    queries(USERS), queries(QUALIFICATIONS)  # what a process looks up once
    few = queries(USERS), queries(QUALIFICATIONS)
    more(8)
    assert (queries(USERS), queries(QUALIFICATIONS)) == few


def test_accounts_are_shown_in_pages_that_keep_the_filters(boss: Client) -> None:
    User.objects.bulk_create(User(username=f"person-{n:02}") for n in range(60))
    first = page(boss, USERS, role="annotator")
    [following] = first.xpath("//p[contains(@class, 'fk-pages')]/a/@href")
    second = page(boss, f"{USERS}{following}")
    names = [row[1] for row in rows(first) + rows(second)]
    assert sorted(names) == [f"person-{n:02}" for n in range(60)]


# -- qualifications -------------------------------------------------------------------------------


@pytest.fixture
def rosa() -> User:
    return make_user("rosa", staff=True)


@pytest.fixture
def lab(client: Client, rosa: User) -> Client:
    client.force_login(rosa)
    return client


def passed(study: Study, name: str) -> Qualification:
    """A person who has passed the study's exam."""
    person = make_participation(study, make_user(name))
    attempt = exam_start(participation=person)
    golds = dict(attempt.exam.questions.values_list("key", "gold"))
    exam_submit(attempt=attempt, answers={key: golds[key] for key in attempt.drawn})
    return Qualification.objects.get(rater=person.rater)


def exam_study(rosa: User) -> Study:
    return make_study(by=rosa, exam_required=True, exam_questions=2, pass_mark=2, items=1, launched=True)


def test_nobody_holds_any(lab: Client) -> None:
    text = words(page(lab, QUALIFICATIONS))
    assert "No one holds a qualification yet." in text
    assert "grant them a qualification" in text


def test_what_it_is_granted_for_and_who_holds_it_with_counts(lab: Client, rosa: User) -> None:
    study = exam_study(rosa)
    passed(study, "ann")
    granted = qualification_grant(
        rater=make_participation(study, make_user("ben")).rater, hit_type="simulation", workspace=study.workspace, by=rosa,
        reason="a colleague",
    )  # fmt: skip
    gone = passed(study, "cy")
    qualification_revoke(qualification=gone, reason="guessing", by=rosa)
    found = page(lab, QUALIFICATIONS)
    title = "Counterfactual simulation, yes/no questions"
    assert rows(found, number=0) == [[title, str(study.workspace), "2 1 by an exam", "0", "1"]]
    people = {row[1]: row for row in rows(found)}
    assert people["ben"][2:7] == [
        title,
        "granted by rosa",
        f"{granted.granted_at:%Y-%m-%d}",
        "valid",
        "a colleague",
    ]
    assert people["ann"][3].startswith("passed exam ")
    assert people["cy"][5].startswith("revoked ")
    assert people["cy"][6] == "guessing"
    chosen = found.xpath("//input[@name='_selected_action']/@aria-label")
    assert sorted(chosen) == [f"Select ann: {title}", f"Select ben: {title}"], (
        "what is revoked can't be revoked"
    )


def test_one_of_an_exam_that_no_study_has_any_more_is_expired(lab: Client, rosa: User) -> None:
    study = exam_study(rosa)
    passed(study, "ann")
    questions = [
        {
            "key": one.key,
            "payload": one.payload,
            "gold": one.gold,
            "reason": "Another reason.",
            "pool": one.pool,
        }
        for one in Qualification.objects.get().exam.questions.all()  # type: ignore[union-attr]
    ]
    study_update(study=study, by=rosa, exam_own=questions)
    found = page(lab, QUALIFICATIONS)
    assert rows(found, number=0)[0][2:] == ["0", "1", "0"]
    assert rows(found)[0][5] == "expired"
    assert len(rows(page(lab, QUALIFICATIONS, state="expired"))) == 1
    assert "No qualification matches." in words(page(lab, QUALIFICATIONS, state="valid"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "AN"}, {"ann"}),
        ({"hit_type": "utility"}, {"ben"}),
        ({"state": "revoked"}, {"cy"}),
        ({"state": "valid"}, {"ann", "ben"}),
        ({"workspace": "999999"}, set()),
    ],
)
def test_qualifications_are_searched_and_filtered(
    lab: Client, rosa: User, query: dict[str, str], expected: set[str]
) -> None:
    study = lab_study(rosa)
    made = {}
    for name, hit_type in (("ann", "simulation"), ("ben", "utility"), ("cy", "simulation")):
        rater = make_participation(study, make_user(name)).rater
        made[name] = qualification_grant(rater=rater, hit_type=hit_type, workspace=study.workspace, by=rosa)
    qualification_revoke(qualification=made["cy"], reason="guessing", by=rosa)
    found = page(lab, QUALIFICATIONS, **query)
    assert set(found.xpath("//td[contains(@class, 'fk-name')]/a/text()")) == expected
    if not expected:
        assert "No qualification matches." in words(found)


def test_revoking_asks_for_a_reason_first(lab: Client, rosa: User) -> None:
    study = lab_study(rosa)
    rater = make_participation(study, make_user("ann")).rater
    one = qualification_grant(rater=rater, hit_type="utility", workspace=study.workspace, by=rosa)
    sent = {"action": "revoke", "_selected_action": [one.pk]}
    asked = html.document_fromstring(lab.post(QUALIFICATIONS, sent).content)
    assert "their open tasks go to other people" in words(asked)
    one.refresh_from_db()
    assert one.revoked_at is None
    reply = lab.post(QUALIFICATIONS, sent | {"sure": "1", "why": "guessing"}, follow=True)
    assert "1 qualification revoked." in reply.content.decode()
    one.refresh_from_db()
    assert one.revoked_at is not None


def test_a_viewer_sees_who_holds_one_and_can_change_nothing(rosa: User) -> None:
    study = lab_study(rosa)
    rater = make_participation(study, make_user("ann")).rater
    qualification_grant(rater=rater, hit_type="utility", workspace=study.workspace, by=rosa)
    mate = make_user("mate", staff=True)
    assert study.workspace is not None
    WorkspaceMember.objects.create(workspace=study.workspace, user=mate, role="viewer")
    client = Client()
    client.force_login(mate)
    found = page(client, QUALIFICATIONS)
    assert "ann" in words(found)
    assert not found.xpath("//input[@name='_selected_action'] | //button[@name='action']")


def test_viewing_who_holds_one_is_recorded(lab: Client, rosa: User) -> None:
    study = lab_study(rosa)
    rater = make_participation(study, make_user("ann")).rater
    qualification_grant(rater=rater, hit_type="utility", workspace=study.workspace, by=rosa)
    page(lab, QUALIFICATIONS)
    entry = AuditEntry.objects.get(action=AuditAction.PEOPLE_VIEWED)
    assert (entry.actor, entry.target, entry.workspace) == (rosa, "qualifications", study.workspace)


def test_granting_can_be_changed_before_it_is_confirmed(lab: Client, rosa: User) -> None:
    study = lab_study(rosa)
    make_participation(study, make_user("ann"))
    fields = {"workspace": study.workspace_id, "name": "ann", "hit_type": "utility", "why": "a colleague"}
    asked = html.document_fromstring(lab.post(f"{QUALIFICATIONS}add/", fields).content)
    assert "Grant this qualification to ann?" in words(asked)
    kept = dict(asked.forms[-1].fields)
    assert {name: kept[name] for name in fields} == {name: str(value) for name, value in fields.items()}
    again = html.document_fromstring(lab.post(f"{QUALIFICATIONS}add/", fields | {"change": "1"}).content)
    assert again.xpath("//input[@name='name']/@value") == ["ann"]
    assert not Qualification.objects.exists()
    reply = lab.post(f"{QUALIFICATIONS}add/", fields | {"sure": "1"}, follow=True)
    assert "Qualification granted to ann." in reply.content.decode()
    assert Qualification.objects.get().hit_type == "utility"

"""Which pages and rows of a study a researcher can open."""

from __future__ import annotations

import pytest
from django.db import connection
from django.http import Http404
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.models import Exclusion, Membership, WorkspaceMember
from annotator.selectors.study import study_get_for
from annotator.services.message import message_send
from tests.annotator.admin.study_files import GOOD, csv_file, page
from tests.factories import (
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db
PAGES = [
    ("change", ()),
    ("import", ()),
    ("import_judgments", ()),
    ("do", ("launch",)),
    ("export", ("judgments", "csv")),
]


@pytest.mark.parametrize(("name", "rest"), PAGES)
def test_another_researchers_study_is_not_found(researcher_client, name, rest):
    study = make_study(items=1, by=make_user(staff=True))
    assert researcher_client.get(page(study, name, *rest)).status_code == 404
    assert researcher_client.get(f"/preview/{study.pk}/").status_code == 404


@pytest.mark.parametrize(("name", "rest"), PAGES)
def test_annotators_and_visitors_are_redirected_to_the_login(name, rest):
    study = make_study(items=1, by=make_user(staff=True))
    annotator = Client()
    annotator.force_login(make_participation(make_study(items=1, launched=True)).rater.user)
    for client in (annotator, Client()):
        reply = client.get(page(study, name, *rest))
        assert reply.status_code == 302
        assert "/login/" in reply["Location"]


@pytest.mark.parametrize("model", ["item", "judgment", "exclusion", "message", "participation"])
def test_rows_of_another_study_are_neither_listed_nor_opened(researcher_client, model):
    other = make_study(items=1, launched=True, by=make_user(staff=True))
    person = make_participation(other)
    judgment = make_judgment(other.items.get(), make_rater("somebody"))
    exclusion = Exclusion.objects.create(study=other, judgment=judgment, reason="r")
    message = message_send(participation=person, kind="question", text="a secret question")
    rows = {
        "item": other.items.get(),
        "judgment": judgment,
        "exclusion": exclusion,
        "message": message,
        "participation": person,
    }
    assert (
        researcher_client.get(reverse(f"admin:annotator_{model}_change", args=[rows[model].pk])).status_code
        == 404
    )
    listed = researcher_client.get(reverse(f"admin:annotator_{model}_changelist"))
    if model == "message":  # its list is the inbox
        assert "a secret question" not in listed.content.decode()
    else:
        assert listed.context["cl"].result_count == 0


def test_a_viewer_sees_a_study_and_cannot_change_it(researcher):
    study = make_study(items=1, by=researcher)
    viewer = make_user(staff=True)
    Membership.objects.create(study=study, user=viewer, role="viewer")
    client = Client()
    client.force_login(viewer)
    seen = client.get(page(study))
    assert seen.status_code == 200
    assert page(study, "import") not in seen.content.decode()
    assert client.post(page(study, "do", "launch")).status_code == 404
    assert client.post(page(study, "import"), {"file": csv_file(GOOD)}).status_code == 404
    assert 'name="save"' not in seen.content.decode(), "no form that would be refused"
    assert client.post(page(study), {"title": "mine"}).status_code == 404
    study.refresh_from_db()
    assert (study.state, study.items.count()) == ("draft", 1)


@pytest.mark.parametrize(
    "query", ["rater__user__password__startswith=p", "_connector=OR", "study__researchers__password=x"]
)
def test_unknown_filters_are_refused(researcher_client, researcher, query):
    make_study(items=1, by=researcher)
    reply = researcher_client.get(reverse("admin:annotator_judgment_changelist") + "?" + query)
    assert reply.status_code in (302, 400)
    assert reply.status_code == 400 or "e=1" in reply["Location"]


@pytest.mark.parametrize(
    ("in_workspace", "in_study", "mine"),
    [("viewer", "editor", "editor"), ("owner", "viewer", "owner"), (None, "reviewer", "reviewer"), ("editor", None, "editor")],
)  # fmt: skip
def test_the_higher_of_two_roles_counts_and_each_table_is_asked_once(in_workspace, in_study, mine):
    study, user = make_study(by=make_user(staff=True)), make_user(staff=True)
    if in_workspace:
        WorkspaceMember.objects.create(workspace=study.workspace, user=user, role=in_workspace)
    if in_study:
        Membership.objects.create(study=study, user=user, role=in_study)
    with CaptureQueriesContext(connection) as queries:
        assert study_get_for(user=user, pk=study.pk).my_role == mine
    [query] = [one["sql"] for one in queries]
    assert query.count('FROM "annotator_membership"') == query.count('FROM "annotator_workspacemember"') == 1
    if mine != "owner":
        with pytest.raises(Http404):
            study_get_for(user=user, slug=study.slug, role="owner")

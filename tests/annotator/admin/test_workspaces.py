"""Workspaces in the admin: members and their roles, and what a role there means for its studies."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotator.models import Membership, Study, User, Workspace
from annotator.selectors.study import studies_for, study_role
from annotator.services.study_copy import study_duplicate
from annotator.services.workspace import (
    workspace_create,
    workspace_member_remove,
    workspace_member_set,
    workspace_personal,
    workspace_update,
)
from tests.factories import make_item, make_study, make_user

pytestmark = pytest.mark.django_db
ROLES = ["viewer", "reviewer", "editor", "owner"]


@pytest.fixture
def mate(db: None) -> User:
    return make_user("mate", staff=True)


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def members_page(workspace: Workspace) -> str:
    return reverse("admin:workspace_members", args=[workspace.pk])


def test_a_researcher_gets_a_workspace_at_the_first_login(mate: User) -> None:
    assert not Workspace.objects.exists()
    page = logged_in(mate).get(reverse("admin:annotator_workspace_changelist"))
    logged_in(mate)
    assert "mate&#x27;s workspace" in page.content.decode()
    assert Workspace.objects.get().personal_of == mate
    logged_in(make_user("annotator"))
    assert Workspace.objects.count() == 1


def test_a_workspace_is_created_gets_members_and_a_study(researcher: User, mate: User) -> None:
    client = logged_in(researcher)
    made = client.post(reverse("admin:annotator_workspace_add"), {"name": "Owl lab"})
    lab = Workspace.objects.get(name="Owl lab")
    assert made["Location"] == members_page(lab)
    client.post(members_page(lab), {"username": "mate", "role": "editor"})
    assert lab.members.get(user=mate).role == "editor"
    wrong = client.post(members_page(lab), {"username": "nobody", "role": "editor"})
    assert wrong.status_code == 400
    assert "There is no researcher with this user name" in wrong.content.decode()
    fields = {"workspace": lab.pk, "template": "simulation", "title": "Owls", "slug": "owls"}
    assert client.post(reverse("admin:annotator_study_add"), fields).status_code == 302
    study = Study.objects.get(slug="owls")
    assert study.workspace == lab
    assert study_role(user=mate, study=study) == "editor"
    client.post(members_page(lab), {"remove": mate.pk})
    assert study_role(user=mate, study=study) is None


def test_only_owners_can_change_members_and_outsiders_get_404(researcher: User, mate: User) -> None:
    lab = workspace_personal(user=researcher)
    stranger = logged_in(make_user("otto", staff=True))
    assert stranger.get(members_page(lab)).status_code == 404
    workspace_member_set(workspace=lab, username="mate", role="editor")
    editor = logged_in(mate)
    assert "rosa" in editor.get(members_page(lab)).content.decode()
    assert editor.post(members_page(lab), {"username": "otto", "role": "owner"}).status_code == 404
    assert editor.post(members_page(lab), {"remove": researcher.pk}).status_code == 404
    assert lab.members.count() == 2
    assert lab.name not in stranger.get(reverse("admin:annotator_workspace_changelist")).content.decode()


def test_a_study_cannot_be_put_into_somebody_elses_workspace(researcher: User, mate: User) -> None:
    lab = workspace_personal(user=researcher)
    workspace_member_set(workspace=lab, username="mate", role="reviewer")
    fields = {"workspace": lab.pk, "template": "simulation", "title": "Owls", "slug": "owls"}
    assert logged_in(mate).post(reverse("admin:annotator_study_add"), fields).status_code == 400
    assert not Study.objects.exists()


@pytest.mark.parametrize("role", ROLES)
def test_a_workspace_role_applies_to_each_of_its_studies(researcher: User, mate: User, role: str) -> None:
    study = make_study(by=researcher)
    workspace_member_set(workspace=study.workspace, username="mate", role=role)  # type: ignore[arg-type]
    assert study_role(user=mate, study=study) == role
    reached = [one for one in ROLES if studies_for(user=mate, role=one).exists()]
    assert reached == ROLES[: ROLES.index(role) + 1]


def test_a_study_role_can_extend_but_not_limit_the_workspace_role(researcher: User, mate: User) -> None:
    first, second = make_study(by=researcher), make_study(by=researcher)
    workspace_member_set(workspace=first.workspace, username="mate", role="reviewer")  # type: ignore[arg-type]
    Membership.objects.create(study=first, user=mate, role="owner")
    Membership.objects.create(study=second, user=mate, role="viewer")
    assert (study_role(user=mate, study=first), study_role(user=mate, study=second)) == ("owner", "reviewer")


def test_a_workspace_keeps_an_owner(researcher: User, mate: User) -> None:
    lab = workspace_personal(user=researcher)
    for change in (
        lambda: workspace_member_set(workspace=lab, username="rosa", role="viewer"),
        lambda: workspace_member_remove(workspace=lab, user_pk=researcher.pk),
    ):
        with pytest.raises(ValidationError, match="needs an owner"):
            change()
    page = logged_in(researcher).post(members_page(lab), {"remove": researcher.pk}, follow=True)
    assert "needs an owner" in page.content.decode()
    workspace_member_set(workspace=lab, username="mate", role="owner")
    workspace_member_remove(workspace=lab, user_pk=researcher.pk)
    assert lab.members.get().user == mate


def test_a_copy_by_an_outsider_has_no_material_and_no_members(researcher: User, mate: User) -> None:
    study = make_study(by=researcher, slug="owls")
    make_item(study)
    Membership.objects.create(study=study, user=mate, role="viewer")
    with pytest.raises(ValidationError, match="Copy the settings only"):
        study_duplicate(study=study, by=mate, slug="copy", title="Copy", material=True)
    copy = study_duplicate(study=study, by=mate, slug="copy", title="Copy", material=False)
    assert copy.workspace == mate.personal_workspace
    own = study_duplicate(study=study, by=researcher, slug="own", title="Own", material=True)
    assert (own.workspace, own.items.count()) == (study.workspace, 1)


def test_an_owner_sets_the_rules_of_a_workspace(researcher: User, mate: User) -> None:
    lab = workspace_personal(user=researcher)
    workspace_member_set(workspace=lab, username="mate", role="editor")
    changed = {"settings": "1", "name": "Owl lab", "second_factor_required": "1", "model_budget": "250.50"}
    assert logged_in(mate).post(members_page(lab), changed).status_code in (302, 404)
    lab.refresh_from_db()
    assert (lab.name, lab.second_factor_required) != ("Owl lab", True), "an editor doesn't"
    assert logged_in(researcher).post(members_page(lab), changed).status_code == 302
    lab.refresh_from_db()
    assert (lab.name, lab.second_factor_required, str(lab.model_budget)) == ("Owl lab", True, "250.50")


@pytest.mark.parametrize("budget", ["-1", "1e30", "NaN", "10000000000", "x"])
def test_an_impossible_budget_is_refused(researcher: User, budget: str) -> None:
    lab = workspace_personal(user=researcher)
    changed = {"settings": "1", "name": lab.name, "model_budget": budget}
    reply = logged_in(researcher).post(members_page(lab), changed)
    assert reply.status_code == 400
    lab.refresh_from_db()
    assert lab.model_budget is None


def test_only_an_empty_workspace_is_deleted(researcher: User, study: Study) -> None:
    client = logged_in(researcher)
    own = workspace_personal(user=researcher)
    assert "own workspace" in client.post(members_page(own), {"delete": "1"}, follow=True).content.decode()
    client.post(reverse("admin:annotator_workspace_add"), {"name": "Owl lab"})
    lab = Workspace.objects.get(name="Owl lab")
    fields = {"workspace": lab.pk, "template": "simulation", "title": "Owls", "slug": "in-the-lab"}
    client.post(reverse("admin:annotator_study_add"), fields)
    page = client.post(members_page(lab), {"delete": "1"}, follow=True).content.decode()
    assert "It still owns 1 studies" in page
    Study.objects.get(slug="in-the-lab").delete()
    client.post(members_page(lab), {"delete": "1"})
    assert not Workspace.objects.filter(pk=lab.pk).exists()


def test_an_operator_limits_a_workspace_and_its_owner_sees_it(
    researcher: User, mate: User, admin_user: User
) -> None:
    lab = workspace_personal(user=researcher)
    workspace_member_set(workspace=lab, username="mate", role="viewer")
    limits = {"limits": "1", "calls_at_once": "8", "jobs_at_once": "1", "storage_megabytes": "5"}
    assert logged_in(researcher).post(members_page(lab), limits).status_code == 403, "an owner can't lift it"
    lab.refresh_from_db()
    assert lab.calls_at_once is None
    operator = logged_in(admin_user)
    for wrong in ({"jobs_at_once": "0"}, {"calls_at_once": "-1"}, {"storage_megabytes": "x"}):
        assert operator.post(members_page(lab), limits | wrong).status_code == 400
    assert operator.post(members_page(lab), limits).status_code == 302
    lab.refresh_from_db()
    assert (lab.calls_at_once, lab.jobs_at_once, lab.storage_megabytes) == (8, 1, 5)
    page = logged_in(researcher).get(members_page(lab)).content.decode()
    assert "of 5.0\xa0MB" in page
    assert "Set limits" not in page
    assert "Use of the server" not in logged_in(mate).get(members_page(lab)).content.decode()
    assert operator.post(members_page(lab), {"limits": "1"}).status_code == 302
    lab.refresh_from_db()
    assert (lab.calls_at_once, lab.jobs_at_once, lab.storage_megabytes) == (None, None, None)


@pytest.mark.parametrize("name", ["Lab\x1b[2J", "Lab \u202ebal", "Lab \u2066x", "Lab\u2028"])
def test_a_name_with_a_control_character_is_refused(researcher: User, name: str) -> None:
    with pytest.raises(ValidationError, match="Contains the control character U"):
        workspace_create(by=researcher, name=name)
    lab = workspace_create(by=researcher, name="معمل العلوم")
    with pytest.raises(ValidationError, match="Contains the control character U"):
        workspace_update(workspace=lab, by=researcher, name=name)

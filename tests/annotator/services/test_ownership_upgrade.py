"""The upgrade puts existing objects into workspaces: nobody gets new access, and everybody who could work still can."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from annotator.models import Dataset, Membership, Qualification, Study, System, User, Workspace
from annotator.selectors.participation import participation_step
from annotator.selectors.study import studies_for
from annotator.services.exam import qualification_grant
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


class Editor:
    """What a migration's function is given."""

    connection = connection


def upgrade() -> None:
    import_module("annotator.migrations._ownership").workspaces_fill(apps, Editor())
    import_module("evaluation.migrations.0007_workspace").workspaces_fill(apps, Editor())


def before(by: User | None = None, **fields: Any) -> Study:
    """A study as an earlier version made it."""
    study = make_study(**fields)
    if by is not None:
        Membership.objects.create(study=study, user=by, role="owner")
    return study


def test_the_upgrade_makes_a_workspace_for_each_set_of_owners() -> None:
    ada, bob, cy = (make_user(name, staff=True) for name in ("ada", "bob", "cy"))
    alone, together, again, theirs = before(ada), before(ada), before(ada), before(bob)
    for study in (together, again):
        Membership.objects.create(study=study, user=bob, role="owner")
    Membership.objects.create(study=alone, user=cy, role="viewer")
    seen = {user: set(studies_for(user=user)) for user in (ada, bob, cy)}
    upgrade()
    for study in (alone, together, again, theirs):
        study.refresh_from_db()
    assert {user: set(studies_for(user=user)) for user in (ada, bob, cy)} == seen
    assert alone.workspace == ada.personal_workspace
    assert together.workspace == again.workspace
    assert together.workspace not in (alone.workspace, theirs.workspace)
    assert cy.personal_workspace, "everybody who works here has one"
    count = Workspace.objects.count()
    upgrade()
    assert Workspace.objects.count() == count


def test_the_upgrade_splits_a_system_shared_by_two_labs() -> None:
    ada, bob = make_user("ada", staff=True), make_user("bob", staff=True)
    items = [make_item(before(by), system="robot") for by in (ada, bob)]
    System.objects.update(model="gpt")
    upgrade()
    for item, user in zip(items, (ada, bob), strict=True):
        item.refresh_from_db()
        assert item.explanation is not None
        assert item.follow_up is not None
        system = item.explanation.system
        assert (system.workspace, system.name, system.model) == (user.personal_workspace, "robot", "gpt")
        assert item.follow_up.outputs.get().system == system
    assert Dataset.objects.filter(workspace__isnull=True).count() == 0


def test_the_upgrade_keeps_qualifications_in_both_labs() -> None:
    ada, bob = make_user("ada", staff=True), make_user("bob", staff=True)
    person = make_user("ann")
    rules: dict[str, Any] = {"exam_required": True, "items": 1, "launched": True}
    here, there = (make_participation(before(by, **rules), person) for by in (ada, bob))
    qualification_grant(rater=here.rater, hit_type="simulation", workspace=None, by=ada, reason="our secret")
    upgrade()
    for one in (here, there):
        one.refresh_from_db()
        assert participation_step(one) == "tasks"
    theirs = Qualification.objects.get(workspace=bob.personal_workspace)
    assert (theirs.granted_by, "secret" in theirs.reason) == (None, False)

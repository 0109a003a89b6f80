"""Two labs on one server that use the same names and share an annotator: neither affects the other."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotator.core.errors import Refused
from annotator.models import Dataset, Qualification, Study, System, User
from annotator.selectors.participation import participation_step
from annotator.selectors.qualification import requirement_choices
from annotator.services.exam import exam_start, exam_submit, qualification_grant
from annotator.services.imports.material_import import material_import
from annotator.services.participation import participation_join
from annotator.services.study import study_create, study_update
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
ROW = {
    "question": "Can owls swim?",
    "explanation": "Owls are birds, and birds do not swim.",
    "answer": "no",
    "follow_up": "Can penguins swim?",
    "real_output": "yes",
    "system": "gpt",
    "key": "owl-1",
}


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def bob(db: None) -> User:
    return make_user("bob", staff=True)


def bring(study: Study, **changes: Any) -> None:
    file = io.BytesIO((json.dumps(ROW | changes) + "\n").encode())
    material_import(study=study, file=file, name="m.jsonl")


def draft(by: User, slug: str) -> Study:
    return study_create(by=by, hit_type="toy", slug=slug, title=slug)


def system_of(study: Study) -> System:
    item = study.items.select_related("explanation__system").first()
    assert item is not None
    assert item.explanation is not None
    return item.explanation.system


# -- systems and datasets --------------------------------------------------------------------------------


def test_an_import_cannot_change_a_system_of_another_lab(ada: User, bob: User) -> None:
    theirs = draft(ada, "theirs")
    bring(theirs)
    bring(draft(bob, "mine"), model="planted", method="forced")
    found = system_of(theirs)
    assert (found.name, found.model, found.method) == ("gpt", "", "")


def test_an_import_can_use_a_name_that_another_lab_uses(ada: User, bob: User) -> None:
    bring(draft(ada, "theirs"), model="a")
    mine = draft(bob, "mine")
    bring(mine, model="b")
    assert system_of(mine).model == "b"


def test_another_labs_dataset_with_the_same_name_is_unchanged(ada: User, bob: User) -> None:
    theirs = draft(ada, "theirs")
    bring(theirs)
    Dataset.objects.update(name="mine")
    bring(draft(bob, "mine"), question="Can I see yours?")
    assert [one.instances.count() for one in Dataset.objects.order_by("pk")] == [1, 1]


def test_two_studies_of_one_lab_share_a_system(ada: User) -> None:
    first, second = draft(ada, "first"), draft(ada, "second")
    bring(first)
    bring(second, model="gpt-4")
    assert system_of(first).pk == system_of(second).pk


# -- qualifications --------------------------------------------------------------------------------------


@pytest.fixture
def shared(ada: User, bob: User) -> tuple[Study, Study, User]:
    """A study of each lab with an exam, and a person who takes part in both."""
    rules: dict[str, Any] = {"exam_required": True, "items": 1, "launched": True}
    return make_study(by=ada, **rules), make_study(by=bob, **rules), make_user("ann")


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_another_labs_qualifications_cannot_be_read_or_revoked(
    shared: tuple[Study, Study, User], ada: User, bob: User
) -> None:
    first, second, ann = shared
    rater = make_participation(first, ann).rater
    make_participation(second, ann)
    granted = qualification_grant(
        rater=rater, hit_type="simulation", by=ada, reason="our secret", workspace=first.workspace
    )
    client = logged_in(bob)
    page = client.get(reverse("admin:annotator_qualification_changelist"))
    assert "our secret" not in page.content.decode()
    assert client.get(reverse("admin:annotator_qualification_change", args=[granted.pk])).status_code == 404
    client.post(
        reverse("admin:annotator_qualification_changelist"),
        {"action": "revoke", "_selected_action": [granted.pk], "sure": "1", "why": "spite"},
    )
    granted.refresh_from_db()
    assert granted.revoked_at is None
    shown = logged_in(ada).get(reverse("admin:annotator_qualification_changelist"))
    assert "our secret" in shown.content.decode()


def test_a_grant_does_not_count_in_another_labs_study(shared: tuple[Study, Study, User], ada: User) -> None:
    first, second, ann = shared
    here, there = make_participation(first, ann), make_participation(second, ann)
    qualification_grant(rater=here.rater, hit_type="simulation", by=ada, workspace=first.workspace)
    assert participation_step(here) == "tasks"
    assert participation_step(there) == "exam"


def test_a_passed_exam_counts_in_its_own_lab_only(shared: tuple[Study, Study, User]) -> None:
    first, second, ann = shared
    here, there = make_participation(first, ann), make_participation(second, ann)
    attempt = exam_start(participation=here)
    golds = dict(attempt.exam.questions.values_list("key", "gold"))
    exam_submit(attempt=attempt, answers={key: golds[key] for key in attempt.drawn})
    assert participation_step(here) == "tasks"
    assert participation_step(there) == "exam"
    assert Qualification.objects.get().workspace == first.workspace


def test_a_study_requires_qualifications_of_its_own_lab(
    shared: tuple[Study, Study, User], ada: User, bob: User
) -> None:
    first, _, ann = shared
    rater = make_participation(first, ann).rater
    qualification_grant(rater=rater, hit_type="utility", by=ada, workspace=first.workspace)
    theirs = make_study(by=bob, requires=["utility"], items=1, launched=True)
    with pytest.raises(Refused):
        participation_join(study=theirs, user=ann)
    mine = make_study(by=ada, requires=["utility"], items=1, launched=True)
    assert participation_join(study=mine, user=ann)


def test_another_labs_exam_versions_are_not_offered_as_requirements(
    shared: tuple[Study, Study, User],
) -> None:
    first, _, ann = shared
    attempt = exam_start(participation=make_participation(first, ann))
    golds = dict(attempt.exam.questions.values_list("key", "gold"))
    exam_submit(attempt=attempt, answers={key: golds[key] for key in attempt.drawn})
    version = f"simulation@{attempt.exam.digest[:8]}"
    assert version in dict(requirement_choices(workspace_id=first.workspace_id))
    empty = draft(make_user("cy", staff=True), "empty")
    assert version not in dict(requirement_choices(workspace_id=empty.workspace_id))
    with pytest.raises(ValidationError, match="no such qualification"):
        study_update(study=empty, requires=[version])


def test_a_grant_needs_an_editor_of_the_lab(shared: tuple[Study, Study, User], ada: User, bob: User) -> None:
    first, _, ann = shared
    make_participation(first, ann)
    fields = {
        "name": "ann",
        "hit_type": "utility",
        "why": "because",
        "workspace": first.workspace_id,
        "sure": "1",
    }
    logged_in(bob).post(reverse("admin:annotator_qualification_add"), fields)
    assert not Qualification.objects.exists()
    logged_in(ada).post(reverse("admin:annotator_qualification_add"), fields)
    assert Qualification.objects.get().workspace == first.workspace

"""Forms whose rows are stored by a service: validation writes nothing, saving stores the row once."""

from __future__ import annotations

from typing import Any

import pytest
from django.forms import modelform_factory

from annotator.admin.records import ExclusionForm
from annotator.forms.people import GrantForm
from annotator.forms.service import ServiceForm
from annotator.forms.study import NewStudyForm
from annotator.forms.workspace import NewWorkspaceForm
from annotator.models import AuditEntry, Exclusion, Qualification, Rater, Study, User, Workspace
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


def bound(kind: type[ServiceForm], by: User, data: dict[str, Any]) -> ServiceForm:
    """The form as Django's admin makes it."""
    form: Any = modelform_factory(kind._meta.model, form=kind, fields=kind._meta.fields)
    form.by = by
    return form(data)


def new_study(by: User, _: Study, __: Rater) -> ServiceForm:
    return NewStudyForm({"template": "simulation", "title": "Hens"}, by=by)


def new_workspace(by: User, _: Study, __: Rater) -> ServiceForm:
    return bound(NewWorkspaceForm, by, {"name": "Hens"})


def grant(by: User, study: Study, rater: Rater) -> ServiceForm:
    data = {"workspace": study.workspace_id, "name": rater.name, "hit_type": "simulation", "why": "knows it"}
    return bound(GrantForm, by, data)


def exclusion(by: User, study: Study, rater: Rater) -> ServiceForm:
    return bound(ExclusionForm, by, {"study": study.pk, "rater": rater.pk, "reason": "too fast"})


FORMS = [(new_study, Study), (new_workspace, Workspace), (grant, Qualification), (exclusion, Exclusion)]


@pytest.mark.parametrize(("make", "model"), FORMS)
def test_validation_writes_nothing_and_saving_stores_the_row_once(
    researcher: User, make: Any, model: Any
) -> None:
    study = make_study(by=researcher, items=1, launched=True)
    rater = make_participation(study, make_user("ann")).rater
    form = make(researcher, study, rater)
    rows, entries = set(model.objects.all()), AuditEntry.objects.count()
    assert form.is_valid(), form.errors
    assert set(model.objects.all()) == rows
    assert AuditEntry.objects.count() == entries
    saved = form.save(commit=False)
    assert set(model.objects.all()) - rows == {saved}
    assert AuditEntry.objects.count() > entries


def test_an_error_of_the_service_is_shown_at_its_field(researcher: User) -> None:
    study = make_study(by=researcher, items=1, launched=True)
    form = exclusion(
        researcher, study, make_participation(make_study(items=1, launched=True), make_user("bob")).rater
    )
    assert not form.is_valid()
    assert "has not taken part" in str(form.errors["rater"])
    assert not Exclusion.objects.exists()

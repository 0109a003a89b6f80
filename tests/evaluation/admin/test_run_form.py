"""The form of a new run asks only for what applies; the list of recipes names those that ship."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import User
from annotator.services.workspace import workspace_personal
from evaluation.forms.runs import run_fields
from evaluation.models import Endpoint
from evaluation.pipelines.material import MaterialStep
from evaluation.pipelines.recipe import recipe_names
from evaluation.pipelines.steps.simulate import SimulateStudy
from tests.factories import make_user

pytestmark = pytest.mark.django_db
OF_STEPS, OF_SIMULATORS = MaterialStep.run_fields, SimulateStudy.run_fields


@pytest.fixture
def boss() -> User:
    return make_user("boss", staff=True, is_superuser=True)


def add_endpoint(boss: User, name: str) -> int:
    own = workspace_personal(user=boss)
    return Endpoint.objects.create(workspace=own, name=name, base_url="http://127.0.0.1:9", model="m").pk


def asked(client: Client, kind: str) -> list[str]:
    """The names of the form's fields, in the order of the page."""
    page = client.get(reverse("admin:evaluation_run_add"), {"kind": kind}).content.decode()
    names = re.findall(r'<(?:input|select|textarea)[^>]*\sname="([a-z_]+)"', page)
    return [name for name in dict.fromkeys(names) if not name.startswith(("csrf", "_"))]


@pytest.mark.parametrize(
    ("kind", "missing", "present"),
    [("simulate", OF_STEPS, OF_SIMULATORS), ("explain", OF_SIMULATORS, OF_STEPS)],
)
def test_a_new_run_is_asked_for_what_its_kind_needs(
    boss: User, client: Client, kind: str, missing: tuple[str, ...], present: tuple[str, ...]
) -> None:
    client.force_login(boss)
    names = asked(client, kind)
    assert set(present) <= set(names)
    assert not set(missing) & set(names)


def test_json_is_asked_last(boss: User, client: Client) -> None:
    client.force_login(boss)
    names = [name for name in asked(client, "explain") if name in run_fields("explain")]
    assert names[-2:] == ["parameters", "options"]


def test_the_only_endpoint_is_chosen(boss: User, client: Client) -> None:
    client.force_login(boss)
    only = add_endpoint(boss, "first")
    address = reverse("admin:evaluation_run_add")
    chosen = rf'<option value="{only}"\s+selected'
    assert re.search(chosen, client.get(address).content.decode())
    add_endpoint(boss, "second")
    assert not re.search(chosen, client.get(address).content.decode())


def test_recipes_that_ship_are_listed_and_start_a_pipeline(boss: User, client: Client) -> None:
    client.force_login(boss)
    page = client.get(reverse("admin:evaluation_recipe_changelist")).content.decode()
    for name in recipe_names():
        start = f"{reverse('admin:evaluation_pipeline_add')}?recipe={name}"
        assert f'href="{start}"' in page
        assert re.search(rf'<option value="{name}"\s+selected', client.get(start).content.decode()), name

"""Whatever researchers can do on pages, the API can do, or docs/api.md says why not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from annotator.admin.study_pages.actions import ACTIONS
from evaluation.models import Endpoint
from foretell import env
from tests.contracts.pages_and_api import ONLY_ON_PAGES, SAME_IN_API
from tests.factories import make_study, make_user

#: Where researchers' pages are.
PAGES = re.compile(r"^(admin/annotator/|admin/evaluation/|studies/|reports/|releases/)")


def patterns(found: list[Any], before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for one in found:
        path = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from patterns(one.url_patterns, path)
        else:
            yield path, one


def layers(view: Callable[..., Any]) -> Iterator[Any]:
    """A view and what its decorators wrap."""
    found: Any = view
    while found is not None:
        yield found
        found = getattr(found, "__wrapped__", None) or getattr(found, "func", None)


def takes_post(view: Callable[..., Any]) -> bool:
    """Whether a view does something on POST: by its list of methods if it has one, else by its code."""
    found = list(layers(view))
    for one in found:
        code = getattr(inspect.unwrap(one, stop=lambda _: True), "__closure__", None)
        names = getattr(getattr(one, "__code__", None), "co_freevars", ())
        held = dict(zip(names, code or (), strict=False))
        if "request_method_list" in held:
            return "POST" in held["request_method_list"].cell_contents
    return any("POST" in inspect.getsource(one) for one in found if inspect.isroutine(one))


def of_pages() -> Iterator[str]:
    """Actions of pages with an address of their own; those of ``do/<name>/`` one by one."""
    several = {"annotator_study_do": [action.name for action in ACTIONS]}
    for model, model_admin in admin.site._registry.items():
        if hasattr(model_admin, "row_actions"):
            several[f"{model._meta.app_label}_{model._meta.model_name}_do"] = list(model_admin.row_actions)
    for path, one in patterns(get_resolver().url_patterns):
        module = getattr(list(layers(one.callback))[-1], "__module__", "")
        inherited = re.search(r"_(changelist|add|change|delete|history)$", one.name or "") and (
            module.startswith(("django.", "unfold."))
            or path.endswith(("/add/", "/change/"))
            or (one.name or "").endswith("_changelist")
        )
        if not PAGES.match(path) or not one.name or inherited or not takes_post(one.callback):
            continue
        yield from (f"{one.name}:{name}" for name in several[one.name]) if one.name in several else [one.name]


def of_models() -> Iterator[str]:
    """What the admin's own forms and lists let a researcher do with rows, who owns one of each kind."""
    user = make_user("rosa", staff=True)
    study = make_study(by=user)
    endpoint = Endpoint.objects.create(
        name="e", base_url="http://127.0.0.1:1/v1", model="m", workspace=study.workspace
    )
    request = RequestFactory().get("/")
    request.user = user
    for model, model_admin in admin.site._registry.items():
        name = str(model._meta.model_name)
        row = endpoint if model is Endpoint else None
        if not model_admin.has_module_permission(request) and not model_admin.has_view_permission(
            request, row
        ):
            continue
        if model_admin.has_add_permission(request):
            yield f"{name}:add"
        if model_admin.has_change_permission(request, row):
            yield f"{name}:change"
        if model_admin.has_delete_permission(request, row):
            yield f"{name}:delete"
        yield from (f"{name}:{action}" for action in model_admin.actions or ())


@pytest.mark.django_db
def test_every_action_of_a_page_is_in_the_api_or_has_a_reason() -> None:
    found = {*of_pages(), *of_models()}
    assert len(found) > 60
    excused = [action for _, actions in ONLY_ON_PAGES.values() for action in actions]
    assert len(excused) == len(set(excused))
    assert sorted(found - {*SAME_IN_API, *excused}) == [], (
        "add operations to the API, or reasons to ONLY_ON_PAGES"
    )
    assert sorted({*SAME_IN_API, *excused} - found) == [], "no page does this any more"
    assert {*SAME_IN_API} & {*excused} == set()


def test_the_operations_are_there() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    there = {
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, item in schema["paths"].items()
        for method in item
    }
    assert {one for operations in SAME_IN_API.values() for one in operations} - there == set()


def test_the_documentation_names_what_only_pages_can_do() -> None:
    text = (env.ROOT / "docs/api.md").read_text("utf-8")
    listed = re.findall(r"^\| ([^|`]+) \| ([^|]+) \|$", text.partition("## Only on pages")[2], re.MULTILINE)
    wanted = [(what, why) for what, (why, _) in ONLY_ON_PAGES.items()]
    assert listed[1:] == wanted, "docs/api.md, Only on pages"

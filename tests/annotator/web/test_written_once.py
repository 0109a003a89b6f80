"""Cached renderings and prepared queries give the same results as fresh ones."""

import django
import psycopg
import pytest
from django.db import OperationalError, connection
from django.template import Context, Engine, TemplateSyntaxError
from django.template.loader import render_to_string
from django.templatetags.i18n import TranslateNode
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import translation

from annotator.core.prepared import Prepared
from annotator.hit_types.base import Block, Field, Option, Stage
from annotator.models import Assignment
from annotator.services.assignment import assignment_next
from annotator.web.addresses import study_url, task_url
from annotator.web.task_form import task_form
from annotator.web.templatetags import screens
from tests.databases import address
from tests.factories import make_participation, make_study

MENUS = [
    {"mode": "task", "flag_url": "/a?b=1&c='", "ask_url": "/ask/", "skip_url": "/skip/", "csrf_token": "one"},
    {"mode": "task", "flag_url": "/other/", "ask_url": "/ask/2", "skip_url": "/skip/", "csrf_token": "two"},
    {"mode": "task", "more_time_url": "/more/", "csrf_token": "two"},
    {"mode": "preview"},
]


def rendered(text, **context):
    return Engine.get_default().from_string("{% load screens %}" + text).render(Context(context))


@pytest.mark.parametrize("context", MENUS)
def test_the_menu_is_the_same_as_its_template(context):
    assert rendered("{% menu %}", **context) == render_to_string("annotator/_menu.html", context)


def test_a_cached_question_is_rendered_for_each_of_its_states():
    options = (Option("y", "Yes & <more>"), Option("n", "No"))
    stage = Stage("only", "Guess", (), (Field("q", "Sure?", options=options),))
    for response, errors in [({}, {}), ({"q": "y"}, {}), ({"q": "n"}, {}), ({}, {"q": "choose one"})]:
        (one,) = task_form(stage, response, errors).asked
        plain = render_to_string("components/asked.html", {"one": one})
        assert rendered("{% question one %}", one=one) == plain
        assert ("checked" in plain) == bool(response)


def test_typed_text_is_never_cached():
    stage = Stage("only", "Say", (), (Field("why", "Why?", kind="text"),))
    for response, errors in [({"why": "a secret"}, {}), ({}, {"why": "'a secret' is too long"})]:
        before = screens._asked_cached.cache_info()
        (one,) = task_form(stage, response, errors).asked
        assert rendered("{% question one %}", one=one) == screens.question_rendered(one)
        assert screens._asked_cached.cache_info() == before


BLOCKS = (
    Block("question", "Question", "Can owls <fly>?"),
    Block("notes", "Notes", "**No** `x`", format="markdown"),
    Block("options", "Options", items=("A. Yes", "B. No"), kind="options"),
)


def test_material_is_the_same_as_its_template_in_every_place():
    for block in BLOCKS:
        for level, prefix in [(2, ""), (4, "q3-")]:
            plain = render_to_string(
                "components/block.html", {"block": block, "level": level, "prefix": prefix}
            )
            for _ in range(2):  # rendered, then kept
                assert (
                    rendered("{% material block level prefix %}", block=block, level=level, prefix=prefix)
                    == plain
                )


def test_material_with_an_image_is_never_cached():
    before = screens._material_cached.cache_info()
    block = Block("picture", "Picture", "![An owl](owl.png)", format="image")
    assert "An owl" in rendered("{% material block %}", block=block)
    assert screens._material_cached.cache_info() == before


def test_a_claimed_task_is_the_same_as_the_stored_one(db):
    study = make_study(items=3, launched=True)
    participation = make_participation(study)
    given = assignment_next(participation=participation)
    stored = Assignment.objects.select_related("item", "place").get(pk=given.pk)
    for one, other in [(given, stored), (given.item, stored.item), (given.place, stored.place)]:
        loaded = [f.attname for f in one._meta.concrete_fields if f.attname not in one.get_deferred_fields()]
        assert [getattr(one, name) for name in loaded] == [getattr(other, name) for name in loaded]
    assert not given.get_deferred_fields()
    assert given.item.gold == stored.item.gold  # a column that the claim doesn't return


@pytest.mark.django_db(transaction=True)
def test_the_first_query_of_a_request_finds_out_that_the_connection_was_lost():
    """Without a statement of its own, unlike Django's check."""
    study = make_study(items=1, launched=True)
    pk = assignment_next(participation=make_participation(study)).pk
    found = Prepared(lambda pk: Assignment.objects.filter(pk=pk), -1)
    for lost in (False, True):
        assert found.first(pk)
        if lost:
            with psycopg.connect(address(connection.settings_dict["NAME"]), autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(%s, 60000)", [connection.connection.info.backend_pid]
                )
        connection.health_check_enabled, connection.health_check_done = True, False  # as a request begins
        with CaptureQueriesContext(connection) as queries:
            assert found.first(pk).pk == pk
        assert lost or len(queries) == 1
    assert connection.health_check_done


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_is_lost_later_in_a_request_is_an_error():
    found = Prepared(lambda pk: Assignment.objects.filter(pk=pk), -1)
    found.first(0)
    connection.health_check_enabled, connection.health_check_done = True, True
    with psycopg.connect(address(connection.settings_dict["NAME"]), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 60000)", [connection.connection.info.backend_pid])
    with pytest.raises(OperationalError):
        found.first(0)
    connection.close()


def test_the_installed_django_is_among_the_checked_versions():
    """Django has moved on: compare what ``core.prepared`` and ``constant_parts`` use with its new code, run this file, then change the version."""
    assert django.VERSION[:2] == (5, 2)


def test_only_components_with_constant_arguments_are_rendered_once():
    text = '{% for name in names %}{% include "components/icon.html" with name=name only %}{% endfor %}'
    check, flag = (rendered(text, names=[name]) for name in ("check", "flag"))
    assert check != flag
    assert rendered(text, names=["check", "flag"]) == check + flag
    constant = '{% for name in names %}{% include "components/icon.html" with name="flag" only %}{% endfor %}'
    assert rendered(constant, names=["check", "flag"]) == flag + flag


def test_a_passage_is_rendered_once_for_each_language(monkeypatch):
    constant = (
        '{% load i18n static %}{% per_language %}<p title="{% translate "Instructions" %}">{# why #}'
        '{% include "components/icon.html" with name="flag" only %}{% static "js/find.js" %}</p>{% endper_language %}'
    )
    plain = constant.replace("{% per_language %}", "").replace("{% endper_language %}", "")
    template = Engine.get_default().from_string(constant)
    expected = {}
    for language in ("en", "de", "ar"):
        with translation.override(language):
            expected[language] = rendered(plain)
    assert len(set(expected.values())) == 3
    times = []
    render = TranslateNode.render
    monkeypatch.setattr(TranslateNode, "render", lambda *given: times.append(1) or render(*given))
    for language in ("en", "de", "ar", "de", "en"):
        with translation.override(language):
            assert template.render(Context()) == expected[language]
    assert len(times) == 3


@pytest.mark.parametrize(
    "inside",
    [
        "{{ name }}",
        "{% if name %}yes{% endif %}",
        "{% csrf_token %}",
        "{% translate name %}",
        '{% translate "Undo" as word %}',
        '{% include "components/icon.html" with name=name only %}',
        '{% include "annotator/_find.html" %}',
        "{% static name %}",
    ],
)
def test_a_passage_that_differs_between_pages_is_refused(inside):
    with pytest.raises(TemplateSyntaxError, match=r"can't be used in"):
        rendered("{% load i18n static %}{% per_language %}" + inside + "{% endper_language %}")


def test_addresses_are_those_of_reverse():
    for name in ("submit", "draft", "flag", "ask", "skip", "more_time", "undo"):
        assert task_url(name, 17) == reverse(f"annotator:{name}", args=[17])
    for name in ("instructions_drawer", "leave", "instructions_confirm"):
        assert study_url(name, "owls") == reverse(f"annotator:{name}", args=["owls"])


def test_a_prepared_query_returns_the_same_rows_as_its_queryset(db):
    def query(pk, state):
        return (
            Assignment.objects.select_related("participation__study", "item", "place", "rater")
            .defer("participation__study__consent_text")
            .filter(pk=pk, state=state)
        )

    found = Prepared(query, -1, "some state")
    for number in (1, 2, 3):  # planned anew, then kept
        study = make_study(items=number, launched=True)
        pk = assignment_next(participation=make_participation(study)).pk
        one, other = found.first(pk, "leased"), query(pk, "leased").get()
        assert vars(one).keys() == vars(other).keys()
        for path in ("", "item", "place", "rater", "participation", "participation.study"):
            a, b = one, other
            for name in filter(None, path.split(".")):
                a, b = getattr(a, name), getattr(b, name)
            own = [field.attname for field in a._meta.concrete_fields]
            assert [getattr(a, name) for name in own] == [getattr(b, name) for name in own]
        assert found.first(pk, "submitted") is None
    Assignment.objects.filter(pk=pk).update(state="returned")
    study.places.update(assignment=None)
    assert not hasattr(found.first(pk, "returned"), "place")

"""Every setting of a study, wherever it's used; and a new setting, which is declared in one place."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec
from io import StringIO
from types import ModuleType
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import DataError, IntegrityError, connection, models, transaction
from django.test import Client
from django.urls import reverse

from annotator.api.serializers import StudySerializer
from annotator.core.canonical import digest_of
from annotator.core.ranges import InRange
from annotator.forms.study import StudyForm
from annotator.models import Change, SettingGroup, Study, User, limits_of, settings_of
from annotator.models.setting import range_constraints, setting
from annotator.services.study import launch_faults, study_launch, study_update
from annotator.services.study_copy import study_duplicate
from evaluation.releases.tables import TABLES
from tests.annotator.demo_studies import TYPES, demo_study
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db

SETTINGS = settings_of(Study)
LIMITS = {name: limits for name in SETTINGS if (limits := limits_of(Study, name))}
#: Settings without a place on the settings page: set when the study is made, or on a page of their own.
ELSEWHERE = {"slug", "hit_type", "variant", "exam_own", "practice_own", "translations"}
#: What a snapshot contained before settings were declared: the digests of existing studies depend on it.
SNAPSHOT = {
    "title", "hit_type", "variant", "summary", "contact", "redundancy", "seed", "lease_minutes", "max_items_per_rater",
    "one_condition_per_instance", "consent_text", "practice_required", "exam_required", "exam_questions", "pass_mark",
    "exam_attempts", "exam_wait_minutes", "exam_feedback", "exam_key_early", "revoked_work", "erasure_policy",
    "retention_days", "requires", "currency", "minutes_per_item", "min_seconds", "undo_seconds", "pay_per_item", "exam_pay",
}  # fmt: skip
DERIVED = {"hit_type_version", "instructions", "practice", "exam", "exam_digest", "items", "items_digest"}


@pytest.fixture
def researcher(db: None) -> User:
    return make_user("rita", staff=True)


def test_every_number_has_limits_and_every_setting_a_label() -> None:
    numbers = models.IntegerField | models.FloatField | models.DecimalField
    assert {name for name in SETTINGS if isinstance(Study._meta.get_field(name), numbers)} == set(LIMITS)
    assert len(LIMITS) > 15
    assert len({one.label for one in SETTINGS.values()}) == len(SETTINGS)


def test_every_setting_is_on_the_settings_page_or_elsewhere_by_intent() -> None:
    assert set(StudyForm.base_fields) == {name for name, one in SETTINGS.items() if one.section}
    assert set(SETTINGS) - set(StudyForm.base_fields) == ELSEWHERE
    assert {name: field.label for name, field in StudyForm.base_fields.items()} == {
        name: one.label for name, one in SETTINGS.items() if one.section
    }


def test_every_setting_is_in_the_api_with_its_label_and_limits() -> None:
    fields = StudySerializer().fields
    settable = {name for name in SETTINGS if not fields[name].read_only}
    assert settable == {name for name, one in SETTINGS.items() if one.api}
    for name in settable:
        assert fields[name].label == SETTINGS[name].label
        if name in LIMITS:
            assert f"{LIMITS[name].least:,} to {LIMITS[name].most:,}" in str(fields[name].help_text)


def test_the_snapshot_has_what_it_always_had() -> None:
    assert {name for name, one in SETTINGS.items() if one.snapshot and not one.unless_default} == SNAPSHOT


def test_a_newer_setting_is_in_the_snapshot_only_if_it_is_not_the_default() -> None:
    newer = {name for name, one in SETTINGS.items() if one.unless_default}
    assert newer == {
        "answer_only_raters",
        "confidence",
        "nothing_raters",
        "questionnaire_after",
        "questionnaire_before",
        "shared_items",
        "unpaid_terms",
        "whole_explanations",
    }
    usual, other = make_study(items=1, launched=True), make_study(items=1, nothing_raters=2, launched=True)
    assert not newer & set(usual.snapshot.content)
    assert newer & set(other.snapshot.content) == {"nothing_raters"}


@pytest.mark.parametrize("name", TYPES)
def test_digests_of_the_demos_studies_are_what_they_were(name: str) -> None:
    study = demo_study(name)
    assert study.snapshot is not None
    before: dict[str, Any] = {one: getattr(study, one) for one in SNAPSHOT}
    before |= {"pay_per_item": str(study.pay_per_item), "exam_pay": str(study.exam_pay)}
    before |= {one: study.snapshot.content[one] for one in DERIVED}
    assert digest_of(before) == study.snapshot.digest


def test_what_a_release_has_of_a_study_is_the_declarations() -> None:
    table = next(table for table in TABLES if table.model is Study)
    released = {name for name, one in SETTINGS.items() if one.released}
    assert set(table.columns) == {"workspace_id", "declaration_id", "state"} | released
    assert not {"contact", "completion_code", "translations"} & released


def test_defaults_are_those_of_the_database() -> None:
    """A row that the previous version writes without a setting has the setting's default."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotator_study (slug, title, hit_type, state, join_token, created_at)"
            " VALUES ('bare', 'Bare', 'simulation', 'draft', 'token', now())"
        )
    stored, made = Study.objects.get(slug="bare"), Study(slug="bare", title="Bare", hit_type="simulation")
    assert stored.join_parameters == ""  # otherwise those of the panels that are installed
    names = set(SETTINGS) - {"join_parameters"}
    assert {name: getattr(stored, name) for name in names} == {name: getattr(made, name) for name in names}


def test_translations_that_the_api_shows_can_be_sent_back(researcher: User) -> None:
    make_study(by=researcher, slug="mine")
    client = Client()
    client.force_login(researcher)
    sent = {"translations": {"de": {"title": "Eulen"}}}
    reply = client.patch("/api/v1/studies/mine/", sent, content_type="application/json")
    assert reply.status_code == 200, reply.content
    assert client.get("/api/v1/studies/mine/").json()["translations"]["de"]["title"] == "Eulen"


def test_the_command_sets_json() -> None:
    study = make_study(slug="mine", exam_required=True)
    call_command("study", "set", "mine", 'requires=["simulation"]', stdout=StringIO())
    study.refresh_from_db()
    assert study.requires == ["simulation"]
    with pytest.raises(CommandError, match="requires: Expected JSON"):
        call_command("study", "set", "mine", "requires=simulation", stdout=StringIO())


BEYOND = [
    (name, value)
    for name, limits in LIMITS.items()
    for value in (limits.least - (0.01 if name == "minutes_per_item" else 1), limits.most + 1)
]


@pytest.mark.parametrize(("name", "value"), BEYOND)
def test_a_number_beyond_its_limits_is_refused_alike_everywhere(
    researcher: User, name: str, value: Any
) -> None:
    study, says = make_study(by=researcher, slug="mine"), LIMITS[name].message
    number = float(value) if isinstance(Study._meta.get_field(name), models.FloatField) else value
    with pytest.raises(ValidationError) as by_service:
        study_update(study=study, by=researcher, **{name: number})
    assert says in by_service.value.message_dict[name]
    with pytest.raises(CommandError, match=says):
        call_command("study", "set", "mine", f"{name}={value}", stdout=StringIO())
    client = Client()
    client.force_login(researcher)
    by_api = client.patch("/api/v1/studies/mine/", {name: str(value)}, content_type="application/json")
    assert by_api.status_code == 400
    errors = by_api.json()["errors"][name]
    assert says in errors or "digits" in errors[0]  # a decimal with more digits than its column
    page = client.post(reverse("admin:annotator_study_change", args=[study.pk]), {name: str(value)})
    assert says in page.context["form"].errors[name]
    with pytest.raises((IntegrityError, DataError)), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(**{name: number})


@pytest.mark.parametrize(
    "name", [name for name, one in SETTINGS.items() if one.change is Change.UNTIL_LAUNCH]
)
def test_a_setting_that_is_fixed_at_the_launch_is_refused_afterwards(name: str) -> None:
    study = make_study(items=1, launched=True)
    other = {"seed": 77, "hit_type": "plausibility", "currency": "EUR"}.get(name, "other")
    with pytest.raises(ValidationError, match="can't be changed after the launch"):
        study_update(study=study, **{name: other})
    if name in StudyForm.base_fields:
        assert StudyForm(instance=study).fields[name].disabled


@pytest.mark.parametrize("name", [name for name, one in SETTINGS.items() if one.change is Change.ONLY_GROWS])
def test_a_setting_that_only_grows_is_not_lowered_after_the_launch(name: str) -> None:
    study = make_study(items=1, launched=True, redundancy=3, pay_floor_per_hour=3, pay_per_item=9)
    with pytest.raises(ValidationError, match="can only grow"):
        study_update(study=study, **{name: 2})
    study_update(study=study, **{name: 4})


def test_a_study_with_a_choice_that_is_not_offered_any_more_is_not_launched() -> None:
    study = make_study(items=1)
    Study.objects.filter(pk=study.pk).update(language="xx")
    study.refresh_from_db()
    [fault] = launch_faults(study)
    assert "Language" in fault
    assert "xx" in fault


# -- a new setting ------------------------------------------------------------------------------------


@pytest.fixture
def declared(db: None) -> Iterator[None]:
    """A setting, with its column and its constraint in the database, for one test."""
    column = setting(
        models.PositiveSmallIntegerField(
            default=7, validators=[InRange(2, 9)], help_text="Breaks in an hour."
        ),
        "Breaks per hour",
        SettingGroup.ITEMS,
        snapshot=True,
        released=True,
    )
    column.contribute_to_class(Study, "breaks_per_hour")
    [constraint] = [one for one in range_constraints(Study) if one.name == "study_breaks_per_hour_in_range"]
    try:
        with connection.schema_editor() as editor:
            editor.add_field(Study, column)
            editor.add_constraint(Study, constraint)
        yield
    finally:
        Study._meta.local_fields.remove(column)
        Study._meta._expire_cache()  # type: ignore[attr-defined]
        del Study.breaks_per_hour  # type: ignore[attr-defined]


def as_started(name: str) -> ModuleType:
    """A module as a new process would load it, beside the one that is loaded."""
    spec = find_spec(name)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_new_setting_is_declared_in_one_place_and_appears_everywhere(
    declared: None, researcher: User
) -> None:
    study = make_study(by=researcher, items=1, slug="mine")
    assert study.breaks_per_hour == 7  # type: ignore[attr-defined]

    forms = as_started("annotator.forms.study")
    [items] = [
        one for one in forms.StudyForm(instance=study).sections() if one.title == SettingGroup.ITEMS.value
    ]
    field = next(field for field in items.fields if field.name == "breaks_per_hour")
    assert (field.label, field.help_text, field.value()) == ("Breaks per hour", "Breaks in an hour.", 7)
    assert forms.StudyForm({"breaks_per_hour": "1"}, instance=study).errors["breaks_per_hour"] == [
        "Expected a number from 2 to 9."
    ]

    api = as_started("annotator.api.serializers")
    shown = api.StudySerializer(study)
    assert shown.data["breaks_per_hour"] == 7
    assert shown.fields["breaks_per_hour"].help_text == "Breaks in an hour. From 2 to 9."
    sent = api.StudySerializer(study, data={"breaks_per_hour": 10}, partial=True)
    assert not sent.is_valid()

    call_command("study", "set", "mine", "breaks_per_hour=5", stdout=StringIO())
    with pytest.raises(CommandError, match="from 2 to 9"):
        call_command("study", "set", "mine", "breaks_per_hour=1", stdout=StringIO())
    study.refresh_from_db()
    assert study_launch(study=study).content["breaks_per_hour"] == 5
    copy = study_duplicate(study=study, by=researcher, slug="copy", title="Copy", material=False)
    assert copy.breaks_per_hour == 5  # type: ignore[attr-defined]

    tables = as_started("evaluation.releases.tables").TABLES
    assert "breaks_per_hour" in next(table for table in tables if table.model is Study).columns
    with pytest.raises(IntegrityError), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(breaks_per_hour=1)

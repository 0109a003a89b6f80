"""HIT types of workspaces: saved whole and in versions, never lost, used by studies for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import Http404

from annotator.hit_types.base import JSON, Stage
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.models import (
    AuditEntry,
    Declaration,
    DeclaredType,
    DeclaredVersion,
    Judgment,
    Study,
    User,
    Workspace,
    WorkspaceMember,
)
from annotator.selectors import declaration
from annotator.selectors.declared_type import declared_type_get_for, declared_types_for, versions_listed
from annotator.selectors.study import study_hit_type
from annotator.services import declared_type as service
from annotator.services.declared_checks import declared_checks
from annotator.services.declared_type import (
    SavedMeanwhile,
    declared_type_check,
    declared_type_copy,
    declared_type_delete,
    declared_type_save,
    source_renamed,
)
from annotator.services.study import study_create
from annotator.services.study_copy import study_duplicate
from annotator.services.study_templates import declared_templates, study_create_from_template
from annotator.services.workspace import workspace_create, workspace_personal
from tests.annotator.declared import CLARITY, clarity, clarity_study
from tests.bot import Bot
from tests.factories import make_user

pytestmark = pytest.mark.django_db
CLEARER = CLARITY.replace("Can it be understood at first reading?", "Is it clear at first reading?")


@pytest.fixture
def ada() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def lab(ada: User) -> Workspace:
    return workspace_create(by=ada, name="Lab")


def refused(source: str | bytes, lab: Workspace, **about: Any) -> str:
    with pytest.raises(DeclarationRefused) as error:
        declared_type_save(workspace=lab, by=None, source=source, **about)
    assert not DeclaredType.objects.filter(name="clarity").exists() or about
    return str(error.value)


def test_each_save_is_a_version_and_a_launched_study_keeps_its_own(ada: User, lab: Workspace) -> None:
    first = clarity(lab, ada)
    assert next(one["name"] for one in first.checks) == "Items and answers of the file are read"
    study = clarity_study(lab, ada)
    second = declared_type_save(workspace=lab, by=ada, source=CLEARER, base=1)
    assert (first.number, second.number) == (1, 2)
    assert study_hit_type(study).version == first.version != second.version
    assert study.snapshot.content["hit_type_version"] == first.version
    assert "Can it be understood" in study_hit_type(study).prompt_text + str(
        study_hit_type(study).stages({"sentence": "a", "note": "b"})
    )
    bot = Bot(study)
    assert "DONE" in bot.whole_way(most=2).content.decode()
    assert Judgment.objects.filter(study=study).count() == 2
    assert [(one.number, one.studies) for one in versions_listed(first.type)] == [(2, 0), (1, 1)]
    assert (
        study_create(by=ada, workspace=lab, hit_type="clarity", slug="new", title="N").declaration_id
        == second.declaration_id
    )
    assert (
        study_duplicate(study=study, by=ada, slug="copy", title="C", material=True).declaration_id
        == first.declaration_id
    )
    assert AuditEntry.objects.filter(action="hit_types.saved", workspace=lab).count() == 2


def test_the_same_text_is_stored_once(ada: User, lab: Workspace) -> None:
    first = clarity(lab, ada)
    assert clarity(lab, ada, CLARITY.replace("\n", "\r\n")) == first
    other = workspace_create(by=ada, name="Other")
    clarity(other, ada)
    assert DeclaredVersion.objects.count() == 2
    assert Declaration.objects.count() == 1


def test_who_saved_in_the_meantime_is_said_and_nothing_is_lost(ada: User, lab: Workspace) -> None:
    clarity(lab, ada)
    bob = make_user("bob", staff=True)
    declared_type_save(workspace=lab, by=bob, source=CLEARER, base=1)
    mine = CLARITY.replace("Our lab", "My lab")
    with pytest.raises(
        SavedMeanwhile, match=r"bob saved version 2 of clarity at .* after you opened version 1"
    ):
        declared_type_save(workspace=lab, by=ada, source=mine, base=1)
    with pytest.raises(SavedMeanwhile, match="while you were writing a new type"):
        declared_type_save(workspace=lab, by=ada, source=mine, base=0)
    assert declared_type_save(workspace=lab, by=ada, source=CLEARER, base=1).number == 2, (
        "the same text is no conflict"
    )
    assert declared_type_save(workspace=lab, by=ada, source=mine, base=2).number == 3


def test_a_type_that_a_study_uses_cannot_be_deleted(ada: User, lab: Workspace) -> None:
    kept = clarity(lab, ada).type
    study = clarity_study(lab, ada)
    with pytest.raises(ValidationError, match="clarity is used by clear"):
        declared_type_delete(type=kept, by=ada)
    copy = declared_type_copy(type=kept, workspace=lab, by=ada, name="clarity_2")
    declared_type_delete(type=copy.type, by=ada)
    assert list(DeclaredType.objects.values_list("name", flat=True)) == ["clarity"]
    assert list(Declaration.objects.values_list("digest", flat=True)) == [study.declaration_id]


def test_only_members_see_a_type_and_only_their_workspaces_use_it(ada: User, lab: Workspace) -> None:
    mine, eve, vic = clarity(lab, ada).type, make_user("eve", staff=True), make_user("vic", staff=True)
    WorkspaceMember.objects.create(workspace=lab, user=vic, role="viewer")
    assert declared_type_get_for(user=vic, pk=mine.pk).title == "Clarity of sentences"
    for user, role in ((eve, "viewer"), (vic, "editor"), (make_user(), "viewer")):
        with pytest.raises(Http404):
            declared_type_get_for(user=user, pk=mine.pk, role=role)
    assert not declared_types_for(user=eve)
    assert not declared_templates(user=eve)
    assert not declared_templates(user=vic), "a viewer makes no studies in the workspace"
    with pytest.raises(ValidationError, match="expected one of"):
        study_create_from_template(by=eve, template=f"{lab.pk}:clarity", slug="a", title="A")
    with pytest.raises(ValidationError, match="no HIT type 'clarity'"):
        study_create(by=eve, hit_type="clarity", slug="a", title="A")


def test_a_template_of_a_workspaces_type_makes_a_study_of_that_workspace(ada: User, lab: Workspace) -> None:
    clarity(lab, ada)
    study = study_create_from_template(by=ada, template="clarity", slug="a", title="A")
    assert study.workspace == lab
    assert study.declaration_id
    assert (study.redundancy, study.exam_questions) == (2, 1)
    own = workspace_personal(user=ada)
    with pytest.raises(ValidationError, match="belongs to another workspace"):
        study_create_from_template(by=ada, template=f"{lab.pk}:clarity", slug="b", title="B", workspace=own)
    declared_type_copy(type=DeclaredType.objects.get(), workspace=own, by=ada)
    with pytest.raises(ValidationError, match="several of your workspaces"):
        study_create_from_template(by=ada, template="clarity", slug="b", title="B")


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (BOMB, "line 1: a has an anchor, &a; remove it"),
        ("name: !!python/object/apply:os.system [id]\n", "has a tag"),
        (b"\xff\xfe", "isn't UTF-8 text"),
        ("x" * 1_000_001, "expected at most 1,000,000"),
        ("[" * 30 + "]" * 30, "nested more than 20 levels"),
        ("", "is empty"),
        (CLARITY.replace("name: clarity", "name: simulation"), 'line 2: name is "simulation", a type that comes with Foretell'),
        (CLARITY.replace("name: clarity", "name: Klarheit!"), "line 2: name"),
        (CLARITY.replace("clear: no}", "clear: maybe}"), "exam[2].answers.clear"),
        (CLARITY + "prompt: |\n  ## user\n  $secret\n", "uses $secret, which has no value"),
    ],
    ids=["bomb", "tag", "bytes", "size", "deep", "empty", "built-in", "name", "gold", "prompt"],
)  # fmt: skip
def test_nothing_is_stored_of_a_file_with_a_problem(source: str | bytes, said: str, lab: Workspace) -> None:
    assert said in refused(source, lab)
    assert not Declaration.objects.exists()
    assert not DeclaredType.objects.exists()


def test_html_and_scripts_in_labels_are_text(ada: User, lab: Workspace) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    source = CLARITY.replace("sentence: Sentence", f"sentence: '{evil}'").replace(
        "Is the sentence clear?", evil
    )
    clarity(lab, ada, source)
    bot = Bot(clarity_study(lab, ada))
    bot.whole_way(most=1)
    task = next(text for path, text in bot.seen if "/task/" in path)
    assert "<script>alert" not in task
    assert "<img src=x" not in task
    assert "&lt;script&gt;alert(1)" in task


def test_a_type_has_limits(ada: User, lab: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_VERSIONS", 1)
    monkeypatch.setattr(service, "MOST_TYPES", 1)
    clarity(lab, ada)
    with pytest.raises(ValidationError, match="clarity has 1 versions, and no type can have more"):
        clarity(lab, ada, CLEARER)
    with pytest.raises(ValidationError, match="The workspace has 1 HIT types"):
        clarity(lab, ada, source_renamed(CLARITY, "clarity_2"))
    assert DeclaredVersion.objects.count() == 1


def test_a_name_is_for_good(ada: User, lab: Workspace) -> None:
    mine = clarity(lab, ada).type
    assert "this type is named clarity, for good" in refused(source_renamed(CLARITY, "other"), lab, of=mine)
    with pytest.raises(ValidationError, match="already has a type named clarity"):
        declared_type_copy(type=mine, workspace=lab, by=ada)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("name: a1\n", "name: b2\n"),
        ('{"title": "name: a1", "name": "a1"}\n', '{"title": "name: a1", "name": "b2"}\n'),
        ("title: x\n'name' : 'a1' # a1\n", "title: x\n'name' : 'b2' # a1\n"),
    ],
)
def test_a_copy_is_renamed_and_nothing_else(before: str, after: str) -> None:
    assert source_renamed(before, "b2") == after


def test_a_type_is_found_by_one_query_and_then_by_none(
    ada: User, lab: Workspace, django_assert_num_queries: Callable[[int], Any]
) -> None:
    clarity(lab, ada)
    digests = [clarity(lab, ada).declaration_id]
    digests.append(clarity(lab, ada, CLEARER).declaration_id)
    study = Study(hit_type="clarity", declaration_id=digests[0])
    for digest in digests:
        declaration.declaration_forget(digest)
    with django_assert_num_queries(1):
        assert len(declaration.declaration_kinds(digests)) == 2
    with django_assert_num_queries(0):
        study_hit_type(study).stages({"sentence": "a", "note": "b"})
    with django_assert_num_queries(1):
        assert len(declared_templates(user=User(is_staff=True, is_active=True, is_superuser=True))) == 1


def test_a_changed_file_is_no_type(ada: User, lab: Workspace) -> None:
    digest = clarity(lab, ada).declaration_id
    declaration.declaration_forget(digest)
    Declaration.objects.update(source=CLEARER)
    with pytest.raises(declaration.UnknownDeclaration):
        declaration.declaration_kind(digest)


def test_a_leak_of_a_later_stage_is_found() -> None:
    """The check renders what raters get; here the later column is part of the earlier question."""
    kind, checks = declared_type_check(CLARITY)
    assert all(one.passed for one in checks)

    def leaky(own: Any, payload: JSON, shown: JSON | None = None) -> tuple[Stage, ...]:
        first, second = kind.stages(payload, shown)
        return replace(first, blocks=second.blocks), second

    found = {one.name: one for one in declared_checks(type("Leaky", (type(kind),), {"stages": leaky})())}
    leak = found["No stage contains what a later one shows"]
    assert not leak.passed
    assert "contains the column note" in leak.detail

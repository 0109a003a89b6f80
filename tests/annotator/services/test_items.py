"""Items change: edited and deleted in a draft, withdrawn and corrected once the study is launched."""

from __future__ import annotations

import io

import pytest
from django.core.exceptions import ValidationError

from annotator.core.tables.faults import FileRefused
from annotator.models import Assignment, Item, Judgment, Participation, Place, Study
from annotator.selectors.progress import study_progress
from annotator.services.assignment import assignment_next
from annotator.services.imports.material_import import material_import
from annotator.services.items import item_correct, item_delete, item_edit, item_withdraw
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.submit_and_next import turn_take
from tests.factories import make_item, make_participation, make_study, simulation_payload

pytestmark = pytest.mark.django_db
CORRECTED = simulation_payload("corrected")


def submit(person: Participation, task: Assignment) -> Judgment:
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return Judgment.objects.get(assignment=task)


@pytest.fixture
def live() -> Study:
    return make_study(items=2, launched=True, redundancy=2, pay_per_item="0.50")


def test_an_item_of_a_draft_is_edited_and_deleted() -> None:
    study = make_study(items=2)
    one, two = study.items.all()
    item_edit(item=one, payload=CORRECTED, gold={"helpful": "yes", "answer": "no"})
    one.refresh_from_db()
    assert (one.payload, one.gold) == (CORRECTED, {"helpful": "yes", "answer": "no"})
    item_delete(item=two)
    assert study.items.get() == one


@pytest.mark.parametrize(
    ("payload", "gold", "field"),
    [({"question": "Owls?"}, None, "payload"), (CORRECTED, {"helpful": "perhaps"}, "gold")],
)
def test_an_items_unusable_content_is_refused(payload, gold, field) -> None:
    item = make_item(make_study())
    with pytest.raises(ValidationError) as error:
        item_edit(item=item, payload=payload, gold=gold)
    assert list(error.value.message_dict) == [field]


def test_items_of_a_launched_study_cannot_be_edited_or_deleted(live: Study) -> None:
    item = live.items.first()
    with pytest.raises(ValidationError, match="Only items of a draft"):
        item_edit(item=item, payload=CORRECTED, gold=None)
    with pytest.raises(ValidationError, match="Only items of a draft"):
        item_delete(item=item)


def test_an_item_with_rehearsal_judgments_cannot_be_deleted() -> None:
    study = make_study(items=1)
    rehearse(study=study, raters=rehearsal_raters(study=study, count=2, accuracy=1, spread=0, seed=1), seed=1)
    with pytest.raises(ValidationError, match="Clear the rehearsal"):
        item_delete(item=study.items.get())
    with pytest.raises(ValidationError, match="Clear the rehearsal"):
        item_edit(item=study.items.get(), payload=CORRECTED, gold=None)


def test_a_withdrawn_item_is_no_longer_given_out_and_keeps_its_judgments(live: Study) -> None:
    ann = make_participation(live)
    first = assignment_next(participation=ann)
    judgment = submit(ann, first)
    item_withdraw(item=first.item, by=None, reason="a typo")
    item_withdraw(item=first.item, by=None, reason="again")
    assert Judgment.objects.get().pk == judgment.pk
    assert live.exclusions.get().reason == "withdrawn: a typo"
    live.refresh_from_db()
    assert live.snapshot.number == 2
    ben = make_participation(live)
    task = assignment_next(participation=ben)
    assert task.item_id != first.item_id
    submit(ben, task)
    assert assignment_next(participation=ben) is None
    progress = study_progress(live)
    assert (progress.items, progress.places, progress.done) == (1, 2, 1), "a withdrawn item is in no figure"


def test_an_open_task_of_a_withdrawn_item_is_paid_but_not_counted(live: Study) -> None:
    ann = make_participation(live)
    task = assignment_next(participation=ann)
    item_withdraw(item=task.item, by=None, reason="a typo")
    assert submit(ann, task).standing == "surplus"


def test_a_corrected_item_is_a_new_version_with_its_own_places(live: Study) -> None:
    ann = make_participation(live)
    first = assignment_next(participation=ann)
    submit(ann, first)
    old = first.item
    new = item_correct(item=old, by=None, reason="a typo", payload=CORRECTED, gold=None)
    old.refresh_from_db()
    assert (new.key, new.version, new.replaces_id) == (f"{old.key}.v2", 2, old.pk)
    assert (new.instance_id, new.explanation_id) == (old.instance_id, old.explanation_id)
    assert old.withdrawn_reason == "a typo"
    assert old.judgments.count() == 1
    assert Place.objects.filter(item=new).count() == 2
    assert assignment_next(participation=make_participation(live)).item_id == new.pk, "offered first"
    third = item_correct(
        item=new, by=None, reason="another typo", payload=simulation_payload("third"), gold=None
    )
    assert third.key == f"{old.key}.v3"
    with pytest.raises(ValidationError, match="newer version"):
        item_correct(item=old, by=None, reason="x", payload=simulation_payload("x"), gold=None)


def test_a_correction_needs_a_reason_and_a_change(live: Study) -> None:
    item = live.items.first()
    with pytest.raises(ValidationError, match="what was wrong"):
        item_correct(item=item, by=None, reason=" ", payload=CORRECTED, gold=None)
    with pytest.raises(ValidationError, match="Nothing was changed"):
        item_correct(item=item, by=None, reason="x", payload=item.payload, gold=item.gold)
    assert not Item.objects.filter(withdrawn_at__isnull=False).exists()


def test_an_import_with_replace_keeps_only_the_files_items() -> None:
    study = make_study(items=3)
    row = b'{"key": "new", "question": "Owls?", "explanation": "Birds.", "answer": "no", "follow_up": "Owlets?"}\n'
    assert (
        material_import(study=study, file=io.BytesIO(row), name="m.jsonl", replace=True, dry_run=True).items
        == 1
    )
    assert study.items.count() == 3, "a preview deletes nothing"
    material_import(study=study, file=io.BytesIO(row), name="m.jsonl", replace=True)
    assert study.items.get().key == "new"


def test_a_refused_replacement_deletes_nothing() -> None:
    study = make_study(items=2)
    with pytest.raises(FileRefused):
        material_import(study=study, file=io.BytesIO(b'{"key": "new"}\n'), name="m.jsonl", replace=True)
    assert study.items.count() == 2
    rehearse(study=study, raters=rehearsal_raters(study=study, count=2, accuracy=1, spread=0, seed=1), seed=1)
    row = b'{"key": "new", "question": "Owls?", "explanation": "Birds.", "answer": "no", "follow_up": "Owlets?"}\n'
    with pytest.raises(FileRefused, match="Clear the rehearsal"):
        material_import(study=study, file=io.BytesIO(row), name="m.jsonl", replace=True)
    assert study.items.count() == 2


def test_the_same_content_under_another_key_is_reported() -> None:
    study = make_study()
    row = '{"key": "%s", "question": "Owls?", "explanation": "Birds.", "answer": "no", "follow_up": "Owlets?"}\n'
    first = material_import(study=study, file=io.BytesIO((row % "a").encode()), name="m.jsonl")
    assert first.warnings == []
    second = material_import(study=study, file=io.BytesIO((row % "b").encode()), name="m.jsonl", dry_run=True)
    assert second.warnings == [
        "1 item of the study has the same content as another item under a different key"
    ]

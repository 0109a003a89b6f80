"""A corrected follow-up is what reports and releases read, not only what annotators read."""

from __future__ import annotations

import io
import json

import pytest

from annotator.core.canonical import text_digest
from annotator.hit_types.registry import hit_type_get
from annotator.models import FollowUp, Item, Message, Output, Study
from annotator.services.imports.material_import import material_import
from annotator.services.items import item_correct, item_edit
from annotator.services.message import message_send
from tests.contracts.cases import examples
from tests.factories import make_item, make_participation, make_study, simulation_payload

pytestmark = pytest.mark.django_db
#: Each type with follow-ups, and the field of its items in which the follow-up is corrected.
FIELDS = {
    "simulation": "follow_up",
    "simulation_choice": "follow_up",
    "generalization_utility": "follow_up",
    "question_validation": "follow_up",
    "atomic_units": "input",
}


def imported(name: str) -> Item:
    kind = hit_type_get(name)
    rows = [case["row"] for case in examples(kind, "valid")]
    row = next(row for row in rows if kind.parse_item(row).material.follow_up)
    study = make_study(hit_type=name)
    material_import(study=study, file=io.BytesIO(json.dumps(row).encode()), name="m.jsonl")
    item: Item = study.items.get()
    return item


@pytest.mark.parametrize("name", FIELDS)
def test_an_edited_item_refers_to_the_corrected_follow_up(name: str) -> None:
    item = imported(name)
    old = item.follow_up
    assert old is not None
    before = item.payload[FIELDS[name]]
    payload = item.payload | {FIELDS[name]: f"{before} (corrected)"}
    edited = item_edit(item=item, payload=payload, gold=item.gold)
    new = edited.follow_up
    assert new is not None
    assert new.pk != old.pk
    assert new.text == old.text.replace(before, f"{before} (corrected)")
    assert (new.instance_id, new.explanation_id, new.kind, new.generator, new.gold_label) == (
        old.instance_id, old.explanation_id, old.kind, old.generator, old.gold_label,
    )  # fmt: skip
    assert list(new.outputs.values_list("system", "text")) == list(old.outputs.values_list("system", "text"))
    assert new.digest == text_digest(new.text, new.generator, new.kind), "an import finds it again"


def test_another_item_with_the_same_follow_up_keeps_it() -> None:
    study = make_study(launched=False)
    one = make_item(study)
    two = Item.objects.create(
        study=study, key="two", payload=one.payload, instance=one.instance, explanation=one.explanation,
        follow_up=one.follow_up,
    )  # fmt: skip
    item_edit(item=one, payload=one.payload | {"follow_up": "Can it swim?"}, gold=None)
    two.refresh_from_db()
    assert two.follow_up is not None
    assert two.follow_up.text == two.payload["follow_up"]


def test_a_correction_elsewhere_keeps_the_follow_up() -> None:
    item = make_item(make_study())
    edited = item_edit(item=item, payload=item.payload | {"question": "Can it fly?"}, gold=None)
    assert edited.follow_up_id == item.follow_up_id
    assert FollowUp.objects.count() == Output.objects.count() == 1


def test_a_correction_settles_the_problems_reported_with_the_item() -> None:
    study: Study = make_study(items=2, launched=True)
    item, other = study.items.order_by("pk")
    person = make_participation(study)
    for about, kind in ((item, "flag"), (item, "question"), (other, "flag")):
        message_send(participation=person, kind=kind, text="A typo?", item=about)
    item_correct(item=item, by=None, reason="a typo", payload=simulation_payload("x"), gold=None)
    assert list(Message.objects.filter(settled_at=None).values_list("item", "kind").order_by("pk")) == [
        (item.pk, "question"),
        (other.pk, "flag"),
    ]

"""From judgments in Postgres to ratings tables: what counts, what is left out, what each unit is about."""

import re
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.hit_types.base import HitType, Rating, Variable
from annotator.models import Exclusion, Judgment, Rater, Study
from evaluation.models import Call, Endpoint, Run
from evaluation.ratings import load as pipeline
from evaluation.ratings.load import study_ratings
from tests.factories import make_item, make_judgment, make_rater, make_study, simulation_payload

pytestmark = pytest.mark.django_db


def rows_of(found: pipeline.VariableRatings) -> set[tuple[str, str, str]]:
    table = found.ratings
    return {
        (table.raters[r], table.units[u], table.labels[v])
        for r, u, v in zip(table.rater, table.unit, table.value, strict=True)
    }


def small_study() -> Study:
    """Two people and a simulator on three items of two instances: 3 + 3 + 2 judgments."""
    study = make_study()
    one = make_item(study, key="one", instance="x", system="robot-a", real_output="yes")
    two = make_item(study, key="two", instance="x", system="robot-b", real_output="no", generator="g2")
    three = make_item(study, key="three", instance="y", real_output="", condition="long")
    ann, bob = make_rater("ann"), make_rater("bob")
    model = make_rater("gpt-4", kind="simulator", source="simulator")
    for item, answers in ((one, "yes no yes"), (two, "no cannot_guess yes"), (three, "yes yes")):
        for rater, answer in zip((ann, bob, model), answers.split(), strict=False):
            make_judgment(item, rater, answer)
    return study


def test_ratings_of_a_small_study():
    found = study_ratings(study=small_study()).table("simulation")
    assert rows_of(found) == {
        ("ann", "one", "yes"),
        ("bob", "one", "no"),
        ("gpt-4", "one", "yes"),
        ("ann", "two", "no"),
        ("bob", "two", "cannot_guess"),
        ("gpt-4", "two", "yes"),
        ("ann", "three", "yes"),
        ("bob", "three", "yes"),
    }
    assert found.ratings.labels == ("yes", "no", "cannot_guess")  # declared order, not alphabetical
    assert found.ratings.simulators == {"gpt-4"}
    assert found.ratings.abstain == {"cannot_guess"}
    assert (found.judgments, found.left_out) == (8, {})


def test_units_have_their_item_and_material():
    units = study_ratings(study=small_study()).table("simulation").units
    assert units.instance.values().tolist() == ["x", "x", "y"]
    assert units.system.values().tolist() == ["robot-a", "robot-b", "robot-a"]
    assert units.generator.values().tolist() == ["generator-1", "g2", "generator-1"]
    assert units.condition.values().tolist() == ["", "", "long"]
    assert units.real_output.values().tolist() == ["yes", "no", None]  # of the item's own system
    assert len(set(units.explanation.values())) == 3


def test_clusters_are_instances_and_other_items_are_their_own_cluster():
    study = small_study()
    for key in ("lone", "other"):
        item = make_item(study, key=key)
        type(item).objects.filter(pk=item.pk).update(instance=None, explanation=None, follow_up=None)
        make_judgment(item, make_rater("ann"))
    found = study_ratings(study=study).table("simulation")
    clusters = dict(zip(found.ratings.units, found.ratings.clusters, strict=True))
    assert clusters["one"] == clusters["two"]
    assert len(set(clusters.values())) == 4


def test_a_real_output_is_that_of_the_items_own_system():
    study = make_study()
    item = make_item(study, key="one", system="robot-a", real_output="yes")
    from annotator.models import Output, System

    Output.objects.create(follow_up=item.follow_up, system=System.objects.create(name="robot-z"), text="no")
    make_judgment(item, make_rater("ann"))
    found = study_ratings(study=study)
    assert len(found.judgments.items) == 1  # another system's output does not double the item
    assert found.table("simulation").units.real_output.values().tolist() == ["yes"]


def test_surplus_and_checks_are_left_out_and_counted():
    study = small_study()
    Judgment.objects.filter(item__key="one", rater__name="ann").update(standing="surplus")
    for key, role in (("check", "attention"), ("known", "gold")):
        item = make_item(study, key=key, role=role)
        make_judgment(item, make_rater("ann"))
        make_judgment(item, make_rater("bob"))
    found = study_ratings(study=study).table("simulation")
    assert found.judgments == 7
    assert found.left_out == {
        "came late, after the item had all its raters": 1,
        "on an attention check": 2,
        "on a gold item, whose answer is known": 2,
    }
    assert not {"check", "known"} & set(found.ratings.units)


def test_exclusions_are_left_out_counted_by_reason_and_reversible():
    study = small_study()
    ann = Rater.objects.get(name="ann")
    of_bob = Judgment.objects.get(item__key="two", rater__name="bob")
    Exclusion.objects.create(study=study, rater=ann, reason="too fast")
    Exclusion.objects.create(study=study, item=study.items.get(key="three"), reason="broken text")
    Exclusion.objects.create(study=study, judgment=of_bob, reason="asked to withdraw")
    lifted = Exclusion.objects.create(study=study, rater=Rater.objects.get(name="bob"), reason="by mistake")
    Exclusion.objects.filter(pk=lifted.pk).update(lifted_at=timezone.now())

    found = study_ratings(study=study).table("simulation")
    assert rows_of(found) == {("bob", "one", "no"), ("gpt-4", "one", "yes"), ("gpt-4", "two", "yes")}
    # ann's judgment on item three is counted once, under the first reason that applies
    assert found.left_out == {
        "rater excluded: too fast": 3,
        "item excluded: broken text": 1,
        "judgment excluded: asked to withdraw": 1,
    }
    assert found.ratings.raters == ("bob", "gpt-4")
    assert study_ratings(study=study, exclusions=False).table("simulation").judgments == 8


def test_exclusions_of_another_study_do_not_count_here():
    study, other = small_study(), make_study()
    Exclusion.objects.create(study=other, rater=Rater.objects.get(name="ann"), reason="too fast")
    assert study_ratings(study=study).table("simulation").judgments == 8


def test_rehearsal_raters_count_only_if_there_are_no_people():
    study = make_study()
    item = make_item(study)
    robot = Rater.objects.create(kind="human", source="rehearsal", name="rehearsal-1", rehearsal=True)
    make_judgment(item, robot)
    found = study_ratings(study=study)
    assert found.judgments.rehearsal
    assert len(found.judgments) == 1

    make_judgment(item, make_rater("ann"))
    found = study_ratings(study=study)
    assert not found.judgments.rehearsal
    assert found.judgments.raters.names == ("ann",)
    assert found.judgments.left_out == {"by a rehearsal rater, in a study that has people": 1}


def test_two_raters_with_the_same_name_stay_separate():
    study = make_study()
    item = make_item(study)
    make_judgment(item, make_rater("ann", source="import:a"), "yes")
    make_judgment(item, make_rater("ann", source="import:b"), "no")
    found = study_ratings(study=study).table("simulation")
    assert found.ratings.raters == ("ann (person, import:a)", "ann (person, import:b)")
    assert len(found.ratings) == 2


def test_an_empty_study_has_an_empty_table():
    study = make_study()
    found = study_ratings(study=study).table("simulation")
    assert (len(found.ratings), found.ratings.units, found.judgments) == (0, (), 0)
    assert found.ratings.labels == ("yes", "no", "cannot_guess")


def test_unparsable_replies_of_simulators_are_counted():
    study = small_study()
    model = Rater.objects.get(name="gpt-4")
    endpoint = Endpoint.objects.create(name="e", base_url="http://127.0.0.1:9/v1", model="gpt-4")
    run = Run.objects.create(
        kind="simulate", study=study, endpoint=endpoint, model="m", prompt="p", prompt_digest="d", rater=model
    )
    states = [("unparsable", "refusal"), ("unparsable", "refusal"), ("failed", ""), ("done", "")]
    for number, (state, kind) in enumerate(states):
        Call.objects.create(run=run, key=f"k{number}", state=state, error_kind=kind)
    found = study_ratings(study=study).judgments.unparsable
    assert found == {"gpt-4": {"call failed": 1, "not parsable: refusal": 2}}


def test_the_number_of_queries_is_independent_of_the_studys_size():
    def queries(study: Study) -> int:
        with CaptureQueriesContext(connection) as captured:
            study_ratings(study=study).table("simulation")
        return len(captured)

    small, large = small_study(), make_study()
    raters = [make_rater(f"rater-{n}") for n in range(6)]
    for number in range(30):
        item = make_item(large, instance=f"x{number % 7}", system=f"robot-{number % 3}")
        for rater in raters:
            make_judgment(item, rater)
    assert queries(large) == queries(small) <= 12


def test_the_digest_tells_whether_two_reports_have_the_same_data():
    study = small_study()
    before = study_ratings(study=study).digest
    assert before == study_ratings(study=study).digest
    moved = Judgment.objects.get(item__key="one", rater__name="ann")
    Judgment.objects.filter(pk=moved.pk).update(response={"helpful": "no"})
    assert study_ratings(study=study).digest != before
    Judgment.objects.filter(pk=moved.pk).update(response=moved.response)
    assert study_ratings(study=study).digest == before
    study.items.get(key="one").follow_up.outputs.update(text="no")
    assert study_ratings(study=study).digest != before


AWKWARD = [
    'quote " and comma, and \\ backslash',
    "line\nbreak\r\nand\ttab",
    "\\N",
    "",
    "NULL",
    "=1+1",
    "日本語 🙂 ﷽",
    "</script><b>",
]


def test_awkward_texts_survive_the_copy():
    study = make_study()
    for number, text in enumerate(AWKWARD):
        item = make_item(study, key=f"{number}{text}", condition=text, real_output=text)
        make_judgment(item, make_rater(f"{number} {text}"))
    items = study_ratings(study=study).judgments.items
    assert items.condition.values().tolist() == AWKWARD
    assert items.key.values().tolist() == [f"{number}{text}" for number, text in enumerate(AWKWARD)]
    # an empty output is not kept by the factory, and is then not known
    assert items.real_output.values().tolist() == [text or None for text in AWKWARD]


def test_a_long_fetch_in_pieces_loses_no_row(monkeypatch):
    study = small_study()
    whole = rows_of(study_ratings(study=study).table("simulation"))
    monkeypatch.setattr("evaluation.ratings.columns.PIECE", 1)
    assert rows_of(study_ratings(study=study).table("simulation")) == whole


class Shown(HitType):
    """A toy type whose units are the explanations that the item shows, and whose note is optional."""

    name = "shown"
    headline = "good"
    variables = (
        Variable("note", "Note"),
        Variable("good", "Good", level="ordinal", labels=("no", "moderate", "yes")),
    )

    def to_ratings(self, payload: dict[str, Any], response: dict[str, Any]) -> list[Rating]:
        ratings = [Rating("good", response[name], name) for name in payload["shown"]]
        return ratings + ([Rating("note", response["note"])] if response.get("note") else [])


@pytest.fixture
def shown_study(monkeypatch) -> Study:
    study = make_study()
    for number, (names, note) in enumerate([("a b", "hm"), ("b c", ""), ("a c", "aha")]):
        item = make_item(study, key=f"item-{number}", payload=simulation_payload() | {"shown": names.split()})
        for rater, value in (("ann", "yes"), ("bob", "moderate")):
            response = dict.fromkeys("abc", value) | {"note": note}
            judgment = make_judgment(item, make_rater(rater))
            Judgment.objects.filter(pk=judgment.pk).update(response=response)
    monkeypatch.setattr(pipeline, "study_hit_type", lambda study: Shown())
    return study


def test_a_type_that_reads_the_item_gets_the_right_one(shown_study):
    found = study_ratings(study=shown_study)
    good = found.table("good")
    assert [v.name for v in found.variables] == ["good", "note"]  # headline first
    assert set(good.ratings.units) == {
        "item-0 · a",
        "item-0 · b",
        "item-1 · b",
        "item-1 · c",
        "item-2 · a",
        "item-2 · c",
    }
    assert {value for _, _, value in rows_of(good)} == {"yes", "moderate"}
    assert good.ratings.level == "ordinal"
    assert good.ratings.labels == ("no", "moderate", "yes")
    assert good.judgments == 6


def test_judgments_without_the_variable_are_counted(shown_study):
    note = study_ratings(study=shown_study).table("note")
    assert note.ratings.labels == ("aha", "hm")  # free labels: as found, sorted
    assert set(note.ratings.units) == {"item-0", "item-2"}
    assert (note.judgments, note.left_out) == (4, {"without an answer on note": 2})


def test_units_of_shown_explanations_have_their_own_system(shown_study):
    from annotator.models import Explanation, System

    item = shown_study.items.get(key="item-0")
    other = Explanation.objects.create(
        instance=item.instance, system=System.objects.create(name="robot-q"), text="t", digest="q"
    )
    item.parts = {"b": other.pk}
    item.save()
    units = study_ratings(study=shown_study).table("good").units
    systems = dict(
        zip(zip(units.item, units.suffix.values(), strict=True), units.system.values(), strict=True)
    )
    assert systems[(0, "a")] == "robot-a"
    assert systems[(0, "b")] == "robot-q"


def test_an_undeclared_label_is_an_error():
    study = small_study()
    judgment = Judgment.objects.filter(study=study).first()
    Judgment.objects.filter(pk=judgment.pk).update(response={"helpful": "yes", "answer": "perhaps"})
    with pytest.raises(ValueError, match=re.escape("'perhaps' is not among the labels of 'simulation'")):
        study_ratings(study=study)


def test_rows_come_in_order_of_unit_then_rater():
    table = study_ratings(study=small_study()).table("simulation").ratings
    key = table.unit.astype(np.int64) * len(table.raters) + table.rater
    assert (np.diff(key) > 0).all()


def test_a_fetch_that_stops_early_leaves_the_connection_usable(monkeypatch):
    from annotator.models import Item
    from evaluation.ratings.columns import _pieces

    study = small_study()
    monkeypatch.setattr("evaluation.ratings.columns.PIECE", 1)
    pieces = _pieces(Item.objects.filter(study=study).values_list("id"))
    next(pieces)
    pieces.close()
    assert Item.objects.filter(study=study).count() > 1


def test_a_query_that_postgres_refuses_is_a_database_error():
    from django.db import DatabaseError, transaction
    from django.db.models import IntegerField
    from django.db.models.expressions import RawSQL

    from annotator.models import Item
    from evaluation.ratings.columns import copy_rows

    make_item(make_study(), key="a")
    late = RawSQL("1 / (annotator_item.id - annotator_item.id)", (), output_field=IntegerField())
    early = RawSQL("no_such_column", (), output_field=IntegerField())
    for wrong, expected in ((early, "no_such_column"), (late, "division by zero")):
        rows = Item.objects.annotate(wrong=wrong).values_list("wrong")
        with pytest.raises(DatabaseError, match=expected), transaction.atomic():
            copy_rows(rows, {"wrong": "id"})
    assert Item.objects.count() == 1

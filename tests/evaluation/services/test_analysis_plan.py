"""Analysis plans: what is refused, sealing before the first judgment, and what can't be changed afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotator.core.errors import Conflict
from annotator.models import AuditEntry, Study
from annotator.services.study_copy import study_duplicate
from evaluation.models import AnalysisPlan
from evaluation.planning.plan_document import PlanError, hypothesis_read, plan_parse
from evaluation.selectors.analysis_plan import plan_state
from evaluation.services.analysis_plan import plan_save, plan_seal, sealed_digest
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
H1 = {"name": "H1", "metric": "precision", "of": "robot-a", "against": "robot-b", "smallest_effect": 0.1}


def planned(**more: Any) -> Study:
    study = make_study()
    for number in range(4):
        make_item(
            study, key=f"i{number}", instance=f"x{number // 2}", system="robot-ab"[:6] + "ab"[number % 2]
        )
    plan_save(study=study, document={"hypotheses": [H1]} | more)
    return study


@pytest.mark.parametrize(
    ("document", "field", "text"),
    [
        ([], "plan", "got []; expected an object"),
        ({}, "hypotheses", "got None; expected a list of 1 to 50 hypotheses"),
        ({"hypotheses": [H1], "tset": "t"}, "tset", "is not known; did you mean test?"),
        ({"hypotheses": [H1], "test": "z"}, "test", "got 'z'; expected one of: permutation, t"),
        ({"hypotheses": [H1], "alpha": "5"}, "alpha", "got '5'; expected a number from 0.0001 to 0.5"),
        ({"hypotheses": [H1, H1]}, "hypotheses[1].name", "got 'H1'; expected a name that no other hypothesis has"),
        ({"hypotheses": [H1], "options": {"rule": "best"}}, "options.rule", "got 'best'; expected one of"),
        ({"hypotheses": [H1 | {"of": "robot-c"}]}, "hypotheses[0].of", "got 'robot-c'; expected one of the study's systems: robot-a, robot-b"),
        ({"hypotheses": [H1 | {"metric": "nsg", "value": 0, "against": ""}]}, "hypotheses[0].metric", "a study with control arms"),
        ({"hypotheses": [H1 | {"metric": "alpha", "of": "all"}]}, "hypotheses[0].against", "expected a value: two systems"),
        ({"hypotheses": [H1], "stopping": "pocock", "looks": [0.5]}, "looks", "got [0.5]; expected increasing shares above 0 that end with 1"),
        ({"hypotheses": [{"name": "K", "metric": "kappa", "of": "gpt", "value": 0.6}], "stopping": "confidence_sequence"},
         "hypotheses[0].metric", "valid intervals under a stopping rule"),
    ],
)  # fmt: skip
def test_bad_plans_name_field_value_and_what_was_expected(document: Any, field: str, text: str) -> None:
    study = planned()
    with pytest.raises(PlanError) as caught:
        plan_save(study=study, document=document)
    assert text in caught.value.errors[field]
    assert AnalysisPlan.objects.get().document["hypotheses"] == [
        H1 | {"direction": "greater", "value": None, "text": ""}
    ]


def test_a_line_of_a_form_is_a_hypothesis_and_back() -> None:
    for line in (
        "H1: precision of robot-a > robot-b by 0.05",
        "H2: nsg of all != 0",
        "H3: kappa of gpt-4 > 0.6",
        "H4: cell of p1-table-4 | people of robots | robot-a < 0.5",
    ):
        assert str(plan_parse({"hypotheses": [hypothesis_read(line)]}).hypotheses[0]) == line
    with pytest.raises(ValueError, match="expected “NAME: METRIC of WHOM > OTHER by EFFECT”"):
        hypothesis_read("precision is good")


def test_a_sealed_plan_has_a_hash_that_anybody_can_compute_and_never_changes() -> None:
    study, ada = planned(), make_user("ada", staff=True)
    rehearsal = make_rater("bot", source="rehearsal")
    type(rehearsal).objects.filter(pk=rehearsal.pk).update(rehearsal=True)
    make_judgment(study.items.first(), rehearsal)
    row = plan_seal(study=study, user=ada)
    row.refresh_from_db()
    assert row.sealed_at is not None
    assert row.digest == sealed_digest(row.document, row.design, row.sealed_at)
    assert row.design["items"] == 4
    assert row.design["systems"] == 2
    state = plan_state(study=study)
    assert row.digest in state.markdown
    assert "- **H1.** The simulation precision of robot-a is greater than that of robot-b" in state.markdown
    with pytest.raises(Conflict, match="sealed"):
        plan_save(study=study, document={"hypotheses": [H1 | {"of": "robot-b", "against": "robot-a"}]})
    with pytest.raises(Conflict, match="sealed"):
        plan_seal(study=study)
    for change in ({"document": {}}, {"sealed_at": timezone.now()}, {"digest": "0" * 64}, {"design": {}}):
        with pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
            AnalysisPlan.objects.update(**change)
    with pytest.raises(DatabaseError, match="cannot be deleted"), transaction.atomic():
        AnalysisPlan.objects.all().delete()
    Study.objects.update(deleted_at=timezone.now())
    AnalysisPlan.objects.all().delete()
    trail = list(AuditEntry.objects.filter(action__startswith="study.plan").values_list("action", "actor"))
    assert trail == [("study.plan_saved", None), ("study.plan_sealed", ada.pk)]


def test_no_plan_is_sealed_after_the_first_judgment_of_a_person() -> None:
    study = planned()
    make_judgment(study.items.first(), make_rater("gpt", kind="simulator", source="simulator"))
    make_judgment(study.items.first(), make_rater("ann"))
    with pytest.raises(Conflict, match="already judged"):
        plan_seal(study=study)
    with pytest.raises(Conflict, match="no analysis plan"):
        plan_seal(study=make_study())


def test_systems_without_an_item_are_named_when_a_plan_is_sealed() -> None:
    study = make_study()
    plan_save(study=study, document={"hypotheses": [H1]})
    with pytest.raises(Conflict, match="No item of the study is about robot-a, robot-b"):
        plan_seal(study=study)


def test_a_duplicate_has_the_plan_and_can_change_it() -> None:
    study, ada = planned(), make_user("ada", staff=True)
    plan = plan_seal(study=study)
    copy = study_duplicate(study=study, by=ada, slug="again", title="Again", material=False)
    made = AnalysisPlan.objects.get(study=copy)
    assert (made.document, made.sealed_at, made.digest) == (plan.document, None, "")
    plan_save(study=copy, document={"hypotheses": [H1 | {"smallest_effect": 0.2}]}, user=ada)
    assert AnalysisPlan.objects.get(study=study).document == plan.document

"""Which generalization questions their validators accept."""

from __future__ import annotations

import io
import json

import pytest

from annotator.services.imports.material_import import material_import
from evaluation.ratings.validation import question_verdicts
from tests.evaluation.reports.studies import cells_of, computed
from tests.factories import make_rater, make_study, record_judgment

pytestmark = pytest.mark.django_db

ROW = {
    "context": "Copper takes decades to turn green. The roof was laid last year.", "question": "Is the roof green?",
    "follow_up": "Has the roof turned green?", "answer": "no", "gold_label": "no",
}  # fmt: skip
YES, NO = {"relation": "yes", "answerable": "yes"}, {"relation": "yes", "answerable": "no"}


def test_an_answer_that_is_not_asked_about_is_taken_for_right():
    """A rephrase has the original's answer; of similar reasoning two of three have to say that it is right."""
    study = make_study(hit_type="question_validation")
    said = {
        "rephrase": [YES, YES, NO],
        "counterfactual": [YES, NO, NO],
        "similar_reasoning": [YES | {"answer_right": "yes"}, YES | {"answer_right": "no"}, NO],
    }
    lines = [json.dumps(ROW | {"key": kind, "kind": kind}) for kind in said]
    material_import(study=study, file=io.BytesIO("\n".join(lines).encode()), name="questions.jsonl")
    for kind, responses in said.items():
        item = study.items.get(key=kind)
        for name, response in zip("abc", responses, strict=True):
            record_judgment(item, make_rater(name), response)
    found = {verdict.key: verdict for verdict in question_verdicts(study=study, by="people")}
    assert {key: (one.answer_asked, one.answer_right, one.accepted) for key, one in found.items()} == {
        "rephrase": (False, True, True),
        "counterfactual": (False, True, False),  # the context does not answer it
        "similar_reasoning": (True, False, False),
    }
    cells = cells_of(computed(study).content, "p3-questions-people")
    assert cells["Rephrase", "Correctly answered"]["value"] is None
    assert "nobody was asked" in cells["Rephrase", "Correctly answered"]["reason"]
    assert cells["Similar reasoning", "Correctly answered"]["value"] == 0
    assert cells["All", "Correctly answered"]["value"] == 0
    assert cells["All", "Accepted"]["value"] == 1

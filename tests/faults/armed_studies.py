"""Studies whose items have arms, for tests of tasks taken at the same time."""

from __future__ import annotations

from annotator.models import Study
from annotator.services.study import study_launch
from tests.factories import make_item, make_study

ARMS = [["follow_up"], ["question_again", "follow_up_again"], ["follow_up", "follow_up_again"]]


def armed_study(*, items: int, places: int) -> Study:
    study = make_study(hit_type="generalization_utility", redundancy=places)
    for number in range(items):
        payload = {
            "question": f"Can bird {number} fly?", "options": [], "rationale": "It is a penguin.",
            "follow_up": f"Can its chick {number} fly?", "follow_up_options": [], "arms": ARMS,
        }  # fmt: skip
        make_item(study, key=f"item-{number}", payload=payload)
    study_launch(study=study)
    study.refresh_from_db()
    return study

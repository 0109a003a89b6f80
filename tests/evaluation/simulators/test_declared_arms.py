"""Simulators of a type from a file are asked in its control arms, without what these hide."""

from __future__ import annotations

import json

import pytest

from annotator.models import Judgment
from annotator.services.declared_type import declared_type_save
from annotator.services.workspace import workspace_personal
from tests.annotator.hit_types.declaration.files import ARMS_FILE
from tests.annotator.services.control_studies import imported
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study, make_user

pytestmark = [*SCRIPTED_MARKS]
ROW = {
    "question": "Can birds fly at all?", "explanation": "All birds have wings.", "said": "yes",
    "next": "Can this owl fly home?", "real": "yes", "system": "robot",
}  # fmt: skip


def test_a_simulator_is_asked_in_each_arm_without_what_it_hides(scripted: ScriptedProcess) -> None:
    boss = make_user("boss", staff=True)
    workspace = workspace_personal(user=boss)
    declared_type_save(workspace=workspace, by=boss, source=ARMS_FILE.read_bytes())
    study = make_study(
        by=boss, hit_type="guess_twice", workspace=workspace, answer_only_raters=1, nothing_raters=1
    )
    imported(study, ROW)
    run = make_run(make_endpoint(scripted, by=boss), study)
    work(run)
    assert run.state == "done", run.reason
    assert Judgment.objects.filter(rater=run.rater).count() == 3
    sent = {call.key: json.dumps(call.request) for call in run.calls.filter(stage=0)}
    shown = {
        arm: [ROW[name] in text for name in ("question", "explanation", "next")]
        for arm, text in arms(sent).items()
    }
    assert shown == {
        "": [True, True, True],
        "answer only": [True, False, True],
        "nothing": [False, False, True],
    }
    assert sorted(len(one.response) for one in Judgment.objects.filter(rater=run.rater)) == [2, 2, 3]


def arms(sent: dict[str, str]) -> dict[str, str]:
    """What was sent by the name of the arm, which is at the end of an item's key."""
    return {key.partition(" (")[2].rstrip(")"): text for key, text in sent.items()}


@pytest.fixture(autouse=True)
def _files(stored_files: object) -> None:
    """Uploads of the test go into a folder of its own."""

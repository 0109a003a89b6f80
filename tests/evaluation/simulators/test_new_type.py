"""A model can answer a HIT type from outside the product like any other."""

from __future__ import annotations

import io
from typing import Any

import pytest

from annotator.hit_types.base import HitType
from annotator.models import Judgment
from annotator.services.imports.material_import import material_import
from tests.evaluation.run_factories import make_endpoint, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study
from tests.new_type import MATERIAL, clarity  # noqa: F401


@pytest.mark.django_db(transaction=True)
def test_a_simulator_answers_items_of_the_new_type(
    scripted: ScriptedProcess,
    clarity: HitType,  # noqa: F811
    settings: Any,
) -> None:
    settings.LLM_ALLOWED_HOSTS = [scripted.host]
    study = make_study(hit_type="clarity")
    material_import(study=study, file=io.BytesIO(MATERIAL.encode()), name="clear.jsonl")
    run = make_run(make_endpoint(scripted), study)
    work(run)
    assert run.state == "done"
    judgments = Judgment.objects.filter(study=study, source="simulator")
    assert judgments.count() == 3, list(run.calls.values("state", "error", "text"))
    assert {judgment.response["clear"] for judgment in judgments} <= {"yes", "no"}
    assert run.rater is not None
    assert run.rater.name.startswith(f"scripted at {scripted.host} · clarity v1")

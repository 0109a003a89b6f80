"""A release of a study with a sealed plan holds the plan, and is reproduced with its marks, deviations and valid intervals."""

from __future__ import annotations

import json

import pytest

from annotator.models import Exclusion
from evaluation.models import AnalysisPlan
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from tests.evaluation.releases.releases import built, files_of
from tests.evaluation.reports.plans import H1, judge, sealed_study
from tests.evaluation.reports.studies import cells_of, stored

pytestmark = pytest.mark.django_db


def test_a_sealed_plan_is_released_and_reproduced() -> None:
    study = sealed_study(hypotheses=[H1], stopping="confidence_sequence")
    judge(study, instances=14)
    Exclusion.objects.create(study=study, item=study.items.first(), reason="asked for by ann")
    found, file = built(stored(study, replicates=100), free_text=False)
    assert found.comparison.differing == 0, "\n".join(found.comparison.sentences)
    content = json.loads(files_of(file)["report.json"])
    plan = content["plan"]
    assert plan["sha256"] == AnalysisPlan.objects.get().digest
    assert plan["looks"] == [[56, 64]]
    assert plan["deviations"] == ["1 exclusion (1 item) follows none of the plan’s rules."]
    assert cells_of(content, "planned-comparisons")["H1", "Difference, valid at looks"]["low"] is not None
    assert release_reproduce(release_open(file)).exact

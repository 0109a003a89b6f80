"""A release of a study with a sealed plan holds the plan, and is reproduced with its marks, deviations and valid intervals."""

from __future__ import annotations

import io
import json

import pytest

from annotator.core.canonical import digest_of
from annotator.models import Exclusion
from evaluation.models import AnalysisPlan
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.selectors.analysis_plan import moment_text
from tests.evaluation.releases.releases import built, files_of, rebuilt
from tests.evaluation.reports.plans import H1, judge, sealed_study
from tests.evaluation.reports.studies import cells_of, small_study, stored

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
    plan_is_checked(file)


def plan_is_checked(file: io.BytesIO) -> None:
    """The release has the plan as files of its own: what was sealed, and nobody's name; another plan is noticed."""
    files, row = files_of(file), AnalysisPlan.objects.get()
    sealed = json.loads(files["plan.json"])
    assert sealed == {
        "plan": row.document,
        "design": row.design,
        "sealed_at": moment_text(row.sealed_at),
        "sha256": row.digest,
    }
    assert digest_of({name: sealed[name] for name in ("plan", "design", "sealed_at")}) == row.digest
    assert f"SHA-256 of the plan: `{row.digest}`" in files["plan.md"].decode()
    assert "ann" not in json.dumps(sealed["plan"])
    assert json.loads(files["manifest.json"])["format"] == 5
    assert {"@id": "plan.json"} in json.loads(files["ro-crate-metadata.json"])["@graph"][1]["hasPart"]

    def later(files: dict[str, bytes]) -> None:
        files["plan.json"] = files["plan.json"].replace(b"0.05", b"0.10")

    changed = release_reproduce(release_open(rebuilt(file, later, manifest=True, sums=True)))
    assert any(said.startswith("plan.json") for said in changed.problems)


def test_a_release_without_a_plan_has_the_format_that_earlier_versions_read() -> None:
    _, file = built(stored(small_study()))
    files = files_of(file)
    assert json.loads(files["manifest.json"])["format"] == 4
    assert "plan.json" not in files

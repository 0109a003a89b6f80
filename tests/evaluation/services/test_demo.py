"""The evaluation's part of the demo: created once; loading it again adds only what is missing."""

from __future__ import annotations

import pytest

from annotator.models import Judgment
from evaluation.models import Endpoint, Report, Run
from evaluation.services.demo import demo_results_load
from foretell.embedded.process import free_port
from tests.evaluation.run_factories import make_material

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_demo_gets_its_simulator_and_reports_once(settings: object) -> None:
    port = free_port()
    settings.LLM_ALLOWED_HOSTS = [f"127.0.0.1:{port}"]  # type: ignore[attr-defined]
    study = make_material(6, slug="demo-simulation")
    make_material(2, slug="demo-plausibility")
    base_url = f"http://127.0.0.1:{port}/v1"  # nothing listens there: the demo has its own provider
    first = list(demo_results_load(base_url=base_url))
    assert any("is done" in line for line in first)
    assert Judgment.objects.filter(study=study, source="simulator").count() == 6
    counts = (Run.objects.count(), Report.objects.count(), Endpoint.objects.count())
    assert counts == (1, 2, 1)
    assert set(Report.objects.values_list("state", flat=True)) == {"done"}
    across = Report.objects.get(others__isnull=False)
    assert [across.study.slug, across.others.get().slug] == ["demo-simulation", "demo-plausibility"]
    again = list(demo_results_load(base_url=base_url))
    assert any("already" in line for line in again)
    assert (Run.objects.count(), Report.objects.count(), Endpoint.objects.count()) == counts


def test_without_a_provider_nothing_is_simulated() -> None:
    assert "nothing was simulated" in next(demo_results_load(base_url=""))
    assert not Endpoint.objects.exists()

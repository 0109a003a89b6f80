"""The confidence of simulators' labels: asked for, stored beside the label, and compared with people's majority."""

from __future__ import annotations

import math

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.models import Judgment
from evaluation.models import Run
from evaluation.reports.plots import draw
from evaluation.runs.confidence import answer_confidence
from tests.evaluation.reports.studies import cells_of, computed, small_study
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


def test_log_probabilities_give_each_label_a_confidence(scripted: ScriptedProcess) -> None:
    study = make_material(5)
    make_endpoint(scripted)
    call_command(
        "simulate",
        study.slug,
        endpoint="scripted",
        logprobs=True,
        temperature=0.0,
        seed=7,
        inline=True,
        verbosity=0,
    )
    run = Run.objects.get()
    assert run.parameters == {"temperature": 0.0, "seed": 7, "logprobs": True}
    for call in run.calls.all():
        assert 0 < call.confidence <= 1
        signals = Judgment.objects.get(item=call.item).signals
        assert signals["confidence"] == pytest.approx(call.confidence, abs=1e-6)
        assert signals["confidence_from"] == "logprobs"
    assert len(set(run.calls.values_list("confidence", flat=True))) > 1


@pytest.mark.parametrize("repeated", ["!", ". ", "ANSWER: ", "answer ", '"', "\n"])
def test_a_long_reply_that_repeats_itself_has_a_confidence_or_none(repeated: str) -> None:
    """With a pattern that needs more than linear time, this takes minutes or hours."""
    text = f"ANSWER: {repeated * (200_000 // len(repeated))}x"
    assert answer_confidence(text[8:-1], ()) is None
    assert answer_confidence(text, [(text, -0.5)]) == pytest.approx(math.exp(-0.5))
    assert answer_confidence(text[8:-1], [(text[8:-1], -0.5)]) in (None, pytest.approx(math.exp(-0.5)))


def test_without_log_probabilities_a_label_has_no_confidence(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(2))
    work(run)
    assert set(run.calls.values_list("confidence", flat=True)) == {None}
    assert "confidence" not in Judgment.objects.first().signals  # type: ignore[union-attr]


def test_the_confidence_of_several_samples_is_the_share_that_agrees(scripted: ScriptedProcess) -> None:
    model = "scripted?quality=0.6"
    run = make_run(
        make_endpoint(scripted), make_material(8), model=model, samples=5, parameters={"temperature": 1.0}
    )
    work(run)
    found = 0
    for judgment in Judgment.objects.all():
        said = [call.parsed for call in run.calls.filter(item=judgment.item)]
        assert judgment.signals["confidence"] == pytest.approx(said.count(judgment.response) / 5)
        assert judgment.signals["confidence_from"] == "samples"
        found += judgment.signals["confidence"] < 1
    assert found, "all samples agreed: choose another seed"


def test_a_report_compares_confidence_with_peoples_majority(scripted: ScriptedProcess) -> None:
    study = small_study(simulator=True)
    sure = {"xa1": 0.9, "xa2": 0.9, "ya1": 0.6, "xb1": 0.6, "yb1": 0.8}
    for key, confidence in sure.items():
        Judgment.objects.filter(item__key=key, rater__name="gpt-4").update(signals={"confidence": confidence})
    content = computed(study, figures=True).content
    cells = cells_of(content, "calibration-confidence")
    # gpt-4 says yes to all; people's majorities are yes, yes, cannot guess, (tie), no, no: 4 of them have a confidence
    # and equal it twice. Of ya2, on which people are tied, nothing is known.
    share = cells["gpt-4", "Share equal to the majority of people"]
    assert share["value"] == pytest.approx(2 / 5)
    brier = (2 * 0.01 + 2 * 0.36 + 0.64) / 5
    assert cells["gpt-4", "Brier score"]["value"] == pytest.approx(brier)
    figures = [b for s in content["sections"] for b in s["blocks"] if b["id"] == "calibration-reliability-1"]
    assert len(figures) == 1
    assert "<svg" in draw(figures[0]).light
    assert [point["n"] for point in figures[0]["data"]["points"]] == [2, 1, 2]


def test_a_report_without_confidences_has_no_such_table(scripted: ScriptedProcess) -> None:
    content = computed(small_study(simulator=True)).content
    ids = {block["id"] for section in content["sections"] for block in section["blocks"]}
    assert "calibration" in ids
    assert not any(name.startswith(("calibration-confidence", "calibration-reliability")) for name in ids)


def test_the_form_and_the_api_take_temperature_seed_and_log_probabilities(scripted: ScriptedProcess) -> None:
    boss = make_user("boss", staff=True)
    client = Client()
    client.force_login(boss)
    endpoint = make_endpoint(scripted, by=boss)
    study = make_material(2, by=boss)
    chosen = {"temperature": 0.5, "seed": 3, "logprobs": True}
    made = client.post(
        f"/api/v1/studies/{study.slug}/runs/",
        {"endpoint": "scripted"} | chosen,
        content_type="application/json",
    )
    assert made.status_code == 201, made.content
    assert Run.objects.get().parameters == chosen
    fields = {
        "kind": "simulate", "study": study.pk, "endpoint": endpoint.pk, "samples": 1, "together": 1, "mode": "live",
        "workers": 1, "max_attempts": 6, "max_unparsable": 3, "parameters": "{}", "options": "{}",
        "temperature": "0.5", "seed": "3", "logprobs": "on",
    }  # fmt: skip
    client.post(reverse("admin:evaluation_run_add"), fields)
    assert Run.objects.count() == 2
    assert Run.objects.latest("pk").parameters == chosen

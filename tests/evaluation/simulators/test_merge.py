"""Simulators that were split by fingerprint are counted as one, and separated again."""

from __future__ import annotations

from collections import Counter
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.core.errors import Conflict
from annotator.models import AuditEntry, Item, Judgment
from evaluation.models import Run
from evaluation.simulators.merge import simulators_merge, simulators_separate
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


@pytest.fixture
def run(scripted: ScriptedProcess) -> Run:
    """A run whose judgments are those of several simulators."""
    study = make_material(24)
    run = make_run(make_endpoint(scripted), study, model="scripted?versions=3", by_fingerprint=True)
    work(run)
    assert len(raters(run)) == 3
    return run


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    return client


def raters(run: Run) -> Counter[int]:
    return Counter(Judgment.objects.filter(study=run.study).values_list("rater", flat=True))


def responses(run: Run) -> dict[int, object]:
    return dict(Judgment.objects.filter(study=run.study).values_list("item", "response"))


def test_split_simulators_are_merged_and_separated_again_on_the_page(boss: Client, run: Run) -> None:
    before, answers = raters(run), responses(run)
    page = reverse("admin:evaluation_run_change", args=[run.pk])
    shown = boss.get(page).content.decode()
    assert "2 other simulators have judgments of this study" in shown
    assert "Count its simulators as one" in shown
    assert "Separate its simulators again" not in shown
    said = boss.post(reverse("admin:evaluation_run_do", args=[run.pk, "merge-simulators"]), follow=True)
    assert "count as those of one simulator" in said.content.decode()
    assert raters(run) == {run.rater_id: 24}
    shown = boss.get(page).content.decode()
    assert "Separate its simulators again" in shown
    boss.post(reverse("admin:evaluation_run_do", args=[run.pk, "separate-simulators"]))
    assert (raters(run), responses(run)) == (before, answers)
    assert not Judgment.objects.filter(signals__has_key="rater_before_merge").exists()
    merged, separated = AuditEntry.objects.filter(action__startswith="judgments.simulators").order_by("pk")
    assert merged.study == separated.study == run.study
    assert sum(merged.before.values()) == merged.after["judgments"] == 24 - before[run.rater_id]
    assert separated.after == merged.before


def test_split_simulators_are_merged_over_the_api_and_from_the_command_line(boss: Client, run: Run) -> None:
    assert boss.post(f"/api/v1/runs/{run.pk}/merge-simulators/").status_code == 200
    assert len(raters(run)) == 1
    assert boss.post(f"/api/v1/runs/{run.pk}/merge-simulators/").status_code == 409
    call_command("run", str(run.pk), "separate-simulators", stdout=StringIO())
    assert len(raters(run)) == 3
    call_command("run", str(run.pk), "merge-simulators", stdout=StringIO())
    assert len(raters(run)) == 1


def test_what_can_not_be_merged_stays_as_it_is(run: Run) -> None:
    with pytest.raises(Conflict, match="were merged"):
        simulators_separate(run=run)
    Run.objects.filter(pk=run.pk).update(state="running")
    with pytest.raises(Conflict, match="under way"):
        simulators_merge(run=run)
    Run.objects.filter(pk=run.pk).update(state="done")
    own = Judgment.objects.filter(study=run.study, rater=run.rater).select_related("item").first()
    other = Judgment.objects.filter(study=run.study).exclude(rater=run.rater).first()
    assert own is not None
    assert other is not None
    assert isinstance(own.item, Item)
    Judgment.objects.create(
        study=other.study, item=own.item, rater=other.rater, response=other.response, source="simulator"
    )
    with pytest.raises(Conflict, match=r"judged the same item \(1 items\)"):
        simulators_merge(run=run)
    assert len(raters(run)) == 3

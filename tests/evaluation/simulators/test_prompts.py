"""A study's prompt: it must show the item and nothing that people don't see; shown, tried and compared on its page."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotator.hit_types.base import HitType
from annotator.hit_types.registry import hit_types
from annotator.models import Dataset, Instance
from annotator.services.workspace import workspace_member_set, workspace_personal
from evaluation.models import Run
from evaluation.runs.create import RunPlan
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_start
from evaluation.simulators.prompt_check import prompt_problems
from evaluation.simulators.start import simulation_create
from tests.contracts.cases import examples
from tests.evaluation.run_factories import make_endpoint, make_material, material_run_create
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

ASKED = [name for name, kind in hit_types().items() if not kind.external]


@pytest.mark.parametrize("name", ASKED)
def test_every_shipped_prompt_shows_the_item_and_nothing_too_early(name: str) -> None:
    kind = hit_types()[name]
    for case in examples(kind, "valid"):
        payload = kind.parse_item(case["row"]).payload
        presentation = kind.present(payload, Random(1))
        assert (
            prompt_problems(kind=kind, payload=payload, presentation=presentation, text=kind.prompt_text)
            == []
        )


@pytest.mark.parametrize("name", ASKED)
def test_a_prompt_without_the_item_is_refused_in_every_type(name: str) -> None:
    kind = hit_types()[name]
    row = examples(kind, "valid")[0]["row"]
    payload = kind.parse_item(row).payload
    presentation = kind.present(payload, Random(1))
    text = "## user\nAnswer with one line.\nANSWER: YES"
    problems = prompt_problems(kind=kind, payload=payload, presentation=presentation, text=text)
    assert problems
    assert all("never shows the item" in one for one in problems)


def test_a_prompt_that_shows_the_explanation_too_early_is_refused() -> None:
    kind = hit_types()["utility"]

    class Open(type(kind)):  # type: ignore[misc]
        """The type with every text of the item for the prompt of every stage."""

        def prompt_values(
            self, payload: Any, stage: int, before: Any, presentation: Any = None
        ) -> dict[str, str]:
            own = super().prompt_values(payload, stage, before, presentation)
            return own | {name: value for name, value in payload.items() if isinstance(value, str)}

    row = examples(kind, "valid")[0]["row"]
    payload = kind.parse_item(row).payload
    with pytest.raises(KeyError):
        check(kind, payload, kind.prompt_text.replace("$question", "$question $rationale"))
    problems = check(Open(), payload, kind.prompt_text.replace("$question", "$question $rationale"))
    assert any("only later" in one for one in problems), problems


def check(kind: HitType, payload: Any, text: str) -> list[str]:
    return prompt_problems(kind=kind, payload=payload, presentation={}, text=text)


def test_a_text_of_the_item_that_people_never_see_is_refused() -> None:
    kind = hit_types()["simulation"]
    row = examples(kind, "valid")[0]["row"]
    payload = kind.parse_item(row).payload | {"secret": "The robot really answered no."}
    assert check(kind, payload, kind.prompt_text) == []
    assert check(kind, payload, kind.prompt_text + "\n$secret") == [
        "$secret is a text of the item that people never see. Remove it from the prompt."
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("scripted_allowed")
def test_prompts_without_the_item_are_refused_before_a_run_is_created(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    with pytest.raises(ValidationError, match="never shows the item"):
        simulation_create(
            study=make_material(2), endpoint=endpoint, plan=RunPlan(prompt="## user\nYes or no?")
        )
    dataset = Dataset.objects.create(name="questions")
    Instance.objects.create(dataset=dataset, key="q", input="Can owls swim?", gold_label="no")
    with pytest.raises(ValidationError, match="never shows what it asks about"):
        material_run_create(
            kind="explain", dataset=dataset, endpoint=endpoint, plan=RunPlan(prompt="## user\nYes or no?"),
            options={"task": "yes_no", "method": "cot"},
        )  # fmt: skip
    assert not Run.objects.exists()
    # A prompt that shows a very short text does show it.
    Instance.objects.update(input="Y?")
    run = material_run_create(
        kind="explain", dataset=dataset, endpoint=endpoint, plan=RunPlan(), options={"task": "yes_no", "method": "cot"},
    )  # fmt: skip
    assert run.calls.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("scripted_allowed")
def test_a_prompt_is_edited_shown_tried_on_ten_items_and_compared(scripted: ScriptedProcess) -> None:
    boss = make_user("boss", staff=True)
    client = Client()
    client.force_login(boss)
    study = make_material(14, by=boss)
    endpoint = make_endpoint(scripted, by=boss)
    page = reverse("admin:evaluation_run_prompt", args=[study.pk])
    assert page in client.get(reverse("admin:study_simulators", args=[study.pk])).content.decode()
    first = client.get(page).content.decode()
    assert "Starter question" in first
    assert "built-in" in first
    shipped = hit_types()["simulation"].prompt_text
    fields = {"prompt": shipped.replace("Think in", "Think hard, in"), "endpoint": endpoint.pk, "items": 10}
    shown = client.post(page, fields | {"do": "preview"}).content.decode()
    assert shown.count('<details class="fh__call"') == 3
    assert "Think hard" in shown
    assert not Run.objects.exists()
    wrong = client.post(page, fields | {"prompt": "## user\nYes?", "do": "try"}).content.decode()
    assert "never shows the item" in wrong
    runs = []
    for prompt in (shipped, fields["prompt"]):
        client.post(page, fields | {"prompt": prompt, "do": "try"})
        runs.append(Run.objects.latest("pk"))
        assert run_inline(run=runs[-1]).calls.count() == 10
    assert runs[0].rater_id != runs[1].rater_id
    versions = client.get(page).content.decode()
    assert f"Compare run {runs[1].pk} with another" in versions
    compared = client.get(reverse("admin:evaluation_run_compare", args=[runs[1].pk]), {"with": runs[0].pk})
    assert "of 10 items have the same result" in compared.content.decode()
    old = client.get(page, {"version": runs[1].prompt_digest}).content.decode()
    assert "Think hard" in old
    stranger = Client()
    stranger.force_login(make_user("otto", staff=True))
    assert stranger.get(page).status_code == 404
    # A trial keeps its answers in its calls, so reports and metrics have no judgment of it.
    assert set(runs[1].calls.values_list("state", "applied")) == {("done", True)}
    assert not study.judgments.exists()
    client.post(page, fields | {"do": "try"})
    again = run_inline(run=Run.objects.latest("pk"))
    assert (again.calls.count(), again.calls.filter(from_cache=True).count()) == (10, 10)
    # The same simulator then judges the whole study, without paying for those ten again.
    whole = run_inline(
        run=run_start(
            run=simulation_create(study=study, endpoint=endpoint, plan=RunPlan(prompt=fields["prompt"]))
        )
    )
    assert (whole.rater_id, whole.calls.count(), study.judgments.count()) == (runs[1].rater_id, 14, 14)
    assert whole.calls.filter(from_cache=True).count() == 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("scripted_allowed")
def test_finished_trials_can_be_hidden_and_keep_what_was_paid_for(scripted: ScriptedProcess) -> None:
    boss = make_user("boss", staff=True)
    client = Client()
    client.force_login(boss)
    study = make_material(4, by=boss)
    endpoint = make_endpoint(scripted, by=boss)
    page = reverse("admin:evaluation_run_prompt", args=[study.pk])
    overview = reverse("admin:study_simulators", args=[study.pk])
    shipped = hit_types()["simulation"].prompt_text
    prompt = shipped.replace("Think in", "Think hard, in")
    assert 'value="hide"' not in client.get(page).content.decode()
    client.post(page, {"prompt": prompt, "endpoint": endpoint.pk, "items": 3, "do": "try"})
    trial = run_inline(run=Run.objects.get())
    client.post(page, {"prompt": shipped, "endpoint": endpoint.pk, "items": 2, "do": "try"})
    running = Run.objects.latest("pk")
    link = reverse("admin:evaluation_run_change", args=[trial.pk])
    assert "Hide 1 finished trial" in client.get(page).content.decode()
    kept = list(trial.calls.order_by("pk").values())

    assert "1 trial hidden." in client.post(page, {"do": "hide"}, follow=True).content.decode()
    shown = client.get(page).content.decode()
    assert trial.prompt_digest[:8] not in shown
    assert reverse("admin:evaluation_run_change", args=[running.pk]) in shown
    assert link not in client.get(overview).content.decode()
    assert link in client.get(page, {"hidden": ""}).content.decode()
    assert client.get(link).status_code == 200
    assert list(trial.calls.order_by("pk").values()) == kept
    whole = simulation_create(study=study, endpoint=endpoint, plan=RunPlan(prompt=prompt))
    whole = run_inline(run=run_start(run=whole))
    assert whole.calls.filter(from_cache=True).count() == 3
    assert whole.prompt_digest[:8] in client.get(page).content.decode()

    assert "1 trial shown again." in client.post(page, {"do": "show"}, follow=True).content.decode()
    assert link in client.get(page).content.decode()
    reader = make_user("reader", staff=True)
    workspace_member_set(workspace=workspace_personal(user=boss), username="reader", role="viewer")
    client.force_login(reader)
    assert client.post(page, {"do": "hide"}).status_code == 403
    assert "Hide" not in client.get(page).content.decode()

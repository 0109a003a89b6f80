"""Endpoints and runs in the admin: created, viewed, controlled; keys are never shown, and other people's aren't found."""

from __future__ import annotations

import html
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.models import Dataset, Rater
from evaluation.models import Endpoint, Pipeline, Run
from evaluation.pipelines.advance import pipeline_advance
from evaluation.pipelines.recipe import recipe_file, recipe_names
from evaluation.runs.inline import run_inline
from evaluation.services.endpoint import endpoint_save
from evaluation.services.endpoint_trial import endpoint_try
from tests.evaluation.admin.run_forms import boss_user, endpoint_fields, pipeline_fields
from tests.evaluation.pipelines.carried import MATERIAL
from tests.evaluation.run_factories import make_endpoint, make_material, make_run
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "sk-not-to-be-seen"


@pytest.fixture(autouse=True)
def _allowed(scripted: ScriptedProcess, settings: object) -> None:
    settings.LLM_ALLOWED_HOSTS = [scripted.host]  # type: ignore[attr-defined]


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    return client


def test_an_endpoint_is_created_and_its_key_never_shown(boss: Client, scripted: ScriptedProcess) -> None:
    done = boss.post(reverse("admin:evaluation_endpoint_add"), endpoint_fields(scripted, key=SECRET))
    assert done.status_code == 302, done.content.decode()[-3000:]
    endpoint = Endpoint.objects.get()
    assert SECRET.encode() not in bytes(endpoint.key_encrypted)
    for page in (
        reverse("admin:evaluation_endpoint_changelist"),
        reverse("admin:evaluation_endpoint_change", args=[endpoint.pk]),
    ):
        shown = boss.get(page)
        assert shown.status_code == 200
        assert SECRET not in shown.content.decode()
    run = make_run(endpoint, make_material(2, by=boss_user()))
    run_inline(run=run)
    assert SECRET not in str(list(run.calls.values())) + str(Run.objects.values()[0])


def test_a_stored_key_is_dropped_when_the_address_changes(boss: Client, scripted: ScriptedProcess) -> None:
    boss.post(reverse("admin:evaluation_endpoint_add"), endpoint_fields(scripted, key=SECRET))
    endpoint = Endpoint.objects.get()
    assert endpoint.key_encrypted
    boss.post(
        reverse("admin:evaluation_endpoint_change", args=[endpoint.pk]),
        endpoint_fields(scripted, base_url="https://elsewhere.example/v1"),
    )
    endpoint.refresh_from_db()
    assert endpoint.base_url == "https://elsewhere.example/v1"
    assert not endpoint.key_encrypted


@pytest.mark.parametrize("url", ["http://169.254.169.254/v1", "https://10.0.0.1/v1", "file:///etc/passwd"])
def test_the_form_refuses_an_address_that_is_not_allowed(
    boss: Client, scripted: ScriptedProcess, url: str
) -> None:
    page = boss.post(reverse("admin:evaluation_endpoint_add"), endpoint_fields(scripted, base_url=url))
    assert page.status_code == 200
    assert not Endpoint.objects.exists()


def test_the_test_button_shows_the_reply(boss: Client, scripted: ScriptedProcess) -> None:
    good, bad = make_endpoint(scripted), make_endpoint(scripted, name="bad", model="scripted?status=401")
    page = boss.post(reverse("admin:evaluation_endpoint_try", args=[good.pk]), follow=True).content.decode()
    assert "The endpoint responded in" in page
    page = boss.post(reverse("admin:evaluation_endpoint_try", args=[bad.pk]), follow=True).content.decode()
    assert "HTTP 401" in page
    assert endpoint_try(endpoint=good).ok
    assert boss.get(reverse("admin:evaluation_endpoint_try", args=[good.pk])).status_code == 405


def test_a_run_is_created_estimated_started_paused_and_finished(
    boss: Client, scripted: ScriptedProcess
) -> None:
    endpoint, study = make_endpoint(scripted), make_material(6)
    fields = {
        "kind": "simulate",
        "study": study.pk,
        "endpoint": endpoint.pk,
        "parameters": "{}",
        "options": "{}",
        "samples": 1,
        "together": 1,
        "mode": "live",
        "workers": 1,
        "use_cache": "on",
        "max_attempts": 6,
        "max_unparsable": 3,
    }
    assert boss.get(reverse("admin:evaluation_run_add")).status_code == 200
    done = boss.post(reverse("admin:evaluation_run_add"), fields)
    assert done.status_code == 302, done.content.decode()[-3000:]
    run = Run.objects.get()
    page = boss.get(reverse("admin:evaluation_run_change", args=[run.pk])).content.decode()
    assert "6 calls" in page
    assert "Nothing has been sent" in page
    assert "Can bird number 0 fly?" in page  # the prompt with a real item
    for name, state in [("start", "running"), ("pause", "paused"), ("resume", "running")]:
        boss.post(reverse("admin:evaluation_run_do", args=[run.pk, name]))
        run.refresh_from_db()
        assert run.state == state
    run_inline(run=run)
    part = boss.get(reverse("admin:evaluation_run_progress", args=[run.pk])).content.decode()
    assert "6 of 6 calls" in part
    assert "every 2s" not in part
    assert boss.get(reverse("admin:evaluation_run_changelist")).status_code == 200
    calls = boss.get(reverse("admin:evaluation_call_changelist"), {"run__id__exact": run.pk})
    assert calls.status_code == 200
    call = run.calls.first()
    assert call is not None
    assert boss.get(reverse("admin:evaluation_call_change", args=[call.pk])).status_code == 200
    boss.post(reverse("admin:evaluation_run_do", args=[run.pk, "start"]))
    run.refresh_from_db()
    assert run.state == "done"


def test_a_run_under_way_is_polled(boss: Client, scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(2))
    page = boss.get(reverse("admin:evaluation_run_change", args=[run.pk])).content.decode()
    assert f'hx-get="{reverse("admin:evaluation_run_progress", args=[run.pk])}"' in page


def test_what_a_model_wrote_is_shown_as_text(boss: Client, scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(1))
    run.calls.update(text="<script>alert(1)</script>", error="<img src=x onerror=alert(2)>")
    call = run.calls.get()
    page = boss.get(reverse("admin:evaluation_call_change", args=[call.pk])).content.decode()
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_other_peoples_runs_are_not_found(client: Client, scripted: ScriptedProcess) -> None:
    owner = make_user("owner", staff=True)
    run = make_run(make_endpoint(scripted, by=owner), make_material(1, by=owner))
    client.force_login(make_user("other", staff=True))
    for url in (
        reverse("admin:evaluation_run_progress", args=[run.pk]),
        reverse("admin:evaluation_run_change", args=[run.pk]),
        reverse("admin:evaluation_call_change", args=[run.calls.get().pk]),
    ):
        assert client.get(url).status_code in (302, 404)
    assert client.post(reverse("admin:evaluation_run_do", args=[run.pk, "cancel"])).status_code == 404
    run.refresh_from_db()
    assert run.state == "running"
    client.force_login(make_user("annotator"))
    assert client.get(reverse("admin:evaluation_run_progress", args=[run.pk])).status_code == 302


def test_a_variable_that_the_operator_does_not_offer_cannot_be_named(scripted: ScriptedProcess) -> None:
    from django.core.exceptions import ValidationError

    endpoint = make_endpoint(scripted)
    endpoint.key_variable = "SECRET_KEY"
    with pytest.raises(ValidationError, match="LLM_KEYS"):
        endpoint_save(endpoint=endpoint)


def test_the_preview_shows_the_prompt_for_a_real_item_and_creates_nothing(
    boss: Client, scripted: ScriptedProcess
) -> None:
    study = make_material(3)
    fields = {
        "kind": "simulate", "study": study.pk, "endpoint": make_endpoint(scripted, structured=True).pk, "samples": 2,
        "together": 1, "mode": "live", "workers": 1, "max_attempts": 6, "max_unparsable": 3, "parameters": "{}",
        "options": "{}", "preview_item": "item-2", "prompt": "## user\nMINE <b>$follow_up</b>",
    }  # fmt: skip
    assert "formaction" in boss.get(reverse("admin:evaluation_run_add")).content.decode()
    page = boss.post(reverse("admin:evaluation_run_preview"), fields).content.decode()
    item = study.items.get(key="item-2")
    assert "Request for item item-2" in page
    assert f"MINE <b>{item.payload['follow_up']}</b>" in html.unescape(page)
    assert "MINE <b>" not in page
    assert "6 calls" in page
    assert "JSON schema" in page
    assert not Run.objects.exists()
    assert not Rater.objects.filter(kind="simulator").exists()
    for wrong, said in (
        ({"preview_item": "item-9"}, "There is nothing to ask about"),
        ({"prompt": "## user\n$nothing_of_the_kind"}, "nothing_of_the_kind"),
        ({"study": ""}, "Choose the study"),
    ):
        shown = boss.post(reverse("admin:evaluation_run_preview"), fields | wrong)
        assert shown.status_code == 200
        assert said in shown.content.decode()
    assert scripted.stats()["requests"] == 0


def carried_on(pipeline: Pipeline) -> None:
    while pipeline_advance(pipeline_pk=pipeline.pk) == "waiting":
        run_inline(run=pipeline.runs.get(state="running"))


def test_a_pipeline_is_started_and_followed_and_its_steps_are_repeated(
    boss: Client, scripted: ScriptedProcess
) -> None:
    endpoint = make_endpoint(scripted, by=boss_user(), model="scripted?quality=0.9")
    add = reverse("admin:evaluation_pipeline_add")
    assert "p2-medical: Simulatability" in boss.get(add).content.decode()
    begun = boss.post(add, pipeline_fields(endpoint, budget="5", limit="1"))
    pipeline = Pipeline.objects.get()
    assert begun["Location"] == reverse("admin:evaluation_pipeline_change", args=[pipeline.pk])
    assert pipeline.dataset.instances.count() == 1
    progress = reverse("admin:evaluation_pipeline_progress", args=[pipeline.pk])
    assert "every 2s" in boss.get(progress).content.decode()
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
    assert "0 of 1 call" in boss.get(progress).content.decode()
    carried_on(pipeline)
    page = boss.get(begun["Location"]).content.decode()
    assert "Done: 11 of 11 steps" in page
    assert "every 2s" not in boss.get(progress).content.decode()
    budgets = [run.budget_cost for run in pipeline.runs.order_by("pk")]
    assert budgets[0] == 5
    assert budgets == sorted(budgets, reverse=True)
    assert budgets[-1] < 5  # what is left after the earlier steps
    again = reverse("admin:evaluation_pipeline_again", args=[pipeline.pk])
    for step, where in (("explain-cot", "/run/"), ("study", "/study/"), ("report", "/reports/")):
        done = boss.post(again, {"step": step})
        assert where in done["Location"], step
        assert boss.get(done["Location"]).status_code == 200
    assert "nothing to ask about" in boss.post(again, {"step": "units"}, follow=True).content.decode()
    assert "no step" in boss.post(again, {"step": "nonsense"}, follow=True).content.decode()
    recipes = boss.get(reverse("admin:evaluation_recipe_changelist")).content.decode()
    assert "p2-medical v1" in recipes
    assert all(f"?recipe={name}" in recipes for name in recipe_names()), "those that ship are listed too"


def test_a_paused_pipeline_can_be_resumed_or_cancelled(boss: Client, scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, by=boss_user())
    overrides = json.dumps({"explain-cot": {"model": "scripted?status=401"}})
    boss.post(reverse("admin:evaluation_pipeline_add"), pipeline_fields(endpoint, overrides=overrides))
    pipeline = Pipeline.objects.get()
    carried_on(pipeline)
    page = boss.get(reverse("admin:evaluation_pipeline_change", args=[pipeline.pk])).content.decode()
    assert "HTTP 401" in page
    Pipeline.objects.update(overrides={})
    first = pipeline.runs.get()
    boss.post(reverse("admin:evaluation_run_do", args=[first.pk, "cancel"]))
    boss.post(reverse("admin:evaluation_pipeline_do", args=[pipeline.pk, "resume"]))
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
    assert pipeline.runs.get().pk != first.pk  # a cancelled run is not taken up again
    boss.post(reverse("admin:evaluation_pipeline_do", args=[pipeline.pk, "cancel"]))
    pipeline.refresh_from_db()
    assert (pipeline.state, pipeline.runs.get().state) == ("cancelled", "cancelled")
    done = boss.post(reverse("admin:evaluation_pipeline_do", args=[pipeline.pk, "resume"]), follow=True)
    assert "is cancelled" in done.content.decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"file": ""}, "either a dataset or a file"),
        ({"file": SimpleUploadedFile("x.jsonl", b'{"query": "a"}\n{no')}, "x.jsonl:2: '{no': is not JSON"),
        (
            {"file": SimpleUploadedFile("x.csv", b"key,query\na,b,c\n")},
            "x.csv:2: expected 2 cells, got 3",
        ),
        ({"changed": "{"}, "not JSON"),
        ({"changed": '{"name": "x", "task": "news", "steps": []}'}, "expected at least one"),
        ({"overrides": '{"nothing": {}}'}, "no step named nothing"),
        ({"overrides": '{"units": {"budget": "much"}}'}, "units: budget"),
        ({"overrides": "[1]"}, "Enter a JSON object"),
    ],
)
def test_an_invalid_pipeline_is_refused_and_writes_nothing(
    boss: Client, scripted: ScriptedProcess, fields: dict[str, object], said: str
) -> None:
    form = pipeline_fields(make_endpoint(scripted, by=boss_user()), **fields)
    refused = boss.post(reverse("admin:evaluation_pipeline_add"), form)
    assert refused.status_code == 200
    assert said in html.unescape(refused.content.decode())
    assert not Pipeline.objects.exists()
    assert not Dataset.objects.filter(name__contains="x ·").exists()


def test_other_peoples_pipelines_are_not_found(client: Client, scripted: ScriptedProcess) -> None:
    owner, other = make_user("owner", staff=True), make_user("other", staff=True)
    client.force_login(owner)
    client.post(reverse("admin:evaluation_pipeline_add"), pipeline_fields(make_endpoint(scripted, by=owner)))
    pipeline = Pipeline.objects.get()
    pages = [
        reverse("admin:evaluation_pipeline_progress", args=[pipeline.pk]),
        reverse("admin:evaluation_pipeline_change", args=[pipeline.pk]),
    ]
    assert [client.get(page).status_code for page in pages] == [200, 200]
    client.force_login(other)
    assert client.get(pages[0]).status_code == 404
    assert client.get(pages[1]).status_code in (302, 404)
    for name in ("do", "again"):
        address = reverse(
            f"admin:evaluation_pipeline_{name}", args=[pipeline.pk, *(["cancel"] * (name == "do"))]
        )
        assert client.post(address).status_code == 404
    assert str(pipeline.dataset) not in client.get(reverse("admin:evaluation_pipeline_add")).content.decode()
    pipeline.refresh_from_db()
    assert pipeline.state == "running"


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_can_be_started_from_the_admin(
    name: str, boss: Client, scripted: ScriptedProcess
) -> None:
    """From there on it is the pipeline that the command begins too (``test_pipelines``)."""
    task = recipe_file(name)["task"]
    rows = MATERIAL[task]
    if name == "p3-quark":  # trains on some questions and tests on others
        rows = [row | {"qid": f"{row['qid']}{number}"} for number in range(8) for row in rows]
    file = SimpleUploadedFile(f"{task}.json", json.dumps(rows).encode())
    fields = pipeline_fields(make_endpoint(scripted, by=boss_user()), recipe=name, file=file)
    assert boss.post(reverse("admin:evaluation_pipeline_add"), fields).status_code == 302
    pipeline = Pipeline.objects.get()
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
    run = run_inline(run=pipeline.runs.get())
    assert (run.state, run.calls.filter(state="done").count()) == ("done", run.calls.count())
    assert run.created_by == pipeline.created_by


def test_a_file_with_too_few_questions_for_both_parts_is_refused_in_the_form(
    boss: Client, scripted: ScriptedProcess
) -> None:
    file = SimpleUploadedFile("yes_no.json", json.dumps(MATERIAL["yes_no"]).encode())
    fields = pipeline_fields(make_endpoint(scripted, by=boss_user()), recipe="p3-quark", file=file)
    shown = boss.post(reverse("admin:evaluation_pipeline_add"), fields)
    assert shown.status_code == 200
    assert "None of its 2 instances is in the" in shown.content.decode()
    assert not Pipeline.objects.exists()


def test_the_endpoint_page_suggests_the_list_price_and_shows_an_outage(
    boss: Client, scripted: ScriptedProcess
) -> None:
    endpoint = make_endpoint(scripted, base_url="https://api.openai.com/v1", model="gpt-4o-mini")
    page = reverse("admin:evaluation_endpoint_change", args=[endpoint.pk])
    shown = boss.get(page).content.decode()
    assert "0.15 input, 0.075 cached input, 0.6 output" in shown
    Endpoint.objects.update(
        base_url="https://llm.example.org/v1", trouble="HTTP 503: <b>", failing_since=timezone.now()
    )
    shown = boss.get(page).content.decode()
    assert "List price" not in shown
    assert "HTTP 503: &lt;b&gt;" in shown

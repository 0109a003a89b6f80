"""Endpoints and runs in the admin: made, looked at, steered; keys never shown; other people's not found."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from evaluation.models import Endpoint, Run
from evaluation.services.endpoint import endpoint_save, endpoint_try
from evaluation.services.run_inline import run_inline
from tests.evaluation.llm.provider import ScriptedProcess
from tests.evaluation.llm.runs import make_endpoint, make_material, make_run
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


def endpoint_fields(scripted: ScriptedProcess, **more: str) -> dict[str, str]:
    return {
        "name": "e",
        "base_url": scripted.base_url,
        "model": "scripted",
        "parameters": "{}",
        "concurrency": "4",
        "price_in": "1",
        "price_out": "2",
        "timeout_seconds": "5",
    } | more


def test_an_endpoint_is_made_and_its_key_never_shown(boss: Client, scripted: ScriptedProcess) -> None:
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
    run = make_run(endpoint, make_material(2))
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
def test_an_address_that_may_not_be_asked_is_refused_in_the_form(
    boss: Client, scripted: ScriptedProcess, url: str
) -> None:
    page = boss.post(reverse("admin:evaluation_endpoint_add"), endpoint_fields(scripted, base_url=url))
    assert page.status_code == 200
    assert not Endpoint.objects.exists()


def test_the_test_button_says_what_comes_back(boss: Client, scripted: ScriptedProcess) -> None:
    good, bad = make_endpoint(scripted), make_endpoint(scripted, name="bad", model="scripted?status=401")
    page = boss.post(reverse("admin:evaluation_endpoint_try", args=[good.pk]), follow=True).content.decode()
    assert "It answers" in page
    page = boss.post(reverse("admin:evaluation_endpoint_try", args=[bad.pk]), follow=True).content.decode()
    assert "HTTP 401" in page
    assert endpoint_try(endpoint=good).ok
    assert boss.get(reverse("admin:evaluation_endpoint_try", args=[good.pk])).status_code == 405


def test_a_run_is_made_estimated_started_paused_and_finished(boss: Client, scripted: ScriptedProcess) -> None:
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
    run = make_run(make_endpoint(scripted), make_material(1, by=make_user("owner", staff=True)))
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

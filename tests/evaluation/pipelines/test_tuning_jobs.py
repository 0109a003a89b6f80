"""The fine-tuning jobs of a pipeline where a researcher sees and cancels them: its page, the API and the command."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.errors import Conflict
from annotator.models import AuditAction, AuditEntry, Dataset, User
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, FineTuning, Pipeline
from evaluation.pipelines import training, tuning_control
from evaluation.pipelines.advance import pipeline_cancel, pipeline_resume
from evaluation.pipelines.budget import tuning_spent
from evaluation.pipelines.contract import CurrentStep
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.training import tuning_work
from evaluation.pipelines.tuning_control import tuning_give_up, tunings_sweep
from evaluation.providers.base import ProviderError
from evaluation.providers.contract import TuningJob
from tests.factories import make_user

pytestmark = pytest.mark.django_db
AT = "127.0.0.1:9"
RECIPE: dict[str, Any] = {
    "name": "tuned",
    "title": "Tuned",
    "task": "yes_no",
    "steps": [
        {"name": "rationales", "kind": "explain", "options": {"method": "cot", "system": "{model} · cot"}},
        {"name": "tune", "kind": "fine_tune", "options": {}},
    ],
}


@pytest.fixture
def ada() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def boss(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def pipeline(ada: User) -> Pipeline:
    workspace = workspace_personal(user=ada)
    endpoint = Endpoint.objects.create(
        workspace=workspace, name="lab", base_url=f"http://{AT}/v1", model="llama"
    )
    dataset = Dataset.objects.create(name="questions", workspace=workspace)
    made = pipeline_create(
        recipe=recipe_save(content=RECIPE, workspace=workspace),
        dataset=dataset,
        endpoint=endpoint,
        created_by=ada,
    )
    made.step, made.results = 1, {"rationales": {"items": 1}}
    made.save()
    return made


def job(pipeline: Pipeline, state: str = "running", **more: Any) -> FineTuning:
    known: dict[str, Any] = {
        "base_model": "llama",
        "examples": 24,
        "file": '{"messages": []}\n',
        "file_id": "file-1",
        "job_id": "ftjob-1",
        "deployments": [AT],
        "price": Decimal(3),
        "most_cost": Decimal("0.5"),
        "started_at": timezone.now() - timedelta(minutes=65),
    }
    return FineTuning.objects.create(
        pipeline=pipeline, endpoint=pipeline.endpoint, step="tune", state=state, **(known | more)
    )


def answers(monkeypatch: pytest.MonkeyPatch, *replies: TuningJob | Exception | None) -> list[int]:
    """Give these replies of the endpoint in turn; returns how many were asked for, in a list of one."""
    asked = [0]

    def ask(endpoint: Endpoint, what: Any) -> Any:
        asked[0] += 1
        reply = replies[asked[0] - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    monkeypatch.setattr(training, "tuner_ask", ask)
    monkeypatch.setattr(tuning_control, "tuner_ask", ask)
    return asked


def shown(boss: Client, pipeline: Pipeline) -> str:
    return boss.get(reverse("admin:evaluation_pipeline_progress", args=[pipeline.pk])).content.decode()


def do(boss: Client, pipeline: Pipeline, action: str, **sent: Any) -> str:
    url = reverse("admin:evaluation_pipeline_do", args=[pipeline.pk, action])
    return boss.post(url, sent, follow=True).content.decode()


def test_a_model_is_trained_at_the_endpoint_that_the_step_names(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Endpoint.objects.create(
        workspace=pipeline.endpoint.workspace, name="tuner", base_url="http://127.0.0.1:8/v1", model="base"
    )
    monkeypatch.setattr(training, "examples_of", lambda _: ["an example"])
    monkeypatch.setattr(training, "chat_lines", lambda _: '{"messages": []}\n')
    pipeline.overrides = {"tune": {"endpoint": "tuner"}}
    assert training.tuning_step(CurrentStep(pipeline, RECIPE["steps"][1])) is None
    tuning = FineTuning.objects.get()
    assert (tuning.endpoint, tuning.base_model) == (other, "base")


def test_the_page_shows_a_running_job_in_full_and_stays_live(boss: Client, pipeline: Pipeline) -> None:
    tuning = job(pipeline, reported_state="validating_files")
    text = shown(boss, pipeline)
    for part in ("at the endpoint (validating files)", "ftjob-1", "file-1; 24 examples, 1 epoch", "llama", "1 h 5 min", "at most 0.50",
                 "The endpoint, which trains the model.", "Cancel this job", 'hx-trigger="every 2s"'):  # fmt: skip
        assert part in text, part
    got = boss.get(reverse("admin:evaluation_pipeline_training_file", args=[pipeline.pk, tuning.pk]))
    assert (got.content.decode(), got["Content-Type"]) == (tuning.file, "application/x-ndjson")
    assert "attachment" in got["Content-Disposition"]


def test_the_page_shows_the_trained_model_and_what_it_cost(boss: Client, pipeline: Pipeline) -> None:
    job(pipeline, "done", model="ft:llama:1", cost=Decimal("0.0042"), trained_tokens=1400, finished_at=timezone.now())  # fmt: skip
    Pipeline.objects.update(state="done", step=2)
    text = shown(boss, pipeline)
    assert "ft:llama:1" in text
    assert "0.0042 for 1,400 training tokens" in text
    assert "Cancel this job" not in text
    assert "hx-trigger" not in text


def test_a_cancelled_pipeline_says_why_its_job_is_not_cancelled_yet(
    boss: Client, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(pipeline)
    Endpoint.objects.update(base_url="http://localhost:9/v1")
    pipeline_cancel(pipeline=pipeline)
    asked = answers(monkeypatch, TuningJob("ftjob-1", "cancelled", reported="cancelled"))
    tunings_sweep()
    assert asked == [0], "nothing was sent to another deployment"
    text = shown(boss, pipeline)
    for part in ("being cancelled", f"The job is at {AT}, and the endpoint lab is at localhost:9 now",
                 "It&#x27;s the same deployment: cancel the job there", "Stop waiting for the endpoint", "hx-trigger"):  # fmt: skip
        assert part in text, part

    do(boss, pipeline, "same-deployment-cancel", deployments=["elsewhere:9"])
    assert FineTuning.objects.get().deployments == [AT], "what was confirmed isn't where the endpoint is"
    do(boss, pipeline, "same-deployment-cancel", deployments=["localhost:9"])
    tuning = FineTuning.objects.get()
    assert tuning.deployments == [AT, "localhost:9"]
    assert AuditEntry.objects.filter(action=AuditAction.DEPLOYMENT_CONFIRMED).count() == 1
    tunings_sweep()
    tuning.refresh_from_db()
    assert (tuning.state, asked) == ("cancelled", [1])
    pipeline.refresh_from_db()
    assert pipeline.state == "cancelled"
    assert "hx-trigger" not in shown(boss, pipeline)


def test_one_job_is_cancelled_and_its_pipeline_can_start_another(
    boss: Client, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(pipeline)
    assert "The job is being cancelled" in do(boss, pipeline, "cancel-job")
    answers(monkeypatch, TuningJob("ftjob-1", "cancelled", tokens=900))
    tunings_sweep()
    first = FineTuning.objects.get()
    assert (first.state, first.cost) == ("cancelled", Decimal("0.0027"))
    assert "No fine-tuning job of this pipeline is waiting or running" in do(boss, pipeline, "cancel-job")
    training.tuning_step(CurrentStep(pipeline, RECIPE["steps"][1]))
    assert (pipeline.state, pipeline.reason) == (
        "paused",
        "tune: fine-tuning cancelled: Resume the pipeline to start the job again.",
    )
    pipeline.save()
    assert "Resume the pipeline to start a new job" in shown(boss, pipeline)
    pipeline_resume(pipeline=pipeline)
    job(pipeline, job_id="ftjob-2")
    text = shown(boss, pipeline)
    assert "replaced by another job" in text
    assert "ftjob-1" in text
    assert tuning_spent(pipeline) == Decimal("0.5027"), "what the replaced job cost still counts"


@pytest.mark.parametrize(
    "refused", [ProviderError("unauthorized", "401: the key was revoked"), ProviderError("no_quota", "402")]
)
def test_a_refused_key_pauses_and_starts_no_second_job(
    refused: ProviderError, boss: Client, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(pipeline)
    answers(monkeypatch, refused, TuningJob("ftjob-1", "succeeded", "ft:llama:1", tokens=10))
    assert tuning_work(pipeline_pk=pipeline.pk) is False
    pipeline.refresh_from_db()
    assert (pipeline.state, FineTuning.objects.get().state) == ("paused", "running")
    assert pipeline.reason == f"tune: The fine-tuning job ftjob-1 can't be checked: {refused}"
    pipeline_resume(pipeline=pipeline)
    assert tuning_work(pipeline_pk=pipeline.pk)
    tuning = FineTuning.objects.get()
    assert (tuning.state, tuning.model, tuning.error) == ("done", "ft:llama:1", "")


def test_a_job_that_the_endpoint_does_not_know_has_failed(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(pipeline)
    answers(monkeypatch, ProviderError("not_found", "404: no such job"))
    assert tuning_work(pipeline_pk=pipeline.pk)
    tuning = FineTuning.objects.get()
    assert (tuning.state, tuning.error) == ("failed", "404: no such job")


@pytest.mark.parametrize(
    ("replies", "state", "error"),
    [
        ([ProviderError("unauthorized", "401: no")] * 2, "cancelling", "401: no"),
        ([ProviderError("server", "503: later")], "cancelling", "503: later"),
        ([TuningJob("ftjob-1", "running", reported="cancelling")], "cancelling", ""),
        ([ProviderError("bad_request", "it has ended"), TuningJob("ftjob-1", "succeeded", "ft:1", tokens=4)], "done", ""),
        ([ProviderError("not_found", "404: gone")], "cancelled", "The endpoint doesn't know this job: 404: gone"),
    ],
)  # fmt: skip
def test_a_cancellation_ends_only_when_the_endpoint_has_confirmed_it(
    replies: list[TuningJob | Exception],
    state: str,
    error: str,
    pipeline: Pipeline,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job(pipeline)
    pipeline_cancel(pipeline=pipeline)
    answers(monkeypatch, *replies)
    tunings_sweep()
    tuning = FineTuning.objects.get()
    assert (tuning.state, tuning.error) == (state, error)
    if state == "cancelling":
        assert tuning_spent(pipeline) == Decimal("0.5"), "until it's confirmed, the job may cost something"


def test_a_job_that_a_killed_worker_had_started_is_found_and_cancelled(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(pipeline, "waiting", job_id="", started_at=None)
    pipeline_cancel(pipeline=pipeline)
    asked = answers(monkeypatch, TuningJob("ftjob-7", "running"), TuningJob("ftjob-7", "cancelled"))
    tunings_sweep()
    tuning = FineTuning.objects.get()
    assert (tuning.state, tuning.job_id, asked) == ("cancelled", "ftjob-7", [2])


def test_a_job_cancelled_while_a_worker_starts_it_is_cancelled_at_the_endpoint(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(pipeline, "waiting", job_id="", started_at=None)
    replies = iter([None, TuningJob("ftjob-1", "running"), TuningJob("ftjob-1", "cancelled")])

    def ask(endpoint: Endpoint, what: Any) -> Any:
        reply = next(replies)
        if reply is None:  # the worker has just looked for a job
            pipeline_cancel(pipeline=pipeline)
        return reply

    monkeypatch.setattr(training, "tuner_ask", ask)
    monkeypatch.setattr(tuning_control, "tuner_ask", ask)
    assert tuning_work(pipeline_pk=pipeline.pk) is False
    assert FineTuning.objects.get().state == "cancelling"
    tunings_sweep()
    assert FineTuning.objects.get().state == "cancelled"


def test_a_researcher_stops_waiting_for_an_endpoint_that_is_gone(boss: Client, pipeline: Pipeline) -> None:
    job(pipeline)
    with pytest.raises(Conflict, match="No fine-tuning job of this pipeline is being cancelled"):
        tuning_give_up(pipeline=pipeline)
    pipeline_cancel(pipeline=pipeline)
    do(boss, pipeline, "give-up-job")
    tuning = FineTuning.objects.get()
    assert (tuning.state, tuning.cost) == ("cancelled", tuning.most_cost)
    assert "cancel it there" in shown(boss, pipeline)
    entry = AuditEntry.objects.get(action=AuditAction.FINE_TUNING_GIVEN_UP)
    assert entry.after == {"job": "ftjob-1"}


def test_the_command_shows_and_cancels_the_job(pipeline: Pipeline) -> None:
    job(pipeline)
    out = StringIO()
    call_command("pipeline_control", pipeline.pk, "cancel-job", stdout=out)
    assert "Fine-tuning of tune: being cancelled" in out.getvalue()
    assert "  Job: ftjob-1\n" in out.getvalue()
    with pytest.raises(CommandError, match="none was cancelled"):
        call_command("pipeline_control", pipeline.pk, "cancel-job")
    call_command("pipeline_control", pipeline.pk, "give-up-job")
    assert FineTuning.objects.get().state == "cancelled"


def test_the_api_shows_and_cancels_the_job(
    boss: Client, pipeline: Pipeline, django_assert_max_num_queries: Any
) -> None:
    job(pipeline)
    url = f"/api/v1/pipelines/{pipeline.pk}/"
    got = boss.get(url).json()["tunings"][0]
    assert (got["job_id"], got["state"], got["most_cost"]) == ("ftjob-1", "running", "0.50000000")
    assert got["waits_for"].startswith("The endpoint")
    assert got["seconds"] >= 3900
    assert "file" not in got, "the training file itself isn't in each answer"
    assert boss.post(f"{url}cancel-job/").json()["tunings"][0]["state"] == "cancelling"
    assert boss.post(f"{url}cancel-job/").status_code == 409
    for number in range(3):
        other = Pipeline.objects.create(
            recipe=pipeline.recipe, dataset=pipeline.dataset, endpoint=pipeline.endpoint, state="paused"
        )
        job(other, job_id=f"other-{number}")
    with django_assert_max_num_queries(10):
        assert len(boss.get("/api/v1/pipelines/").json()) == 4

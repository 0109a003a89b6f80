"""Fine-tuning in a pipeline: every round's rationales, rewards, file, job and model are rows.

Nothing here waits: a worker checks a job and returns later. A job is started once: a worker that takes over looks for
the file's job before it starts one.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from datetime import timedelta
from decimal import ROUND_UP, Decimal
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Max
from django.utils import timezone

from annotator.core import jobs
from annotator.hit_types.base import JSON, prompt_part, render_prompt
from annotator.hit_types.making import question_columns
from annotator.models import Instance
from evaluation.models import Endpoint, FineTuning, Pipeline, Reward
from evaluation.pipelines.budget import step_budget
from evaluation.pipelines.contract import CurrentStep
from evaluation.pipelines.endpoints import step_endpoint
from evaluation.pipelines.moved import moved_refuse, tuning_moved_reason
from evaluation.prompts import prompt_file, shown
from evaluation.prompts.rewards import HeldOut, TrainingExample, chat_lines
from evaluation.providers.base import ProviderError
from evaluation.providers.contract import FineTuner, TuningJob
from evaluation.providers.keys import KeyRefused
from evaluation.runs.endpoint_settings import deployment_of, is_elsewhere
from evaluation.selectors.endpoint import endpoint_client, fine_tuner_of
from evaluation.selectors.material import parts_of

T = TypeVar("T")
#: The endpoint's final state of a job -> ours.
ENDED = {
    "succeeded": FineTuning.State.DONE,
    "failed": FineTuning.State.FAILED,
    "cancelled": FineTuning.State.CANCELLED,
}
#: After a request about a job has failed, the next one waits so long.
AGAIN = timedelta(seconds=30)
_MILLION = Decimal(1_000_000)
_UNIT = Decimal("0.00000001")


def examples_of(pipeline: Pipeline) -> list[TrainingExample]:
    """Every rewarded sample of a pipeline so far, in the order in which they were rewarded (Quark's data pool).

    A rationale that was sampled several times is in the pool that many times.
    """
    part = _explaining_prompt(pipeline)
    examples = []
    rewards = Reward.objects.filter(pipeline=pipeline).select_related("explanation__instance").order_by("pk")
    for reward in rewards:
        explanation = reward.explanation
        chat = render_prompt(part, {"input": explanation.instance.input, "output": ""})
        reply = f"Answer: {shown(explanation.output)}\nReason: {explanation.text}"
        example = TrainingExample(
            tuple(chat), reply, reward.quantile, reward.value, explanation.instance.key, reward.step
        )
        examples += [example] * reward.samples
    return examples


def held_out_questions(pipeline: Pipeline) -> list[HeldOut]:
    """The questions of the test part, as a model that was trained elsewhere is asked for their rationales."""
    part = _explaining_prompt(pipeline)
    best = Reward.objects.filter(pipeline=pipeline).aggregate(best=Max("quantile"))["best"]
    if best is None:
        return []
    parts = parts_of(pipeline.dataset)
    return [
        HeldOut(
            tuple(render_prompt(part, {"input": instance.input, "output": ""})),
            best,
            instance.key,
            question_columns(instance.input)
            | {"gold_label": instance.gold_label, "gold_rationale": instance.gold_rationale},
        )
        for instance in Instance.objects.filter(dataset=pipeline.dataset).order_by("pk")
        if parts[instance.pk] == "test"
    ]


def _explaining_prompt(pipeline: Pipeline) -> str:
    """The part of the prompt file with which rewarded rationales are requested."""
    return prompt_part(prompt_file("explain", str(pipeline.recipe.content["task"])), "answer_reason")


def tuning_step(step: CurrentStep) -> JSON | None:
    """Create or check the fine-tuning job of a step; returns its result, or None while it is running.

    Raises ``ValidationError`` if the job can't start, or if its endpoint has become another deployment since.
    """
    jobs_of_step = FineTuning.objects.filter(pipeline=step.pipeline, step=step.name, replaced_at=None)
    tuning = jobs_of_step.select_related("endpoint").first()
    if tuning is None:
        _tuning_create(step)
        return None
    if tuning.state == FineTuning.State.DONE:
        return {
            "model": tuning.model,
            "examples": tuning.examples,
            "file": tuning.file_id,
            "job": tuning.job_id,
            "spent": f"{tuning.cost:f}",
        }
    if tuning.state in FineTuning.OPEN and is_elsewhere(tuning.endpoint, than=tuning.deployments):
        raise ValidationError(tuning_moved_reason(tuning, tuning.endpoint))
    if tuning.state in (FineTuning.State.FAILED, FineTuning.State.CANCELLED):
        reason = tuning.error or "Resume the pipeline to start the job again."
        step.pause(f"fine-tuning {tuning.get_state_display()}: {reason}")
    return None


def _tuning_create(step: CurrentStep) -> None:
    pipeline, options = step.pipeline, step.options
    examples = examples_of(pipeline)
    if not examples:
        raise ValidationError(
            "no rationale has a reward, so there is nothing to train on: no question of the training part was accepted, or no"
            " reward step comes before this one"
        )
    endpoint = step_endpoint(
        step=step.content,
        overrides=pipeline.overrides,
        endpoint=pipeline.endpoint,
        workspace_id=pipeline.dataset.workspace_id,
    )
    base_model = str(options.get("model") or endpoint.model)
    moved_refuse(pipeline=pipeline, endpoint=endpoint, model=base_model)
    lines = chat_lines(examples)
    epochs = int(options.get("epochs", 1))
    price = Decimal(str(options.get("price", 0)))
    # A token is at least one byte.
    most = (price * len(lines.encode()) * epochs / _MILLION).quantize(_UNIT, ROUND_UP)
    left = step_budget(pipeline, options.get("budget"))
    if left is not None and most > left:
        raise ValidationError(f"the fine-tuning job may cost {most:.4f}; {left:.4f} of the budget is left")
    FineTuning.objects.create(
        pipeline=pipeline,
        endpoint=endpoint,
        step=step.name,
        base_model=base_model,
        suffix=str(options.get("suffix", "rationales"))[:64],
        epochs=epochs,
        examples=len(examples),
        file=lines,
        price=price,
        most_cost=most,
    )


def tuning_work(*, pipeline_pk: int) -> bool:
    """Send or check the pipeline's open job, outside any transaction; True if the pipeline should be looked at again: the job
    has ended, or its endpoint is another deployment than where it was sent.

    If two workers call it at once, the second does nothing.
    """
    with jobs.lock_held("tuning", pipeline_pk) as mine:
        tuning = (
            FineTuning.objects.select_related("endpoint")
            .filter(pipeline=pipeline_pk, state__in=FineTuning.OPEN)
            .first()
            if mine
            else None
        )
        if tuning is None:
            return False
        if is_elsewhere(tuning.endpoint, than=tuning.deployments):
            return True
        if failed_lately(tuning):
            return False
        try:
            job = _job_of(tuning)
        except (ProviderError, KeyRefused) as error:
            FineTuning.objects.filter(pk=tuning.pk).update(looked_at=timezone.now(), error=str(error)[:2000])
            if isinstance(error, ProviderError) and not error.fatal:
                return False  # the next sweep checks it again
            if tuning.job_id and not is_unknown_job(error):
                # A refused key says nothing about the job, which continues: to start another would be to pay twice.
                Pipeline.objects.filter(pk=pipeline_pk, state=Pipeline.State.RUNNING).update(
                    state=Pipeline.State.PAUSED,
                    reason=f"{tuning.step}: The fine-tuning job {tuning.job_id} can't be checked: {error}"[
                        :2000
                    ],
                )
                return False
            tuning_settle(tuning, FineTuning.State.FAILED, TuningJob("", "failed", error=str(error)))
            return True
        if job.state == "running":
            FineTuning.objects.filter(pk=tuning.pk).update(
                looked_at=timezone.now(), error="", reported_state=job.reported
            )
            return False
        tuning_settle(tuning, ENDED[job.state], job)
        return True


def _job_of(tuning: FineTuning) -> TuningJob:
    """The job's current state. The file and the job are created if necessary, and their ids are stored at once."""
    if not tuning.file_id:
        tuning.file_id = tuner_ask(tuning.endpoint, lambda tuner: tuner.file_send(tuning.file.encode()))
    if not tuning.deployments:
        tuning.deployments = [deployment_of(tuning.endpoint)]
        FineTuning.objects.filter(pk=tuning.pk).update(file_id=tuning.file_id, deployments=tuning.deployments)
    if tuning.job_id:
        return tuner_ask(tuning.endpoint, lambda tuner: tuner.job_read(tuning.job_id))
    job = tuner_ask(tuning.endpoint, lambda tuner: tuner.job_find(tuning.file_id)) or tuner_ask(
        tuning.endpoint,
        lambda tuner: tuner.job_begin(
            file_id=tuning.file_id, model=tuning.base_model, suffix=tuning.suffix, epochs=tuning.epochs
        ),
    )
    started = FineTuning.objects.filter(pk=tuning.pk)
    started.update(job_id=job.id, started_at=timezone.now())
    # Cancelled meanwhile, it stays cancelled: the sweep cancels the job that has just started.
    started.filter(state=FineTuning.State.WAITING).update(state=FineTuning.State.RUNNING)
    return job


def failed_lately(tuning: FineTuning) -> bool:
    """Whether the last request about the job has failed a moment ago, so that the next one is to wait."""
    asked = tuning.looked_at
    return bool(tuning.error) and asked is not None and timezone.now() - asked < AGAIN


def is_unknown_job(error: Exception) -> bool:
    """Whether the endpoint has said that there is no such job."""
    return isinstance(error, ProviderError) and error.kind == "not_found"


def tuning_settle(tuning: FineTuning, state: str, job: TuningJob) -> None:
    """Store how a job has ended, and what it cost by the tokens that the endpoint reports."""
    tokens = job.tokens
    cost = Decimal(0) if tokens is None else (tuning.price * tokens / _MILLION).quantize(_UNIT, ROUND_UP)
    if state == FineTuning.State.DONE and tokens is None:
        cost = tuning.most_cost
    FineTuning.objects.filter(pk=tuning.pk, state__in=FineTuning.UNDECIDED).update(
        state=state,
        reported_state=job.reported,
        looked_at=timezone.now(),
        model=job.model,
        error=job.error,
        trained_tokens=tokens,
        cost=cost,
        finished_at=timezone.now(),
    )


def tuner_ask(endpoint: Endpoint, what: Callable[[FineTuner], Coroutine[Any, Any, T]]) -> T:
    """Send one request about fine-tuning. Raises ``ProviderError`` and ``KeyRefused``."""

    async def main() -> T:
        client = endpoint_client(endpoint)
        try:
            return await what(fine_tuner_of(endpoint)(client))
        finally:
            await client.aclose()

    return asyncio.run(main())


def rounds_of(pipeline: Pipeline) -> list[tuple[str, int, float]]:
    """(reward step, samples, mean reward of a sample) of each round, in order."""
    values_of_step: dict[str, list[float]] = defaultdict(list)
    rewards = Reward.objects.filter(pipeline=pipeline).order_by("pk")
    for step, value, samples in rewards.values_list("step", "value", "samples"):
        values_of_step[step] += [value] * samples
    return [(step, len(values), sum(values) / len(values)) for step, values in values_of_step.items()]

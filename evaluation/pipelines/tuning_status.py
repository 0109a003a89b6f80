"""The fine-tuning jobs of a pipeline, as its page, the API and ``manage.py pipeline_control`` show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal
from typing import Any

from django.db.models import F, Func, IntegerField, Prefetch, prefetch_related_objects
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from annotator.core.words import money, plural, span
from evaluation.models import FineTuning, Pipeline
from evaluation.pipelines.moved import is_over
from evaluation.runs.endpoint_settings import deployment_of, is_elsewhere

State = FineTuning.State
#: The tag with which the page shows a state.
_LOOKS = {State.DONE: "good", State.FAILED: "bad", State.CANCELLED: "bad"}
_SHOWN_UNIT = Decimal("0.0001")


@dataclass(frozen=True)
class TuningShown:
    """One fine-tuning job. ``moved`` is where its endpoint is now, empty if that is where the job is."""

    tuning: FineTuning
    pipeline: Pipeline
    size: int
    moved: str
    now: datetime

    @property
    def is_open(self) -> bool:
        """Whether the job can be cancelled."""
        return self.tuning.state in FineTuning.OPEN

    @property
    def is_being_cancelled(self) -> bool:
        return self.tuning.state == State.CANCELLING

    @property
    def is_current(self) -> bool:
        """Whether no other job has taken its place."""
        return self.tuning.replaced_at is None

    @property
    def look(self) -> str:
        return _LOOKS.get(State(self.tuning.state), "")

    @property
    def state(self) -> str:
        """The state, with the endpoint's own word for it where it says more: "at the endpoint (queued)"."""
        shown, reported = self.tuning.get_state_display(), self.tuning.reported_state
        says_more = reported and self.tuning.state in (State.RUNNING, State.CANCELLING)
        return f"{shown} ({reported.replace('_', ' ')})" if says_more else shown

    @property
    def elapsed(self) -> timedelta | None:
        """How long the job has been, or was, at the endpoint; None if it was never started there."""
        if self.tuning.started_at is None:
            return None
        return (self.tuning.finished_at or self.now) - self.tuning.started_at

    @property
    def cost(self) -> str:
        """What the job has cost, as far as that is known."""
        tuning = self.tuning
        if not tuning.file_id and tuning.state not in FineTuning.UNDECIDED:
            return "nothing: no file was sent"
        if not tuning.price:
            tokens = f"{plural(tuning.trained_tokens, 'training token')}; " if tuning.trained_tokens else ""
            return f"{tokens}not known in money, because the recipe's step has no price per million training tokens (price)"
        most = _amount(tuning.most_cost)
        if tuning.state in FineTuning.UNDECIDED:
            return f"at most {most}"
        if tuning.trained_tokens is not None:
            return f"{_amount(tuning.cost)} for {plural(tuning.trained_tokens, 'training token')}"
        return f"not reported by the endpoint; at most {most}"

    @property
    def waits_for(self) -> str:
        """What the job waits for, or what to do next; empty if it needs nothing more."""
        tuning, stopped = self.tuning, self.pipeline.state == Pipeline.State.PAUSED
        if not self.is_current:
            return ""
        if self.moved and tuning.state in FineTuning.UNDECIDED:
            return self._waits_for_the_endpoint()
        if tuning.state == State.CANCELLING:
            return (
                "The endpoint to confirm that the job is cancelled; it's asked again within a minute. Until then the job may "
                "go on, and be charged."
            )
        if tuning.state == State.WAITING and stopped:
            return "The pipeline, which is paused. Resume it to have the job sent."
        if tuning.state == State.RUNNING and stopped:
            return "The pipeline, which is paused. The job continues at the endpoint; it's checked again when you resume the pipeline."
        if tuning.state in FineTuning.OPEN and tuning.error:
            return "The endpoint, which didn't respond as expected. It's asked again within a minute."
        if tuning.state == State.WAITING:
            what = "start the job" if tuning.file_id else "upload the training file"
            return f"A worker, to {what}."
        if tuning.state == State.RUNNING:
            return "The endpoint, which trains the model. It's checked every few seconds."
        if tuning.state in (State.FAILED, State.CANCELLED) and not is_over(self.pipeline):
            first = "Correct what the error names, then r" if tuning.state == State.FAILED else "R"
            return f"You. {first}esume the pipeline to start a new job, or cancel the pipeline."
        return ""

    def _waits_for_the_endpoint(self) -> str:
        tuning = self.tuning
        at = " and ".join(tuning.deployments)
        if tuning.state == State.CANCELLING:
            then = "confirm that it's the same deployment, so that the job is cancelled there"
        else:
            then = "confirm that it's the same deployment"
        return (
            f"You. The job is at {at}, and the endpoint {tuning.endpoint} is at {self.moved} now. Change the endpoint back, or, "
            f"if the same provider answers there, {then}."
        )

    def facts(self) -> list[tuple[str, str]]:
        """(name, value) of what is known about the job, in the order in which it's read."""
        tuning = self.tuning
        facts = [
            ("Waits for", self.waits_for),
            ("Error", tuning.error),
            ("Trained model", tuning.model),
            ("Base model", tuning.base_model),
            ("Endpoint", str(tuning.endpoint)),
            ("Job", tuning.job_id or "no number yet"),
            ("Training file", self._file()),
            ("Started", _moment(tuning.started_at) or "not yet" * (tuning.state in FineTuning.UNDECIDED)),
            ("Time taken" if tuning.finished_at else "Time so far", span(self.elapsed)),
            ("Last checked", _moment(tuning.looked_at)),
            ("Ended", _moment(tuning.finished_at)),
            ("Cost", self.cost),
        ]
        return [(name, value) for name, value in facts if value]

    def _file(self) -> str:
        sent = self.tuning.file_id or "not sent yet"
        examples, epochs = plural(self.tuning.examples, "example"), plural(self.tuning.epochs, "epoch")
        return f"{sent}; {examples}, {epochs}, {filesizeformat(self.size)}".replace("\xa0", " ")


def tunings_wanted() -> Prefetch[Any, Any, Any]:
    """For ``prefetch_related`` of pipelines: their jobs in order, without the text of their files but with its size in bytes
    (``size``)."""
    size = Func(F("file"), function="octet_length", output_field=IntegerField())
    tunings = FineTuning.objects.select_related("endpoint").defer("file")
    return Prefetch("tunings", queryset=tunings.annotate(size=size).order_by("pk"))


def tunings_shown(pipeline: Pipeline) -> list[TuningShown]:
    """The pipeline's fine-tuning jobs in order, those that others have replaced included: in one query, or none after
    ``prefetch_related(tunings_wanted())``."""
    prefetch_related_objects([pipeline], tunings_wanted())
    now = timezone.now()
    return [
        TuningShown(
            tuning,
            pipeline,
            int(getattr(tuning, "size", 0)),
            deployment_of(tuning.endpoint) if is_elsewhere(tuning.endpoint, than=tuning.deployments) else "",
            now,
        )
        for tuning in pipeline.tunings.all()
    ]


def tunings_are_live(shown: list[TuningShown], pipeline: Pipeline) -> bool:
    """Whether a job's state may change without anybody pressing a button."""
    running = pipeline.state == Pipeline.State.RUNNING
    return any(one.is_being_cancelled or (running and one.is_open) for one in shown)


def _amount(cost: Decimal) -> str:
    return money(cost.quantize(_SHOWN_UNIT, ROUND_UP))


def _moment(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S} UTC" if when else ""

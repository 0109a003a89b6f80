"""Fine-tuning over the OpenAI protocol: upload a file, start a job, check it, cancel it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluation.providers.base import ProviderError

if TYPE_CHECKING:  # for types only: the web process doesn't load the client library
    from evaluation.providers.openai_compatible import OpenAICompatible

JobState = Literal["running", "succeeded", "failed", "cancelled"]
_OVER: dict[str, JobState] = {"succeeded": "succeeded", "failed": "failed", "cancelled": "cancelled"}


@dataclass(frozen=True)
class TuningJob:
    """A fine-tuning job as the endpoint reports it. ``tokens`` is how many it was trained on, None if not reported;
    ``reported`` is the state in the endpoint's own word, such as "queued" or "validating_files"."""

    id: str
    state: JobState
    model: str = ""
    error: str = ""
    tokens: int | None = None
    reported: str = ""


class FineTuner:
    """The fine-tuning half of an OpenAI-compatible endpoint; every method raises ``ProviderError``."""

    def __init__(self, provider: OpenAICompatible) -> None:
        self.client = provider.client

    async def file_send(self, lines: bytes) -> str:
        """Upload a training file (JSON lines of chats); returns its id."""
        try:
            file = await self.client.files.create(file=("rationales.jsonl", lines), purpose="fine-tune")
        except Exception as error:
            raise _error(error) from error
        if str(getattr(file, "status", "")) == "error":
            raise ProviderError(
                "bad_request", f"the file was rejected: {getattr(file, 'status_details', '')}"
            )
        return str(file.id)

    async def job_find(self, file_id: str) -> TuningJob | None:
        """The job that was started with a file, if there is one: a worker that died may have started it."""
        try:
            page = await self.client.fine_tuning.jobs.list(limit=100)
        except Exception as error:
            raise _error(error) from error
        found = [job for job in page.data if job.training_file == file_id and job.status != "cancelled"]
        return _job(found[0]) if found else None

    async def job_begin(self, *, file_id: str, model: str, suffix: str, epochs: int) -> TuningJob:
        """Start a job with a file."""
        try:
            job = await self.client.fine_tuning.jobs.create(
                training_file=file_id,
                model=model,
                suffix=suffix or "rationales",
                method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": epochs}}},
            )
        except Exception as error:
            raise _error(error) from error
        return _job(job)

    async def job_read(self, job_id: str) -> TuningJob:
        """The state of a job."""
        try:
            return _job(await self.client.fine_tuning.jobs.retrieve(job_id))
        except Exception as error:
            raise _error(error) from error

    async def job_cancel(self, job_id: str) -> TuningJob:
        """Cancel a job; a finished one stays unchanged."""
        try:
            return _job(await self.client.fine_tuning.jobs.cancel(job_id))
        except Exception as error:
            raise _error(error) from error


def _job(job: object) -> TuningJob:
    error = getattr(getattr(job, "error", None), "message", None) or ""
    tokens = getattr(job, "trained_tokens", None)
    reported = str(getattr(job, "status", None) or "")
    state = _OVER.get(reported, "running")
    model = str(getattr(job, "fine_tuned_model", None) or "")
    if state == "succeeded" and not model:
        said = "The endpoint reports that the job has succeeded, but not the trained model's name."
        return TuningJob(str(getattr(job, "id", "")), "failed", error=said, reported=reported[:40])
    return TuningJob(
        str(getattr(job, "id", "")),
        state,
        model[:200],
        str(error)[:4000],
        tokens if isinstance(tokens, int) and tokens >= 0 else None,
        reported[:40],
    )


def _error(error: Exception) -> ProviderError:
    from evaluation.providers.openai_compatible import provider_error

    return provider_error(error)

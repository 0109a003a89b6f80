"""Fine-tuning over the OpenAI protocol: upload a file, start a job, check it, cancel it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluation.providers.base import ProviderError

if TYPE_CHECKING:  # for types only: the web process doesn't load the client library
    from evaluation.providers.openai_compatible import OpenAICompatible

JobState = Literal["running", "succeeded", "failed", "cancelled"]
#: The shortest timeout, in seconds, for uploading a training file.
FILE_SECONDS = 300.0
LONGEST_ID = 200
NOT_OF_THE_PROTOCOL = "The endpoint's reply isn't one of the OpenAI protocol's fine-tuning. Does the address lead to a server that can fine-tune?"
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
    """The fine-tuning half of an OpenAI-compatible endpoint; every method raises ``ProviderError``, also for a reply that isn't
    what the protocol says, such as the page of a proxy."""

    def __init__(self, provider: OpenAICompatible) -> None:
        self.client = provider.client
        self.file_seconds = max(FILE_SECONDS, provider.access.timeout)

    async def file_send(self, lines: bytes) -> str:
        """Upload a training file (JSON lines of chats); returns its id."""
        with _errors():
            file = await self.client.files.create(
                file=("rationales.jsonl", lines), purpose="fine-tune", timeout=self.file_seconds
            )
        if str(getattr(file, "status", "")) == "error":
            raise ProviderError(
                "bad_request", f"the file was rejected: {getattr(file, 'status_details', '')}"
            )
        return _id(file, "file")

    async def job_find(self, file_id: str) -> TuningJob | None:
        """The job that was started with a file, if there is one: a worker that died may have started it."""
        with _errors():
            page = await self.client.fine_tuning.jobs.list(limit=100)
        listed = getattr(page, "data", None)
        if not isinstance(listed, list):
            raise ProviderError("invalid_reply", "The endpoint's list of fine-tuning jobs isn't a list.")
        found = [
            job
            for job in listed
            if getattr(job, "training_file", None) == file_id and getattr(job, "status", "") != "cancelled"
        ]
        return _job(found[0]) if found else None

    async def job_begin(self, *, file_id: str, model: str, suffix: str, epochs: int) -> TuningJob:
        """Start a job with a file."""
        with _errors():
            job = await self.client.fine_tuning.jobs.create(
                training_file=file_id,
                model=model,
                suffix=suffix or "rationales",
                method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": epochs}}},
            )
        return _job(job)

    async def job_read(self, job_id: str) -> TuningJob:
        """The state of a job."""
        with _errors():
            job = await self.client.fine_tuning.jobs.retrieve(job_id)
        return _job(job)

    async def job_cancel(self, job_id: str) -> TuningJob:
        """Cancel a job; a finished one stays unchanged."""
        with _errors():
            job = await self.client.fine_tuning.jobs.cancel(job_id)
        return _job(job)


@contextmanager
def _errors() -> Iterator[None]:
    """Turn the client's exceptions into ``ProviderError``."""
    from evaluation.providers.openai_compatible import provider_error

    try:
        yield
    except Exception as error:
        found = provider_error(error)
        if found.kind == "unexpected":  # the client library has failed on a reply that isn't of the protocol
            found = ProviderError(
                "invalid_reply", f"{NOT_OF_THE_PROTOCOL} ({type(error).__name__}: {error})"[:1000]
            )
        raise found from error


def _id(reply: object, what: str) -> str:
    """The id of a file or a job. Raises ``ProviderError`` (invalid_reply) if the reply isn't one."""
    found = getattr(reply, "id", None)
    if not isinstance(found, str) or not found or len(found) > LONGEST_ID:
        raise ProviderError(
            "invalid_reply",
            f"{NOT_OF_THE_PROTOCOL} (The {what} has no id.)",
        )
    return found


def _job(job: object) -> TuningJob:
    found = _id(job, "fine-tuning job")
    error = getattr(getattr(job, "error", None), "message", None) or ""
    tokens = getattr(job, "trained_tokens", None)
    reported = str(getattr(job, "status", None) or "")
    state = _OVER.get(reported, "running")
    model = str(getattr(job, "fine_tuned_model", None) or "")
    if state == "succeeded" and not model:
        said = "The endpoint reports that the job has succeeded, but not the trained model's name."
        return TuningJob(found, "failed", error=said, reported=reported[:40])
    return TuningJob(
        found,
        state,
        model[:200],
        str(error)[:4000],
        tokens if isinstance(tokens, int) and tokens >= 0 else None,
        reported[:40],
    )

"""The context of every log line: the request that it belongs to, and the background job that the request queued."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

#: The id of the request that is being handled, or that queued the job that runs; empty outside of both.
request_id: ContextVar[str] = ContextVar("request_id", default="")
_job: ContextVar[Mapping[str, Any] | None] = ContextVar("job", default=None)
#: The header of a queued job's message that holds the request's id.
HEADER = "foretell_request_id"


def job_fields() -> Mapping[str, Any]:
    """The job that runs and the rows that it works on; empty outside of jobs."""
    return _job.get() or {}


def job_begin(name: str, arguments: Mapping[str, Any], *, request: str = "") -> None:
    """From now on, log lines name this job, its rows (arguments such as ``run_pk``) and the request that queued it.

    >>> job_begin("evaluation.run_work", {"run_pk": 7, "number": 0}, request="abc")
    >>> dict(job_fields()), request_id.get()
    ({'job': 'evaluation.run_work', 'run': 7}, 'abc')
    >>> job_end()
    >>> dict(job_fields()), request_id.get()
    ({}, '')
    """
    _job.set({"job": name} | {k.removesuffix("_pk"): v for k, v in arguments.items() if k.endswith("_pk")})
    request_id.set(request)


def job_end() -> None:
    _job.set(None)
    request_id.set("")

"""Operations on runs. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.operations.shared import Action
from foretell_client.transport import Download, Transport, part

RunState = Literal["queued", "running", "paused", "cancelled", "done", "incomplete", "failed"]


class NewRun(TypedDict, total=False):
    """A simulator's run on a study; omitted values have their defaults."""

    endpoint: Required[str]
    model: str
    allow_own_model: bool
    by_fingerprint: bool
    prompt: str
    parameters: dict[str, Any]
    temperature: float
    seed: int
    logprobs: bool
    samples: int
    together: int
    workers: int
    use_cache: bool
    max_failed_share: float
    budget_calls: int
    budget_cost: str


class BudgetPatch(TypedDict, total=False):
    """The limits of a run; null removes a budget, and what is left out stays unchanged."""

    budget_calls: int | None
    budget_cost: str | None
    max_failed_share: float


class Run(TypedDict):
    """A run and its progress."""

    id: int
    kind: str
    study: str
    endpoint: str
    model: str
    rater: str
    prompt_digest: str
    samples: int
    state: RunState
    reason: str
    budget_calls: int | None
    budget_cost: str | None
    max_failed_share: float
    created_at: str
    started_at: str | None
    finished_at: str | None
    progress: RunProgress


class RunEstimate(TypedDict):
    """The calls that a run would make and their approximate cost; nothing is sent."""

    calls: int
    stages: int
    tokens_in: int
    tokens_out: int
    likely: str
    most: str
    low: str | None
    high: str | None
    earlier: int


class RunProgress(TypedDict):
    """Counts of a run's calls; ``failures`` maps a kind to the number of calls."""

    total: int
    done: int
    pending: int
    in_flight: int
    failed: int
    unparsable: int
    from_cache: int
    tied: int
    flagged: int
    cut_off: int
    fingerprints: int
    repeats: int
    sent: int
    spent: str
    perhaps_spent: str
    per_second: float
    seconds_left: float | None
    failures: dict[str, int]


class RunsOperations:
    """Operations on runs."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /) -> Run:
        """The state of the run and its progress."""
        reply: Run = self._http.json("GET", f"runs/{id}/")
        return reply

    def change(self, id: int, /, **sent: Unpack[BudgetPatch]) -> Run:
        """Raise or lower the budgets, or the largest share of failed calls. 400 if a budget is less than what
        has been used.
        """
        reply: Run = self._http.json("PATCH", f"runs/{id}/", body=sent)
        return reply

    def act(
        self,
        id: int,
        action: Literal[
            "cancel",
            "continue-without",
            "give-up",
            "merge-simulators",
            "pause",
            "resume",
            "retry",
            "same-deployment",
            "separate-simulators",
            "start",
        ],
        /,
        **sent: Unpack[Action],
    ) -> Run:
        """Act on the run; repeating an action has no further effect. 409 if the run is over.

        ``retry``, ``give-up`` and ``continue-without`` read from the body which calls are meant, all that
        have failed if it names none; the last one leaves their items out and resumes the run. ``same-
        deployment`` reads where the moved endpoint is now: a 409 says it, and refuses anything else.
        ``merge-simulators`` counts simulators that were split by what their server returned as one, and
        ``separate-simulators`` undoes that.
        """
        reply: Run = self._http.json("POST", f"runs/{id}/{part(action)}/", body=sent)
        return reply

    def calls(self, id: int, /, *, as_: Literal["eval", "jsonl"] | None = None) -> Download:
        """Every request and reply, without keys and addresses: ``jsonl`` as JSON lines, ``eval`` as a log of
        Inspect.
        """
        return self._http.download("GET", f"runs/{id}/calls/", query={"as": as_})

    def estimate(self, id: int, /) -> RunEstimate:
        """Calls, tokens and cost of the rest of the run."""
        reply: RunEstimate = self._http.json("GET", f"runs/{id}/estimate/")
        return reply

    def human_scores(self, slug: str, /) -> Download:
        """The label that most people gave each item, as JSON lines in the form of Inspect's
        ``precomputed_scores()``.
        """
        return self._http.download("GET", f"studies/{part(slug)}/human-scores/")

    def all(self, slug: str, /) -> list[Run]:
        """The runs of a study, newest first (at most 100)."""
        reply: list[Run] = self._http.json("GET", f"studies/{part(slug)}/runs/")
        return reply

    def create(self, slug: str, /, **sent: Unpack[NewRun]) -> Run:
        """Create a simulator's run, not yet started; items that this simulator has judged are left out."""
        reply: Run = self._http.json("POST", f"studies/{part(slug)}/runs/", body=sent)
        return reply

"""The contract of a step: what a run asks, how replies are parsed, and what is created from results. The engine of runs
doesn't depend on any step, and steps don't depend on claims, retries, budgets and workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from annotator.hit_types.base import JSON, ChatMessage, Unparsable
from annotator.hit_types.replies import read_object
from evaluation.core.step_kinds import StepKind
from evaluation.runs.structured import keeps_to

if TYPE_CHECKING:
    from evaluation.models import Call, Endpoint, Run
    from evaluation.providers.base import ChatImage


@dataclass(frozen=True)
class Job:
    """One call to make. ``key`` names it in its run; ``context`` is the result of earlier stages."""

    key: str
    item_id: int | None = None
    subject: int | None = None
    sample: int = 0
    stage: int = 0
    context: JSON = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ClaimedCall:
    """A call that a worker has claimed: the fields of its row, and ``thing``, what the step loaded for it."""

    id: int
    key: str
    item_id: int | None
    subject: int | None
    sample: int
    stage: int
    context: JSON
    attempts: int = 0
    unparsable: int = 0
    lost: int = 0
    excused: int = 0
    #: The latest earlier reply: its ``text``, ``error_kind`` and ``error``, and its good parts under ``parsed``.
    last: JSON | None = None
    #: The cache key of the latest request; empty if none was sent.
    cache_key: str = ""
    thing: Any = None

    @classmethod
    def of_job(cls, job: Job, pk: int = 0) -> ClaimedCall:
        """A call without a row, with an invented ``pk``, for drafts and estimates."""
        return cls(
            id=pk,
            key=job.key,
            item_id=job.item_id,
            subject=job.subject,
            sample=job.sample,
            stage=job.stage,
            context=job.context,
        )

    @classmethod
    def of_row(cls, row: Call) -> ClaimedCall:
        """A call from its row."""
        return cls(**{name: getattr(row, name) for name in CALL_COLUMNS})


#: The columns of a call's row that a step and the engine need while the call is claimed.
CALL_COLUMNS = tuple(one.name for one in fields(ClaimedCall) if one.name != "thing")


class Step(StepKind):
    """What the engine needs of a kind of step that asks a model; ``evaluation.runs.registry`` finds it by its name."""

    #: The longest reply in tokens, unless the run or the endpoint sets another limit.
    max_tokens: ClassVar[int] = 512

    def jobs(self, run: Run) -> Iterator[Job]:
        """All first-stage calls of the run, the same and in the same order each time."""
        raise NotImplementedError

    def nothing(self, run: Run) -> str:
        """Why a run that has no jobs has none, in one sentence."""
        return "there is nothing to ask about"

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        """What the calls are about, by call id, in a fixed number of queries."""
        raise NotImplementedError

    def messages(self, run: Run, call: ClaimedCall) -> list[ChatMessage]:
        """The chat, from the run's own prompt text."""
        raise NotImplementedError

    def images(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Mapping[str, ChatImage]]:
        """The images that the chat of each call names by markers, by call id and digest; at most one query."""
        return {}

    def schema(self, run: Run, call: ClaimedCall) -> JSON | None:
        """The reply's JSON schema, for endpoints that can enforce one; None for plain text."""
        return None

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        """The reply as a JSON object; raises ``Unparsable``, never guesses."""
        raise NotImplementedError

    def from_object(self, run: Run, call: ClaimedCall, value: JSON) -> JSON:
        """The result of a reply that is an object with the keys of ``schema``; raises like ``parse``."""
        raise NotImplementedError

    def read(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        """The reply as a JSON object, from an object with the schema's keys or else from text.

        It doesn't matter whether the endpoint enforced the schema: replies from the cache or a batch, and JSON that a
        model writes unasked, are read in the same way.
        """
        schema = self.schema(run, call)
        value = read_object(text) if schema is not None and "{" in text else None
        if schema is not None and keeps_to(value, schema):
            return self.from_object(run, call, dict(value or {}))
        return self.parse(run, call, text)

    def refused(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        """The result of a call that the model has finally refused, in ``text``; None if a refusal is not a result."""
        return None

    def lacking(self, run: Run, call: ClaimedCall, parsed: JSON) -> str:
        """A sentence that tells the model what its result still lacks; empty if it is complete.

        The result is kept and the model is asked for the rest, as many times as for an unreadable reply.
        """
        return ""

    def joined(self, run: Run, call: ClaimedCall, kept: JSON, parsed: JSON) -> JSON:
        """A result that lacked something, together with what a later reply added."""
        return parsed

    def prompt_problems(self, run: Run, call: ClaimedCall) -> list[str]:
        """Errors in the run's prompt, tried on one call: it must show what it asks about, and nothing else."""
        return []

    def demonstration(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        """An example reply of the prompt as an object of ``schema``; None if it can't be converted."""
        return None

    def after(self, run: Run, call: ClaimedCall, parsed: JSON) -> Job | None:
        """The next stage's call, if this was not the last stage."""
        return None

    def follow(self, run: Run, endpoint: Endpoint) -> None:
        """Change what depends on the endpoint's address, which has changed before anybody answered a call of the run.

        Runs inside a transaction that has locked the run and saves its ``rater`` afterwards.
        """

    def stages(self, run: Run, call: ClaimedCall, thing: Any) -> int:
        """The number of stages of the calls about this thing."""
        return 1

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        """Texts in the prompt that others wrote, to be checked for prompt injection."""
        return iter(())

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        """Create rows from results, inside a transaction; repeating it changes nothing.

        Each group holds the finished last-stage calls of one key: one of them, or all samples once all calls
        of the run are settled.
        """
        raise NotImplementedError


def cut_off(finish: str, text: str = "") -> None:
    """Refuse a reply that was cut off at its length limit, whatever it seems to say; raises ``Unparsable``."""
    if finish == "length" and not text.strip():
        raise Unparsable(
            "the reply was cut off before it said anything: all its tokens went into the model's thinking. Allow more "
            "tokens for thinking in the endpoint's settings, or limit the thinking (reasoning_effort)",
            kind="cut_off",
        )
    if finish == "length":
        raise Unparsable("the reply was cut off at its length limit", kind="cut_off")

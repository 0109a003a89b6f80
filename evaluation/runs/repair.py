"""Ask again after an unusable reply: show the model its reply and say what was wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotator.hit_types.base import ChatMessage

if TYPE_CHECKING:
    from evaluation.models import Run
    from evaluation.runs.step import ClaimedCall, Step

#: A list in which some entries are missing: the good ones are kept.
INCOMPLETE = "incomplete"
#: Errors that a model can correct when told about them. Not refusals, and not replies that were cut off.
MENDABLE = frozenset({"no_answer", "ambiguous", "invalid", INCOMPLETE})
#: The most characters of the earlier reply that are shown to the model.
MOST_SHOWN = 8_000
_UNREADABLE = "Your last reply could not be used: {error}. Do the task above again, and reply in exactly the form that it asks for."
_INCOMPLETE = "Your last reply could not be used as a whole: {error}. Reply in the same form as before, numbered from 1."


def repair_messages(*, run: Run, call: ClaimedCall) -> list[ChatMessage]:
    """Messages to add to the chat of a call whose last reply was unusable; empty if repeating the same request is
    better."""
    last = call.last or {}
    if run.together > 1 or last.get("error_kind") not in MENDABLE:
        return []
    form = _INCOMPLETE if last["error_kind"] == INCOMPLETE else _UNREADABLE
    said = form.format(error=str(last.get("error", ""))[:1000].rstrip("."))
    return [ChatMessage("assistant", str(last["text"])[:MOST_SHOWN]), ChatMessage("user", said)]


def joined_result(*, run: Run, step: Step, call: ClaimedCall, result: dict[str, object]) -> dict[str, object]:
    """A result together with the good entries of the call's earlier replies."""
    kept = (call.last or {}).get("parsed")
    return step.joined(run, call, kept, result) if kept else result

"""Plain words for the kinds of failure of model calls, and what to do where a run can't continue by itself."""

from __future__ import annotations

_WORDS = {
    "rate_limit": "rate limit of the endpoint",
    "server": "error of the server",
    "timeout": "no reply in time",
    "unreachable": "no connection",
    "connection": "connection lost",
    "too_large": "reply too large",
    "invalid_reply": "not a reply to a chat",
    "content_filter": "stopped by a content filter",
    "refusal": "the model refused",
    "bad_request": "request rejected",
    "context_length": "prompt too long for the model",
    "unauthorized": "key refused",
    "not_found": "no such model or address",
    "refused_host": "host not allowed here",
    "not_installed": "provider not installed here",
    "no_quota": "quota used up",
    "unexpected": "unexpected error",
    "cancelled": "cancelled",
    "not_stored": "reply could not be stored",
    "no_answer": "no answer in the reply",
    "ambiguous": "several answers in the reply",
    "invalid": "not one of the possible answers",
    "incomplete": "some answers missing",
    "missing": "item left out of the reply",
    "cut_off": "reply cut off",
    "too_long": "reply too long",
    "item_refused": "refused by the server",
    "left_out": "item left out of the run",
    "not_applied": "result could not be used",
}
_ADVICE = {
    "unauthorized": "Correct the endpoint's key, then resume the run.",
    "not_found": "Correct the endpoint's address and resume, or start a new run with another model.",
    "not_installed": "Have its package installed again, or choose another protocol for the endpoint. Then resume the run.",
    "no_quota": "Add credit or raise the limit at the provider, then resume the run.",
    "refused_host": "Correct the endpoint's address, or have whoever runs this server allow the host. Then resume the run.",
}


def failure_words(kind: str) -> str:
    """A kind of failure as a person reads it.

    >>> failure_words("no_answer"), failure_words("some_new_kind"), failure_words("")
    ('no answer in the reply', 'some new kind', 'unknown')
    """
    return _WORDS.get(kind) or kind.replace("_", " ") or "unknown"


def pause_words(kind: str, error: str) -> str:
    """Why a run has paused and what to do, from the error of a request that can't succeed.

    >>> pause_words("unauthorized", "HTTP 401: bad key")
    "HTTP 401: bad key. Correct the endpoint's key, then resume the run."
    """
    advice = _ADVICE.get(kind)
    return f"{error.rstrip('. ')}. {advice}" if advice else error

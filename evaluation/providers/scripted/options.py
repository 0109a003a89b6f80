"""The behaviour of a scripted model, read from its name, e.g. ``scripted?faults=0.3&latency=0.2&seed=1``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from urllib.parse import parse_qsl

#: Names of faults, for ``kinds``.
FAULTS = (
    "429", "500", "hang", "disconnect", "truncated", "empty", "refusal", "filter", "nonsense", "cut",
)  # fmt: skip
DEFAULT_FAULTS = ("429", "500", "hang", "truncated", "empty", "refusal")


class BadOptions(ValueError):
    """The options in a model's name can't be read."""


@dataclass(frozen=True)
class Options:
    """The behaviour of one scripted model.

    ``quality`` in [0, 1] is how often a judgment follows the rule that makes it right. ``faults`` in [0, 1] is the
    share of requests that fail, each in one of ``kinds``. ``latency`` and ``jitter`` are seconds before
    the reply, ``hang`` the seconds that a hanging request is held, ``retry_after`` what a 429 asks for.
    ``status`` makes every request fail with that HTTP status. Another ``seed`` gives a different model of the same
    kind.
    """

    name: str = "scripted"
    quality: float = 0.85
    faults: float = 0.0
    kinds: tuple[str, ...] = DEFAULT_FAULTS
    latency: float = 0.0
    jitter: float = 0.0
    retry_after: float = 0.1
    hang: float = 600.0
    status: int = 0
    seed: int = 0
    #: Share of the input tokens that are reported as cached.
    cached: float = 0.0
    #: How it spells its confidence where it's asked for, separated by ``|``: one for each question. An empty one says nothing.
    confidence: str = ""
    #: How many versions of the model answer in turn, each with its own fingerprint.
    versions: int = 1
    #: A request that contains one of these texts, separated by ``|``, gets a 400 with this code.
    refuse: str = ""
    code: str = "context_length_exceeded"
    #: The status of such a refusal, and a status that only the request with this number gets (since the counts were reset).
    refuse_status: int = 400
    once_status: int = 0
    once_at: int = 0
    #: From the request with this number on, ``faults`` and ``status`` apply; before it, every request succeeds.
    after: int = 0
    #: Parameters, separated by ``|``, that are refused by name, as models that think refuse them.
    without: str = ""
    #: How many requests per second are answered; further ones get a 429 without Retry-After. 0: no limit.
    per_second: float = 0.0
    #: Reported completion tokens are multiplied by this: an endpoint that charges for more than it was asked for.
    overcharge: float = 1.0
    #: How fine-tuning goes wrong, if it does: reject, fail, cancel or quota. ``tuning_seconds``: how long a job takes.
    tuning: str = ""
    tuning_seconds: float = 0.0


def parse_model(model: str, extra: str = "") -> Options:
    """Read a model name; ``extra`` is a further query (from the request's header or URL) that overrides it.

    >>> parse_model("scripted?faults=0.3&kinds=429,500").kinds
    ('429', '500')
    >>> parse_model("scripted?faults=lots")
    Traceback (most recent call last):
    ...
    evaluation.providers.scripted.options.BadOptions: faults: expected a number, got 'lots'
    """
    name, _, query = model.partition("?")
    values: dict[str, object] = {"name": name}
    types = {f.name: f.type for f in fields(Options)}
    for key, text in parse_qsl(query) + parse_qsl(extra):
        if key not in types or key == "name":
            raise BadOptions(f"{key}: no such option; expected one of: {', '.join(sorted(types))}")
        if key == "kinds":
            values[key] = tuple(text.split(","))
            continue
        if types[key] == "str":
            values[key] = text
            continue
        try:
            values[key] = int(text) if types[key] == "int" else float(text)
        except ValueError:
            raise BadOptions(f"{key}: expected a number, got {text!r}") from None
    return Options(**values)  # type: ignore[arg-type]

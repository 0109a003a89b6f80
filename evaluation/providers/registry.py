"""The installed providers: the modules of ``evaluation.providers.apis``, and entry points in the group ``foretell.providers``."""

from __future__ import annotations

from annotator.core.registry import Registry
from evaluation.providers.contract import Provider

PROVIDERS: Registry[Provider] = Registry(
    Provider,  # type: ignore[type-abstract]
    noun="provider",
    package="evaluation.providers.apis",
    group="foretell.providers",
)
#: The provider of an endpoint that names none, and the first in lists.
DEFAULT = "openai"


def provider_choices() -> list[tuple[str, str]]:
    """(name, label) of each provider."""
    names = sorted(PROVIDERS.names(), key=lambda name: (name != DEFAULT, name))
    return [(name, PROVIDERS.get(name).label) for name in names]


def titles_with(part: str) -> str:
    """The titles of the providers that have this part, such as ``batch_api``, or can do it.

    >>> titles_with("fine_tuner")
    'OpenAI'
    """
    return " or ".join(provider.title for provider in PROVIDERS if getattr(provider, part))

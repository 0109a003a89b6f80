"""Which other servers this installation may send requests to."""

from __future__ import annotations

from django.conf import settings

from annotator.core.outgoing.hosts import HostPolicy


def host_policy() -> HostPolicy:
    """The operator's rules, from ``LLM_ALLOWED_HOSTS`` and ``LLM_ONLY_ALLOWED_HOSTS``."""
    return HostPolicy.from_entries(settings.LLM_ALLOWED_HOSTS, only=settings.LLM_ONLY_ALLOWED_HOSTS)

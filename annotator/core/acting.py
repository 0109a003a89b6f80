"""The user behind the current request, command or job, and their network; the audit trail reads it for each change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

PAGE, API, COMMAND, JOB = "page", "api", "command", "job"


@dataclass(frozen=True)
class Acting:
    """The acting user and their network. ``user`` is looked up only when needed, since most requests change nothing."""

    via: str = COMMAND
    address: str = ""
    user: Callable[[], Any] = lambda: None


_BY_COMMAND = Acting()
_acting: ContextVar[Acting] = ContextVar("acting", default=_BY_COMMAND)


def acting() -> Acting:
    """The current ``Acting``; outside requests and jobs, a command."""
    return _acting.get()


@contextmanager
def acting_as(who: Acting) -> Iterator[None]:
    """Attribute everything inside the block to ``who``."""
    token = _acting.set(who)
    try:
        yield
    finally:
        _acting.reset(token)


def network_of(address: str) -> str:
    """The network of an address: precise enough to tell places apart, too coarse to identify a person.

    >>> network_of("192.0.2.77"), network_of("2001:db8:1:2::7"), network_of("unix:")
    ('192.0.2.0/24', '2001:db8:1::/48', '')
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    mapped = getattr(parsed, "ipv4_mapped", None)
    parsed = mapped or parsed
    return str(ip_network(f"{parsed}/{24 if parsed.version == 4 else 48}", strict=False))

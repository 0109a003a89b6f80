"""Block connections and DNS look-ups to other machines during the tests."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any


class NetworkBlocked(OSError):
    """A test tried to connect to another machine."""


def allowed(host: object) -> bool:
    """Loopback names and addresses, and listening on all interfaces.

    >>> allowed("127.0.0.1"), allowed("localhost"), allowed("::1"), allowed("example.org"), allowed("10.0.0.1")
    (True, True, True, False, False)
    """
    if host in (None, "", "localhost", b"localhost"):
        return True
    name = host.decode() if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name == socket.gethostname()
    return address.is_loopback or address.is_unspecified


def block() -> None:
    """Replace the three functions of the ``socket`` module that every Python client uses."""
    if getattr(socket, "_foretell_blocked", False):
        return
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not allowed(address[0]):
            raise NetworkBlocked(f"tests must not connect to other machines: {address[0]}:{address[1]}")

    def checked_connect(self: socket.socket, address: Any) -> None:
        check(self, address)
        return connect(self, address)

    def checked_connect_ex(self: socket.socket, address: Any) -> int:
        check(self, address)
        return connect_ex(self, address)

    def checked_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not allowed(host):
            raise NetworkBlocked(f"tests must not connect to other machines: look-up of {host!r}")
        return getaddrinfo(host, *args, **kwargs)

    socket.socket.connect = checked_connect  # type: ignore[method-assign]
    socket.socket.connect_ex = checked_connect_ex  # type: ignore[method-assign]
    socket.getaddrinfo = checked_getaddrinfo  # type: ignore[assignment]
    socket._foretell_blocked = True  # type: ignore[attr-defined]

"""Which hosts the server may send requests to: public ones over TLS, and those that the operator allows. A researcher
can enter any base URL, and the server would connect to it from inside the network. So a name is looked up once, every
address found is checked, and the connection goes to the checked address itself: a name that resolves differently the
second time has no effect.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: IANA's special-purpose address registries, with multicast. A table of our own, because ``ipaddress.is_global``
#: differs between releases of Python (192.0.0.0/24 was global in part until 3.13).
#: https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry
_SPECIAL_PURPOSE = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24
    198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/8 64:ff9b:1::/48 100::/64
    100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7
    fe80::/10 fec0::/10 ff00::/8
"""
SPECIAL_PURPOSE = tuple(map(ipaddress.ip_network, _SPECIAL_PURPOSE.split()))
#: All global unicast addresses that IANA has allocated are in here.
_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")


class HostRefused(ValueError):
    """Requests to this host aren't allowed; the message tells the researcher why."""


@dataclass(frozen=True)
class Origin:
    """The scheme, host and port that a key may be sent to."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True)
class HostPolicy:
    """The operator's rules. ``allowed`` holds ``host`` or ``host:port``; with ``only``, all other hosts are refused."""

    allowed: frozenset[tuple[str, int | None]] = frozenset()
    only: bool = False

    @classmethod
    def from_entries(cls, entries: Iterable[str], *, only: bool = False) -> HostPolicy:
        """
        >>> HostPolicy.from_entries(["127.0.0.1:8081"]).names(Origin("http", "127.0.0.1", 8081))
        True
        """
        allowed = set()
        for entry in entries:
            parts = urlsplit(f"//{entry.strip()}")
            if not parts.hostname:
                raise ValueError(f"allowed host {entry!r}: expected host or host:port")
            allowed.add((parts.hostname.lower(), parts.port))
        return cls(frozenset(allowed), only)

    def names(self, origin: Origin) -> bool:
        return (origin.host, origin.port) in self.allowed or (origin.host, None) in self.allowed


def origin_of(url: str, *, query: bool = False) -> Origin:
    """The origin of a base URL; raises ``HostRefused`` for anything but plain http and https.

    With ``query``, it is the address of a file, which may have a query.

    >>> str(origin_of("https://API.example.com/v1"))
    'https://api.example.com:443'
    >>> origin_of("file:///etc/passwd")
    Traceback (most recent call last):
    ...
    annotator.core.outgoing.hosts.HostRefused: only http and https addresses can be used, not 'file'
    >>> origin_of("localhost:8000/v1")
    Traceback (most recent call last):
    ...
    annotator.core.outgoing.hosts.HostRefused: an address begins with https:// or http://, as in https://models.example.org/v1
    """
    if any(character.isspace() or not character.isprintable() for character in url):
        raise HostRefused("an address must not contain spaces, line breaks or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise HostRefused(f"not an address: {error}") from None
    if parts.scheme not in ("http", "https"):
        if not parts.scheme or "." in parts.scheme or not url.startswith(f"{parts.scheme}://"):
            raise HostRefused(
                "an address begins with https:// or http://, as in https://models.example.org/v1"
            )
        raise HostRefused(f"only http and https addresses can be used, not {parts.scheme!r}")
    if parts.username is not None or parts.password is not None:
        raise HostRefused("an address must not contain a user name or password")
    if not parts.hostname:
        raise HostRefused("the address has no host")
    if not query and (parts.query or parts.fragment):
        raise HostRefused("an address must not contain '?' or '#'")
    return Origin(
        parts.scheme, parts.hostname.lower().rstrip("."), port or (443 if parts.scheme == "https" else 80)
    )


def check_origin(origin: Origin, policy: HostPolicy) -> None:
    """Raise ``HostRefused`` for origins that can be refused without a look-up."""
    if policy.names(origin):
        return
    if policy.only:
        raise HostRefused(
            f"{origin.host} is not among the hosts that the operator allows (LLM_ONLY_ALLOWED_HOSTS is set). "
            f"{_ask_operator(origin)}"
        )
    if origin.scheme != "https":
        if ports := sorted(port for host, port in policy.allowed if host == origin.host and port):
            raise HostRefused(
                f"{origin.host} is allowed on port {' and '.join(map(str, ports))} only, and this address has port {origin.port}. "
                f"Correct the port, or {_ask_operator(origin)}"
            )
        raise HostRefused(
            f"{origin.host} needs https, because http sends everything unencrypted. For a server of your own: "
            f"{_ask_operator(origin)}"
        )
    try:
        check_address(origin.host)
    except HostRefused:
        raise
    except ValueError:
        _check_name(origin.host)


def _ask_operator(origin: Origin) -> str:
    return f"ask the operator to add {origin.host}:{origin.port} to the setting LLM_ALLOWED_HOSTS."


def _check_name(host: str) -> None:
    """Names that some resolvers read as numbers (2130706433, 0x7f.1, 127.1) are refused as such."""
    last = host.rsplit(".", 1)[-1]
    if last.isdigit() or last.startswith("0x"):
        raise HostRefused(f"{host} is not a host name")


def check_address(address: str) -> None:
    """Refuse an IP address that is not public; raises ``HostRefused``, or ``ValueError`` if it is no address.

    >>> check_address("169.254.169.254")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    annotator.core.outgoing.hosts.HostRefused: 169.254.169.254 is not a public address. For a server of your own: ask ...
    """
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        elif ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    if any(ip in network for network in SPECIAL_PURPOSE) or (ip.version == 6 and ip not in _GLOBAL_IPV6):
        raise HostRefused(
            f"{address} is not a public address. For a server of your own: ask the operator to add its host and "
            "port to the setting LLM_ALLOWED_HOSTS."
        )


async def resolve(origin: Origin, policy: HostPolicy) -> list[str]:
    """The addresses of an origin, each checked; raises ``HostRefused`` if any of them is not public.

    Hosts that the operator allows may have any address.
    """
    check_origin(origin, policy)
    loop = asyncio.get_running_loop()
    answers = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in answers))
    if not policy.names(origin):
        for address in addresses:
            check_address(address)
    return addresses

"""Files are fetched from public servers only, within limits of size, time and redirects."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotator.core.outgoing import fetch
from annotator.core.outgoing.fetch import FetchLimits, NotFetched, files_fetch
from annotator.core.outgoing.hosts import HostPolicy
from tests.picture_server import PictureServer, pictures_served
from tests.pictures import picture
from tests.tls_proxy import certificate

LIMITS = FetchLimits(size=100_000, seconds=20, all_seconds=60)


@pytest.fixture
def server() -> Iterator[PictureServer]:
    with pictures_served() as server:
        yield server


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The context of a server named localhost, and that of a client who trusts it."""
    made, key = certificate(tmp_path_factory.mktemp("tls"), "localhost")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(made, key)
    return serving, ssl.create_default_context(cafile=str(made))


def fetched(
    address: str, tmp_path: Path, *, allowed: tuple[str, ...] = (), limits: FetchLimits = LIMITS
) -> Path | NotFetched:
    policy = HostPolicy.from_entries(allowed)
    return files_fetch([address], to=tmp_path, policy=policy, limits=limits)[address]


def refusal(address: str, tmp_path: Path, **options: Any) -> str:
    outcome = fetched(address, tmp_path, **options)
    assert isinstance(outcome, NotFetched), outcome
    return str(outcome)


def content(address: str, tmp_path: Path, **options: Any) -> bytes:
    outcome = fetched(address, tmp_path, **options)
    assert isinstance(outcome, Path), outcome
    return outcome.read_bytes()


def test_a_file_arrives_as_it_was_sent(server: PictureServer, tmp_path: Path) -> None:
    server.page("/cat.png?size=1&of=%C3%A4", picture())
    allowed = (server.host,)
    assert content(server.url("/cat.png"), tmp_path, allowed=allowed) == picture()
    assert content(server.url("/cat.png?size=1&of=ä#top"), tmp_path, allowed=allowed) == picture()
    assert not {"cookie", "authorization", "referer"} & set(server.headers[0])


def test_a_compressed_file_is_unpacked_up_to_the_limit(server: PictureServer, tmp_path: Path) -> None:
    server.page("/packed", gzip.compress(picture()), headers={"Content-Encoding": "gzip"})
    server.page("/bomb", gzip.compress(b"\0" * 50_000_000), headers={"Content-Encoding": "gzip"})
    assert content(server.url("/packed"), tmp_path, allowed=(server.host,)) == picture()
    assert "is too large" in refusal(server.url("/bomb"), tmp_path, allowed=(server.host,))


def test_each_address_is_fetched_once(server: PictureServer, tmp_path: Path) -> None:
    addresses = [server.url("/cat.png"), server.url("/dog.png"), server.url("/cat.png")]
    policy = HostPolicy.from_entries([server.host])
    found = files_fetch(addresses, to=tmp_path, policy=policy, limits=LIMITS)
    assert len(found) == 2
    assert server.asked == {"/cat.png": 1, "/dog.png": 1}


def test_a_file_that_is_too_large_is_cut_off(server: PictureServer, tmp_path: Path) -> None:
    words = refusal(server.url("/endless"), tmp_path, allowed=(server.host,))
    assert words == "is too large; expected at most 0.1 MB"
    assert server.sent < 64 * 1024 * 1_000, "the rest isn't read"


def test_a_server_that_sends_slowly_is_given_up_after_the_limit(
    server: PictureServer, tmp_path: Path
) -> None:
    started = time.monotonic()
    each = FetchLimits(size=100_000, seconds=0.5, all_seconds=60)
    words = refusal(server.url("/slow"), tmp_path, allowed=(server.host,), limits=each)
    assert words == "the server didn't send the whole file within 0.5 seconds"
    together = FetchLimits(size=100_000, seconds=60, all_seconds=0.5)
    words = refusal(server.url("/slow"), tmp_path, allowed=(server.host,), limits=together)
    assert "may take 0.5 seconds here, and took longer" in words
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("status", "words"),
    [(404, "404 Not Found"), (403, "expected an address that anybody can open"), (500, "500"), (204, "204")],
)
def test_only_a_successful_reply_is_a_file(
    status: int, words: str, server: PictureServer, tmp_path: Path
) -> None:
    server.page("/x", picture() if status != 204 else b"", status=status)
    assert words in refusal(server.url("/x"), tmp_path, allowed=(server.host,))


def test_three_redirects_are_followed_and_no_more(server: PictureServer, tmp_path: Path) -> None:
    server.redirect("/3", "/cat.png")
    server.redirect("/2", server.url("/3"))
    server.redirect("/1", "2")
    assert content(server.url("/1"), tmp_path, allowed=(server.host,)) == picture()
    server.redirect("/0", "/1")
    assert "expected at most 3 redirects" in refusal(server.url("/0"), tmp_path, allowed=(server.host,))


# -- hosts -------------------------------------------------------------------------------------------


def test_private_addresses_are_never_asked(server: PictureServer, tmp_path: Path) -> None:
    for host in ("127.0.0.1", "localhost"):
        address = f"https://{host}:{server.port}/cat.png"
        assert "is not a public address" in refusal(address, tmp_path)
    assert "needs https" in refusal(server.url("/cat.png"), tmp_path)
    for address in ("https://169.254.169.254/latest", "https://[::1]/x", "https://10.0.0.7/x"):
        assert "is not a public address" in refusal(address, tmp_path)
    assert "is not a host name" in refusal("https://127.1/x", tmp_path)
    assert "user name or password" in refusal("https://me:you@example.org/x", tmp_path)
    assert not server.asked


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("http://{}/cat.png", "is allowed on port"),
        ("https://{}/cat.png", "is not a public address"),
        ("//{}/cat.png", "is allowed on port"),
        ("ftp://{}/cat.png", "only http and https"),
    ],
)
def test_a_redirect_to_a_private_address_is_refused(
    to: str, words: str, server: PictureServer, tmp_path: Path
) -> None:
    with pictures_served() as inside:
        server.redirect("/out", to.format(inside.host))
        refused = refusal(server.url("/out"), tmp_path, allowed=(server.host,))
        assert refused.startswith("it redirects to ")
        assert (inside.host in refused, words in refused) == (True, True)
        assert not inside.asked


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Every name has these addresses."""

    async def answer(self: Any, host: Any, port: Any, **rest: Any) -> list[Any]:
        return [(2, 1, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", answer)


@pytest.mark.parametrize("addresses", [("127.0.0.1",), ("93.184.216.34", "127.0.0.1")])
def test_a_name_that_resolves_to_a_private_address_is_refused(
    addresses: tuple[str, ...], server: PictureServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, *addresses)
    address = f"https://pictures.example:{server.port}/cat.png"
    assert "127.0.0.1 is not a public address" in refusal(address, tmp_path)
    assert not server.asked


def test_a_public_server_can_not_lead_to_a_private_one_that_the_operator_allows(
    server: PictureServer,
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``LLM_ALLOWED_HOSTS`` lets researchers name the lab's own server; it doesn't let strangers."""
    resolving(monkeypatch, "127.0.0.1")
    monkeypatch.setattr("annotator.core.outgoing.hosts.check_address", lambda address: None)
    monkeypatch.setattr(fetch, "tls_context", lambda: tls[1])
    with pictures_served(tls[0]) as public:
        public.redirect("/out", server.url("/cat.png"))
        words = refusal(public.url("/out", host="localhost"), tmp_path, allowed=(server.host,))
    assert public.asked == {"/out": 1}
    assert "needs https" in words
    assert not server.asked


def test_names_that_can_not_be_looked_up_are_faults_and_not_errors(tmp_path: Path) -> None:
    for address in ("https://a..b/x", f"https://{'a' * 70}.example/x", "https:///x", "https://a.example/\n"):
        assert refusal(address, tmp_path)


# -- TLS ---------------------------------------------------------------------------------------------


def test_a_certificate_is_checked(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pictures_served(tls[0]) as server:
        address = server.url("/cat.png", host="localhost")
        allowed = (f"localhost:{server.port}",)
        words = refusal(address, tmp_path, allowed=allowed)
        assert words.startswith("the server can't be reached: ")
        assert "certificate" in words
        monkeypatch.setattr(fetch, "tls_context", lambda: tls[1])
        assert content(address, tmp_path, allowed=allowed) == picture()

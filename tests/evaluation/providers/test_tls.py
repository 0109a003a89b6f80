"""Requests over TLS: which certificates are trusted, and what an error explains."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from annotator.core.outgoing.hosts import (
    HostPolicy,
)
from evaluation.providers.apis.openai import OpenAI
from evaluation.providers.base import ChatRequest, ProviderError
from evaluation.providers.client import client_of
from evaluation.providers.contract import Access
from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.http import Connection
from tests.evaluation.providers.asking import in_thread
from tests.evaluation.scripted_process import ScriptedProcess


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The scripted provider behind TLS: its port, and the file of the certificate that vouches for it."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    both = folder / "server.pem"
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    both.write_bytes(private + pem)
    trusted = folder / "trusted.pem"
    trusted.write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    loop = asyncio.new_event_loop()
    app = Scripted()
    server = loop.run_until_complete(
        loop.create_server(lambda: Connection(app, set()), "127.0.0.1", 0, ssl=context)
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield server.sockets[0].getsockname()[1], str(trusted)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    server.close()


def tls_chat(port: int, certificates: str = "") -> Any:
    async def main() -> Any:
        client = client_of(
            OpenAI(),
            Access(
                base_url=f"https://localhost:{port}/v1",
                key="sk",
                policy=HostPolicy.from_entries([f"localhost:{port}"]),
                timeout=300,
                certificates=certificates,
            ),
        )
        try:
            request = ChatRequest("scripted", ({"role": "user", "content": "Can owls swim?"},))
            return [await client.chat(request) for _ in range(3)]
        finally:
            await client.aclose()

    return asyncio.run(main())


def test_over_tls_with_a_certificate_that_is_trusted(
    tls: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", tls[1])
    assert len({reply.text for reply in tls_chat(tls[0])}) == 1


def test_an_endpoint_may_have_an_authority_of_its_own(tls: tuple[int, str]) -> None:
    assert len({reply.text for reply in tls_chat(tls[0], Path(tls[1]).read_text(encoding="ascii"))}) == 1


def test_an_untrusted_certificate_is_refused(tls: tuple[int, str]) -> None:
    with pytest.raises(ProviderError) as caught:
        tls_chat(tls[0])
    assert caught.value.kind == "unreachable"
    assert "ask the operator to add the authority" in str(caught.value)


def test_plain_http_on_a_tls_address_is_explained(scripted: ScriptedProcess) -> None:
    async def main() -> None:
        client = client_of(
            OpenAI(),
            Access(
                base_url=f"https://{scripted.host}/v1",
                key="",
                policy=HostPolicy.from_entries([scripted.host]),
                timeout=300,
            ),
        )
        try:
            await client.chat(ChatRequest("scripted", ({"role": "user", "content": "x"},)))
        finally:
            await client.aclose()

    with pytest.raises(ProviderError, match="http:// instead") as caught:
        in_thread(main())
    assert caught.value.kind == "unreachable"

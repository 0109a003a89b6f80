"""The headers of every page."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from foretell.logs import HideSecrets


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/admin/login/", "/no-such-page/", "/join/nothing/", "/api/v1/nothing/"])
def test_one_strict_content_policy_for_every_page(client: Client, address: str) -> None:
    policy = client.get(address)["Content-Security-Policy"]
    directives = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert "unsafe" not in policy
    assert directives["object-src"] == "'none'"
    assert directives["default-src"] == directives["frame-ancestors"] == directives["base-uri"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == directives["form-action"] == "'self'"


@pytest.mark.django_db
def test_security_headers(client: Client) -> None:
    headers = client.get("/admin/login/").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers


def test_a_log_line_contains_no_credentials() -> None:
    try:
        raise ValueError("cannot reach postgres://foretell:hunter2@db:5432/x")
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "", 1, "key %s", ("api_key=abcd1234",), (type(error), error, None)
        )
    HideSecrets().filter(record)
    line = logging.Formatter().format(record)
    assert "hunter2" not in line
    assert "abcd1234" not in line
    assert "cannot reach postgres://foretell:[hidden]@db" in line

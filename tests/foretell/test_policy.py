"""The headers of every page."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from foretell.logs import HideSecrets


@pytest.mark.django_db
def test_only_the_admin_may_evaluate_expressions(client: Client) -> None:
    admin = client.get("/admin/login/")["Content-Security-Policy"]
    elsewhere = client.get("/no-such-page/")["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-eval'" in admin
    assert "unsafe" not in elsewhere
    for policy in (admin, elsewhere):
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]


@pytest.mark.django_db
def test_security_headers(client: Client) -> None:
    headers = client.get("/admin/login/").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


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

"""Pages are compressed, except where the length of the reply could betray a secret (BREACH)."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.test import Client

from tests.annotator.demo_studies import demo_study
from tests.bot import Bot

pytestmark = pytest.mark.django_db


@pytest.fixture
def bot() -> Bot:
    bot = Bot(demo_study("simulation", consent_text=""))
    bot.join()
    return bot


def get(bot: Bot, path: str, **headers: str) -> Any:
    return bot.client.get(path, headers={"Accept-Encoding": "gzip, zstd", **headers})


def test_a_long_page_is_compressed(bot: Bot) -> None:
    path = bot.path + "instructions/"
    page = get(bot, path)
    assert page.status_code == 200
    assert page["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in page["Vary"]
    whole = gzip.decompress(page.content)
    assert b"Worked examples" in whole
    assert len(page.content) < len(whole) / 4
    assert "Content-Encoding" not in bot.client.get(path), "browsers that don't read it"
    lengths = {len(get(bot, path).content) for _ in range(8)}
    assert len(lengths) > 1, "the length is padded at random"


@pytest.mark.parametrize(
    ("query", "site"),
    [("?q=secret", "none"), ("", "cross-site"), ("", "same-site"), ("?q=secret", "same-origin")],
)
def test_nothing_that_repeats_a_request_is_compressed(bot: Bot, query: str, site: str) -> None:
    page = get(bot, f"{bot.path}instructions/{query}", **{"Sec-Fetch-Site": site})
    assert page.status_code == 200
    assert "Content-Encoding" not in page


def test_a_form_with_errors_is_not_compressed() -> None:
    sent = {"username": "repeated", "password": "x"}
    page = Client().post("/login/", sent, headers={"Accept-Encoding": "gzip"})
    assert b"repeated" in page.content
    assert "Content-Encoding" not in page

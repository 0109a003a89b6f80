"""The panel's public keys: cached for a day, fetched again for a new key, and kept while the panel is unavailable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import httpx2
import pytest

from annotator.recruitment.identity import LinkRefused, PanelUnavailable
from annotator.recruitment.signing_keys import KEPT, SigningKeys
from tests.prolific_server import Prolific, prolific_server


@dataclass
class Clock:
    now: float = 0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def prolific() -> Iterator[Prolific]:
    with prolific_server() as found:
        yield found


def test_keys_are_fetched_once_a_day(prolific: Prolific) -> None:
    clock = Clock()
    keys = SigningKeys(prolific.url, clock)
    assert [keys.get("key-1").key_id for _ in range(3)] == ["key-1"] * 3
    assert prolific.asked == 1
    clock.now = KEPT + 1
    keys.get("key-1")
    assert prolific.asked == 2


def test_a_new_key_is_fetched_when_a_link_names_it(prolific: Prolific) -> None:
    clock = Clock()
    keys = SigningKeys(prolific.url, clock)
    keys.get("key-1")
    prolific.rotate()
    clock.now = 61
    assert keys.get(prolific.signs_with).key_id == prolific.signs_with
    with pytest.raises(LinkRefused, match="unknown key"):
        keys.get("key-1")


def test_made_up_key_ids_send_at_most_one_request_a_minute(prolific: Prolific) -> None:
    clock = Clock()
    keys = SigningKeys(prolific.url, clock)
    for number in range(20):
        with pytest.raises(LinkRefused):
            keys.get(f"made-up-{number}")
    assert prolific.asked == 1
    clock.now = 61
    with pytest.raises(LinkRefused):
        keys.get("made-up")
    assert prolific.asked == 2


def test_known_keys_stay_in_use_while_the_panel_is_down(prolific: Prolific) -> None:
    clock = Clock()
    keys = SigningKeys(prolific.url, clock)
    keys.get("key-1")
    prolific.down, clock.now = True, 2 * KEPT
    assert keys.get("key-1").key_id == "key-1"


def test_without_any_keys_the_panel_is_unavailable_and_asked_again_later(prolific: Prolific) -> None:
    clock = Clock()
    keys = SigningKeys(prolific.url, clock)
    prolific.down = True
    for _ in range(3):
        with pytest.raises(PanelUnavailable):
            keys.get("key-1")
    assert prolific.asked == 1
    prolific.down, clock.now = False, 61
    assert keys.get("key-1").key_id == "key-1"


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"keys": 1}', b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "AAAA", "kid": "key-1"}]}'],
)
def test_anything_but_a_key_set_is_refused(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = httpx2.Response(200, content=body)
    monkeypatch.setattr(httpx2, "stream", lambda *_, **__: nullcontext(reply))
    with pytest.raises(PanelUnavailable):
        SigningKeys("https://panel.example/").get("key-1")


def test_keys_come_over_https_only() -> None:
    with pytest.raises(PanelUnavailable):
        SigningKeys("http://panel.example/keys").get("key-1")

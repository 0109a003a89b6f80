"""The stand-in of Prolific in the tests' own process, with every message checked against Prolific's description, where that is at hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from annotator.recruitment.api import APPROVE, ASK_RETURN, REVIEW, SCREEN_OUT, Chosen, PlannedCode, StudyPlan
from annotator.recruitment.registry import PANELS
from annotator.recruitment.signing_keys import SigningKeys
from annotator.recruitment.stand_in.books import PROJECT, TOKEN, USER, WORKSPACE, ProlificBooks, Refusal
from annotator.recruitment.stand_in.links import ISSUER, LinkSigner
from annotator.recruitment.stand_in.server import StandIn
from tests.prolific_description import description
from tests.signing_key import signing_key

__all__ = ["PROJECT", "TOKEN", "USER", "WORKSPACE", "ProlificBooks", "Refusal"]

#: A study with everything that can be asked for.
PLAN = StudyPlan(
    reference="owls 1a2b3c4d",
    title="Owls & hens",
    description="Read what a model says.",
    url="https://lab.example/join/x/?PROLIFIC_PID={{%PROLIFIC_PID%}}",
    secured=True,
    minutes=12,
    reward=Decimal("2.40"),
    places=10,
    devices=("desktop",),
    filters=(Chosen("fluent-languages", ("19",)), Chosen("age", lower=18, upper=40)),
    codes=(
        PlannedCode("DONE", "completion_code", APPROVE, group=""),
        PlannedCode("EXAM", "screened_out_code", SCREEN_OUT, reward=Decimal("0.30"), slots=5),
        PlannedCode("NONE", "nothing_left_code", ASK_RETURN),
        PlannedCode("SOME", "partly_code", REVIEW),
    ),
    workspace=WORKSPACE,
    project=PROJECT,
)


@contextmanager
def prolific_api() -> Iterator[ProlificBooks]:
    """The stand-in at a free port, which the panel uses meanwhile. Afterwards, every message must have been valid."""
    books = ProlificBooks(checks=description(), signer=LinkSigner(keys={"key-1": signing_key()}))
    server = StandIn(books)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    panel: Any = PANELS.get("prolific")
    before = panel.api_url, panel.issuer, panel.keys
    panel.api_url, panel.issuer = books.url, ISSUER
    panel.keys = SigningKeys(f"{books.url}/.well-known/study/jwks.json")
    try:
        yield books
    finally:
        panel.api_url, panel.issuer, panel.keys = before
        server.shutdown()
        server.server_close()
    assert books.invalid == [], books.invalid

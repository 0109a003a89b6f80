"""Every recruitment panel: its links, codes, webhooks, payment file and words."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.utils import translation

from annotator.models import Participation, Study
from annotator.recruitment.identity import LinkRefused, PanelIdentity, PanelUnavailable
from annotator.recruitment.panel import EXITS, OpenedLink, Panel
from annotator.recruitment.registry import PANELS, link_parameters, panel_choices, panel_get
from annotator.recruitment.webhooks import STATUSES, WebhookRefused

every_panel = pytest.mark.parametrize("panel", [pytest.param(panel, id=panel.name) for panel in PANELS])
KINDS = {"panel_needed", "panel_link", "panel_known", "panel_account", "panel_down", "panel_ended"}


def opened(panel: Panel, *, signed: bool = False, **changes: str) -> OpenedLink:
    values = {name: f"{name.lower()}-1" for name in panel.parameters} | changes
    return OpenedLink(values, host="lab.example", path="/join/x/", studies=frozenset(), signed=signed)


@every_panel
def test_its_name_fits_where_it_is_stored_and_addressed(panel: Panel) -> None:
    longest = min(
        model._meta.get_field(name).max_length or 0
        for model, name in ((Study, "panel"), (Participation, "recruiter"))
    )
    assert re.fullmatch(r"[a-z][a-z0-9_]*", panel.name)
    assert len(panel.name) <= longest
    assert panel.title
    assert panel.installed
    assert (panel.name, panel.title) in panel_choices()
    assert type(panel_get(panel.name)) is type(panel)


@every_panel
def test_its_link_has_its_parameters(panel: Panel) -> None:
    link = urlsplit(panel.link("https://lab.example/join/x/"))
    assert (link.netloc, link.path) == ("lab.example", "/join/x/")
    # Each person on a list has a link of their own, which nobody can fill in.
    bare = panel.listed or panel.adds_parameters
    assert [name for name, _ in parse_qsl(link.query)] == ([] if bare else list(panel.parameters))
    assert set(panel.parameters) <= set(link_parameters().split(", "))
    assert {panel.person, panel.submission, panel.panel_study} - {""} <= set(panel.parameters)
    assert panel.person
    for signed in (True, False):
        assert panel.link_words(signed)


@every_panel
def test_an_unsigned_link_names_the_participant(panel: Panel) -> None:
    link = opened(panel)
    assert panel.is_link(link)
    identity = panel.identify(link)
    assert (identity.panel, identity.person) == (panel.name, f"{panel.person.lower()}-1")
    assert identity.parameters == link.parameters
    assert not identity.verified
    assert identity.expires_at is None
    assert not panel.is_link(OpenedLink({}, "lab.example", "/join/x/", frozenset(), signed=False))


@every_panel
@pytest.mark.parametrize("value", ["", "=1+1", "a b", "x" * 500, "<b>", "\x00"])
def test_an_id_that_is_none_is_refused(panel: Panel, value: str) -> None:
    for name in panel.parameters:
        with pytest.raises(LinkRefused):
            panel.identify(opened(panel, **{name: value}))


@every_panel
@pytest.mark.parametrize("token", ["", "nonsense", "a.b.c", "x" * 20_000, "\x00ÿ"])
def test_a_link_with_an_invalid_signature_is_refused(panel: Panel, token: str) -> None:
    with pytest.raises((LinkRefused, PanelUnavailable)) as refused:
        panel.identify(opened(panel, signed=True, **({panel.token: token} if panel.token else {})))
    assert not token or token not in str(refused.value), "the message is for the log"


@every_panel
def test_without_a_token_a_link_is_none_where_only_signed_ones_are_accepted(panel: Panel) -> None:
    assert not panel.is_link(opened(panel, signed=True))


@every_panel
def test_people_return_with_a_code_or_not_at_all(panel: Panel) -> None:
    assert set(panel.codes) <= set(EXITS)
    identity = PanelIdentity(panel.name, "p-1", "s-1", "t-1")
    for code in panel.codes:
        assert Study._meta.get_field(code.field)
        for value in ("C0DE 7&8", ""):
            url = panel.return_url(code, code=value, identity=identity)
            assert not url or urlsplit(url).scheme == "https"


@every_panel
@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"\xff", b"[" * 50_000, b'{"event_type": 1}'])
def test_a_webhook_without_a_signature_is_refused(panel: Panel, body: bytes) -> None:
    with pytest.raises(WebhookRefused) as refused:
        panel.webhook_read(headers={}, body=body, secret="s" * 20, now=datetime.now(UTC))
    assert refused.value.status in (400, 401, 404, 413)


def test_the_statuses_of_submissions_are_in_one_spelling() -> None:
    assert all(re.fullmatch(r"[A-Z ]{1,40}", status) for status in STATUSES)


@every_panel
def test_its_payment_file_has_every_participant_and_amount(panel: Panel) -> None:
    if panel.payments_label:
        content = panel.payments_file([("cw-000001", Decimal("4.25")), ("cw-000002", Decimal(3))])
        assert [line for line in content.splitlines() if line.startswith("cw-")] == [
            "cw-000001,4.25",
            "cw-000002,3.00",
        ]


@every_panel
def test_its_ids_are_recognised_in_texts_and_ordinary_words_are_not(panel: Panel) -> None:
    for name, pattern in panel.identifiers.items():
        assert name
        assert not re.search(pattern, "An ordinary answer, with 3 numbers such as 2026 and 0.85.")


@every_panel
@pytest.mark.parametrize("language", ["en", "de"])
def test_its_words_are_whole_and_name_it(panel: Panel, language: str) -> None:
    assert set(panel.hints) <= {field.name for field in Study._meta.concrete_fields} | {"secret", "token"}
    assert set(panel.troubles) == KINDS
    with translation.override(language):
        texts = [str(panel.return_label), str(panel.site_label)]
        for trouble in panel.troubles.values():
            texts += map(str, (trouble.title, trouble.happened, trouble.pay, trouble.now))
            assert 200 <= trouble.status < 600
        assert all(text and "{" not in text for text in texts)
        assert (panel.title in " ".join(texts)) == panel.named
        refused = panel.refused("panel_link")
    assert (refused.kind, refused.panel) == ("panel_link", panel.name)

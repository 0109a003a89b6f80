"""A workspace's connection to a panel's API: tested, encrypted, rotated, and nowhere to be read."""

from __future__ import annotations

import gzip
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection as database
from django.test import Client

from annotator.models import AuditEntry, PanelConnection, Study, User, Workspace
from annotator.recruitment.api import PanelApiError
from annotator.recruitment.registry import PANELS
from annotator.services.panel_connection import (
    connection_api,
    panel_connect,
    panel_connection_choose,
    panel_connection_test,
    panel_disconnect,
    panel_hooks_set_up,
)
from annotator.services.panel_events import panel_secret_set
from foretell.backup import backup_write
from tests.factories import make_study, make_user
from tests.prolific_api import PROJECT, TOKEN, WORKSPACE, ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db
OLD, NEW = "the-old-secret-key-of-this-test", "the-new-secret-key-of-this-test"


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(
        items=2, launched=True, by=researcher, panel="prolific", panel_links="plain", currency="GBP"
    )


@pytest.fixture
def researcher_client(researcher: User) -> Client:
    client = Client()
    client.force_login(researcher)
    return client


def lab(study: Study) -> Workspace:
    assert study.workspace is not None
    return study.workspace


def connected(study: Study, token: str = TOKEN) -> PanelConnection:
    return panel_connect(workspace=lab(study), panel="prolific", token=token, by=None)


def everything_stored() -> str:
    """Every row of every table, as a backup's COPY writes them."""
    with database.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'annotator_%'"
        )
        texts = []
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            texts += [text for (text,) in cursor.fetchall()]
    return "\n".join(texts)


def test_a_token_is_tested_and_stored_encrypted(
    books: ProlificBooks, study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = connected(study)
    assert (made.remote_workspace, made.project, made.currency) == (WORKSPACE, PROJECT, "GBP")
    assert connection_api(made).account().id
    assert TOKEN not in everything_stored() + caplog.text
    entry = AuditEntry.objects.get(action="recruitment.connected")
    assert entry.after == {"api_token": "set", "panel_workspace": WORKSPACE}


@pytest.mark.parametrize(
    "token", ["", "short", "with a space in it", "ünïcode-token-x", "another-token-12345"]
)
def test_a_token_that_does_not_work_is_refused_and_not_stored(
    books: ProlificBooks, study: Study, token: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        connected(study, token)
    assert not token or token not in str(refused.value)
    assert not PanelConnection.objects.exists()


def test_a_panel_that_is_down_is_said_to_be(study: Study) -> None:
    with prolific_api() as books:
        books.troubles = [("GET", "500 after")] * 9
        panel: Any = PANELS.get("prolific")
        panel.api_url = "http://127.0.0.1:9"
        with pytest.raises(ValidationError, match="can't be reached"):
            connected(study)


def test_a_token_is_only_sent_to_the_address_it_was_entered_for(books: ProlificBooks, study: Study) -> None:
    made = connected(study)
    panel: Any = PANELS.get("prolific")
    panel.api_url = "https://elsewhere.example"
    with pytest.raises(PanelApiError, match="another address"):
        connection_api(made)


def test_the_project_is_one_of_the_panels_and_a_test_says_what_is_wrong(
    books: ProlificBooks, study: Study
) -> None:
    made = connected(study)
    with pytest.raises(ValidationError, match="Choose one"):
        panel_connection_choose(connection=made, remote_workspace=WORKSPACE, project="other", by=None)
    chosen = panel_connection_choose(connection=made, remote_workspace=WORKSPACE, project=PROJECT, by=None)
    assert chosen.project_name == "First project"
    books.token = "replaced-at-prolific"
    with pytest.raises(ValidationError, match="doesn't accept the token"):
        panel_connection_test(connection=made)
    made.refresh_from_db()
    assert "doesn't accept" in made.fault
    books.token = TOKEN
    assert panel_connection_test(connection=made).fault == ""


def test_a_token_is_rotated_with_the_other_keys(books: ProlificBooks, study: Study, settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    made = connected(study)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    with pytest.raises(CommandError, match="before you remove"):
        call_command("rotate_keys", check=True, stdout=io.StringIO())
    said = io.StringIO()
    call_command("rotate_keys", stdout=said)
    assert "1 token of panels encrypted" in said.getvalue()
    settings.SECRET_KEY_FALLBACKS = []
    made.refresh_from_db()
    assert connection_api(made).account().id
    settings.SECRET_KEY = "lost"
    with pytest.raises(CommandError, match="can decrypt the token of"):
        call_command("rotate_keys", stdout=io.StringIO())
    with pytest.raises(PanelApiError, match="can't be read"):
        connection_api(made)


def test_a_connection_is_removed_with_its_token(books: ProlificBooks, study: Study) -> None:
    panel_disconnect(connection=connected(study), by=None)
    assert not PanelConnection.objects.exists()
    assert AuditEntry.objects.filter(action="recruitment.disconnected").exists()


def page(client: Client, study: Study, **sent: str) -> Any:
    url = f"/admin/annotator/study/{study.pk}/recruitment/"
    return client.post(url, sent) if sent else client.get(url)


def test_the_page_connects_tests_chooses_and_removes(
    books: ProlificBooks, study: Study, researcher_client: Client
) -> None:
    assert "Connect to Prolific" in page(researcher_client, study).content.decode()
    wrong = page(researcher_client, study, do="connect", token="wrong-token-entered")
    assert wrong.status_code == 400
    assert "accept the token" in wrong.content.decode()
    assert "wrong-token-entered" not in wrong.content.decode()
    assert page(researcher_client, study, do="connect", token=TOKEN).status_code == 302
    shown = page(researcher_client, study).content.decode()
    assert "stored encrypted" in shown
    assert TOKEN not in shown
    url = f"/admin/annotator/study/{study.pk}/recruitment/"
    assert "Lab: First project" in researcher_client.get(f"{url}?project=choose").content.decode()
    page(researcher_client, study, do="choose", place=f"{WORKSPACE}/{PROJECT}")
    page(researcher_client, study, do="test")
    page(researcher_client, study, do="disconnect")
    assert not PanelConnection.objects.exists()


def test_only_editors_of_the_workspace_connect_it(books: ProlificBooks, study: Study) -> None:
    from annotator.models import Membership

    guest = make_user("gus", staff=True)
    Membership.objects.create(study=study, user=guest, role="editor")
    client = Client()
    client.force_login(guest)
    shown = page(client, study).content.decode()
    assert "can connect it" in shown
    assert 'value="connect"' not in shown
    assert page(client, study, do="connect", token=TOKEN).status_code == 404
    connected(study)
    assert page(client, study, do="disconnect").status_code == 404
    assert PanelConnection.objects.exists()


def test_exports_of_the_audit_trail_have_no_token(books: ProlificBooks, study: Study) -> None:
    connected(study)
    rows = list(AuditEntry.objects.values("before", "after", "target"))
    assert TOKEN not in json.dumps(rows)


def test_pages_and_files_for_researchers_have_no_token(
    books: ProlificBooks, study: Study, researcher: User, researcher_client: Client
) -> None:
    panel_hooks_set_up(study=study, connection=connected(study), url="https://lab.example/hook/", by=None)
    own = f"/admin/annotator/study/{study.pk}/"
    api = f"/api/v1/studies/{study.slug}/"
    for where in (
        f"{own}recruitment/", f"{own}audit/?csv=1", f"{own}audit/", f"{own}download/", f"{own}payments/owed.csv", f"{own}participants/",
        f"{own}versions/", api, f"{api}panel/", f"{api}participants/", f"{api}judgments/export/",
    ):  # fmt: skip
        reply = researcher_client.get(where)
        assert reply.status_code == 200, where
        content = reply.getvalue().decode(errors="replace")
        assert TOKEN not in content, where
        assert books.secret not in content, where


@pytest.mark.django_db(transaction=True)
def test_a_backup_has_tokens_and_secrets_only_encrypted(
    books: ProlificBooks, researcher: User, tmp_path: Path
) -> None:
    made = make_study(by=researcher, panel="prolific", panel_links="plain", currency="GBP")
    panel_hooks_set_up(study=made, connection=connected(made), url="https://lab.example/hook/", by=None)
    panel_secret_set(study=made, by=None, secret="a-secret-by-hand-7f3a")
    backup_write(directory=tmp_path / "backup", parts=("database",))
    files = {path.name: gzip.decompress(path.read_bytes()) for path in tmp_path.rglob("*.gz")}
    assert b"Lab" in files["annotator_panelconnection.copy.gz"], "the connection is in the backup"
    for name, content in files.items():
        for text in (TOKEN, books.secret, "a-secret-by-hand-7f3a"):
            assert text.encode() not in content, name

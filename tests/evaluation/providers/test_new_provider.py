"""A provider is one file: added, it is in forms and on pages and runs work; removed again, its endpoints say so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

import evaluation.providers.apis
from annotator.models import User
from evaluation.models import Endpoint
from evaluation.providers.registry import PROVIDERS, provider_choices
from evaluation.providers.settings import SettingRefused, headers_check
from evaluation.runs.lifecycle import run_resume
from evaluation.selectors.endpoint import endpoint_price
from evaluation.services.endpoint import endpoint_save
from evaluation.services.endpoint_trial import endpoint_try
from foretell import doctor
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS
FILE = '''
from decimal import Decimal

from evaluation.providers.base import ChatReply
from evaluation.providers.contract import Provider
from evaluation.providers.prices import ListPrice


class Chatter:
    """Answers in this process: an API needn't be JSON over HTTP."""

    async def chat(self, request):
        return ChatReply("It helps.\\nANSWER: YES", {"said": "yes"}, model=request.model, tokens_in=8, tokens_out=4)

    async def embed(self, model, texts):
        raise NotImplementedError

    async def models(self):
        return ["chatter"]

    async def aclose(self):
        pass


class Acme(Provider):
    name = "acme"
    title = "Acme's models"
    reserved_headers = frozenset({"x-acme-key"})

    def own_client(self, access):
        return Chatter()

    def list_price(self, *, host, model):
        return ListPrice(Decimal(3), None, Decimal(9), "2026-11-23") if host == "127.0.0.1" else None

    def headers(self, access):
        return {"x-acme-key": access.key}

    def chat_path(self, model):
        return "/chat"

    def chat_body(self, request):
        return request.body()

    def read_chat(self, raw):
        raise NotImplementedError

    def read_error(self, status, body, *, base_url):
        return "", None
'''


def forget() -> None:
    PROVIDERS.forget()
    sys.modules.pop("evaluation.providers.apis.acme", None)
    vars(evaluation.providers.apis).pop("acme", None)


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a new provider, found by the registry."""
    apis = evaluation.providers.apis
    file = tmp_path / "acme.py"
    file.write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(apis, "__path__", [*apis.__path__, str(tmp_path)])
    forget()
    yield file
    monkeypatch.undo()
    forget()


@pytest.fixture
def boss(client: Client) -> User:
    user = make_user("boss", staff=True, is_superuser=True)
    client.force_login(user)
    return user


def page(client: Client, endpoint: Endpoint) -> str:
    found = client.get(reverse("admin:evaluation_endpoint_change", args=[endpoint.pk]))
    assert found.status_code == 200
    return found.content.decode()


@pytest.mark.usefixtures("acme")
def test_one_file_adds_a_provider(scripted: ScriptedProcess, client: Client, boss: User) -> None:
    assert [name for name, _ in provider_choices()] == ["openai", "acme", "anthropic", "gemini"]
    with pytest.raises(SettingRefused, match="Enter a key"):
        headers_check({"X-Acme-Key": "sk"})
    assert "Acme&#x27;s models" in client.get(reverse("admin:evaluation_endpoint_add")).content.decode()
    endpoint = make_endpoint(scripted, protocol="acme", by=boss)
    endpoint_save(endpoint=endpoint)
    assert endpoint_try(endpoint=endpoint).message.startswith("scripted: It helps.")
    assert '<option value="acme" selected>' in page(client, endpoint)
    price = endpoint_price(endpoint)
    assert price is not None
    assert price.tokens_in == 3
    assert "acme" in {one.name: one.about for one in doctor.check_providers()}["providers"]
    run = make_run(endpoint, make_material(3, by=boss))
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 3})
    assert scripted.stats()["requests"] == 0
    read = client.get(reverse("admin:evaluation_run_transcript", args=[run.pk])).content.decode()
    assert "It helps." in read


def test_an_endpoint_whose_provider_was_removed_says_so(
    scripted: ScriptedProcess, client: Client, boss: User, acme: Path
) -> None:
    endpoint = make_endpoint(scripted, protocol="acme", by=boss)
    run = make_run(endpoint, make_material(2, by=boss))
    acme.unlink()
    forget()
    assert (
        "isn't installed here. Installed: anthropic, gemini, openai."
        in endpoint_try(endpoint=endpoint).message
    )
    work(run)
    assert (run.state, states(run)) == ("paused", {"pending": 2})
    assert "uses the provider 'acme', which isn't installed here" in run.reason
    assert "acme (not installed)" in page(client, endpoint)
    with pytest.raises(ValidationError, match="“acme” isn't installed here"):
        endpoint_save(endpoint=endpoint)
    with pytest.raises(ValidationError, match="isn't installed here"):
        make_run(endpoint, make_material(1, by=boss, slug="another"))
    for address in ("admin:evaluation_run_change", "admin:evaluation_run_transcript"):
        assert client.get(reverse(address, args=[run.pk])).status_code == 200
    [_, warning] = doctor.check_providers()
    assert (warning.level, "'acme'" in warning.about) == ("warning", True)
    Endpoint.objects.filter(pk=endpoint.pk).update(protocol="openai")
    run.endpoint_settings["protocol"] = "openai"
    run.save(update_fields=["endpoint_settings"])
    run_resume(run=run)
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 2})

"""Which language a page is in: chosen, of the study, of the browser, English; and the menu that changes it."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.test import Client

from annotator.models import Judgment, PlaceAlert, User
from annotator.services.account import account_language_set
from annotator.services.place_alert import place_alerts_sweep
from tests.bot import Bot
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
ARABIC = {"Accept-Language": "ar"}


def language(response: object) -> str:
    page = response.content.decode()  # type: ignore[attr-defined]
    found = re.search(r'<html lang="([a-z-]+)" dir="(ltr|rtl)"', page)
    assert found, page[:300]
    assert (found[2] == "rtl") == (found[1] == "ar")
    return found[1]


def test_a_page_is_in_the_language_of_the_browser() -> None:
    assert language(Client().get("/", headers=GERMAN)) == "de"
    assert language(Client().get("/", headers=ARABIC)) == "ar"
    assert language(Client().get("/", headers={"Accept-Language": "fr"})) == "en"
    assert language(Client().get("/")) == "en"
    assert Client().get("/", headers=GERMAN).headers["Content-Language"] == "de"


def test_the_language_does_not_stay_for_the_next_request() -> None:
    client = Client()
    client.get("/", headers=ARABIC)
    assert language(client.get("/")) == "en"


def test_the_menu_keeps_the_choice_in_the_browser_and_leads_back() -> None:
    client = Client(headers=GERMAN)
    reply = client.post("/language/", {"language": "ar", "next": "/login/?next=/me/"})
    assert reply.status_code == 302
    assert reply.headers["Location"] == "/login/?next=/me/"
    assert language(client.get("/login/")) == "ar"
    client.post("/language/", {"language": "xx"})
    assert language(client.get("/login/")) == "ar"
    away = client.post("/language/", {"language": "en", "next": "https://elsewhere.example/"})
    assert away.headers["Location"] == "/"


def test_the_page_with_the_choice_knows_where_somebody_came_from() -> None:
    page = (
        Client().get("/language/", headers={"Referer": "http://testserver/study/owls/task/"}).content.decode()
    )
    assert 'name="next" value="/study/owls/task/"' in page
    assert "Deutsch" in page
    assert "العربية" in page


def test_the_choice_follows_an_account_to_another_browser() -> None:
    user = make_user("ada")
    client = Client()
    client.force_login(user)
    client.post("/language/", {"language": "de"})
    assert User.objects.get(pk=user.pk).language == "de"
    other = Client(headers=ARABIC)
    other.force_login(user)
    assert language(other.get("/me/")) == "de"


def test_the_pages_of_a_study_are_in_its_language() -> None:
    study = make_study(items=2, launched=True, language="de", practice_required=False, exam_required=False)
    bot = Bot(study)
    bot.client = Client(headers=ARABIC)
    assert language(bot.client.get(f"/join/{study.join_token}/")) == "de"
    bot.client.post(f"/join/{study.join_token}/")
    assert language(bot.client.get(f"{bot.path}instructions/")) == "de"
    # A request that names no study.
    assert language(bot.client.get("/me/")) == "de"
    bot.client.post("/language/", {"language": "ar"})
    assert language(bot.client.get(f"{bot.path}instructions/")) == "ar"


def test_a_study_in_a_language_without_translation_is_in_the_browser_s() -> None:
    study = make_study(items=2, launched=True, language="fr")
    assert language(Client(headers=ARABIC).get(f"/join/{study.join_token}/")) == "ar"


def test_researchers_pages_stay_english() -> None:
    client = Client(headers=GERMAN)
    client.force_login(make_user("ada", staff=True, is_superuser=True))
    client.cookies["language"] = "de"
    page = client.get("/admin/annotator/study/").content.decode()
    assert '<html lang="en' in page
    assert "Hinzufügen" not in page
    assert client.get("/api/v1/studies/", headers=GERMAN).status_code == 200


def test_a_judgment_says_in_which_language_it_was_made() -> None:
    study = make_study(items=2, launched=True, practice_required=False, exam_required=False)
    bot = Bot(study)
    bot.client.cookies["language"] = "ar"
    bot.whole_way(most=1)
    assert Judgment.objects.get().language == "ar"


def test_an_alert_is_in_the_language_in_which_it_was_asked_for() -> None:
    study = make_study(items=1, launched=True, title="Owls")
    client = Client(headers=ARABIC)
    client.cookies["language"] = "de"
    client.post(f"/join/{study.join_token}/tell-me/", {"email": "ada@example.org"})
    assert PlaceAlert.objects.get().language == "de"
    assert place_alerts_sweep() == 1
    assert mail.outbox[0].subject == "Es gibt wieder Plätze: Owls"


def test_the_mail_with_a_reset_link_is_in_the_language_of_the_account() -> None:
    user = make_user("ada", email="ada@example.org")
    account_language_set(user=user, language="de")
    Client(headers=ARABIC).post("/password/reset/", {"email": "ada@example.org"})
    assert "Passwort" in mail.outbox[0].subject

"""What people are told about missing and invalid answers in the words of the file, on every way that an answer takes."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from annotator.hit_types.base import FieldErrors
from annotator.hit_types.declaration.asking import own_message
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.questionnaire import questionnaires_answers, questionnaires_read
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.models import Assignment, User
from annotator.services.assignment import assignment_next
from annotator.web.templatetags.screens import translated_errors
from annotator.web.wording import stage_shown
from tests.annotator.declared import launched
from tests.annotator.hit_types.declaration.files import RULES_FILE, every_kind, own_rules
from tests.factories import make_participation, make_user

TEXT = RULES_FILE.read_text(encoding="utf-8")
MISSING = "Say whether the walk was pleasant."
BEYOND = "Walks are from 1 to 30 km: look again."
WALK = {"walk": "They met an owl."}


def errors(raw: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(FieldErrors) as error:
        own_rules().parse_response(WALK, raw)
    return error.value.errors


def test_missing_and_invalid_answers_are_told_in_the_words_of_the_file() -> None:
    right = {"pleasant": "yes", "length": "3", "birds": ["owl"]}
    assert own_rules().parse_response(WALK, right) == right
    assert errors({}) == {
        "pleasant": MISSING,
        "length": "Write the length in km.",
        "birds": "Choose a bird; or none.",
    }
    assert errors(right | {"length": "31", "tired": "no"}) == {"length": BEYOND}
    assert errors(right | {"length": "31"}) == {"length": BEYOND, "tired": "choose an answer"}, "both at once"
    assert errors(right | {"length": "  "}) == {"length": "Write the length in km."}
    assert errors(right | {"birds": ["owl", "none"]}) == {"birds": "None of these goes with no bird."}
    assert errors(right | {"pleasant": "very"}) == {"pleasant": "choose one of: yes, partly, no"}, (
        "without a message of its own, the usual words"
    )
    assert errors(right | {"birds": ["owl", "other"]}) == {"birds_other": "Choose a bird; or none."}


def test_correct_answers_in_a_file_are_told_what_was_expected() -> None:
    broken = TEXT + (
        "exam:\n  - {key: e1, item: {walk: They ran.}, answers: {length: 31}, reason: It says so.}\n"
    )
    with pytest.raises(DeclarationRefused, match=r"answers.length expected a number from 1 to 30, in km"):
        hit_type_read(broken)


def test_messages_are_shown_in_the_language_of_the_page() -> None:
    said = errors({}) | errors({"pleasant": "yes", "length": "31", "birds": ["owl"]})
    with override("de"):
        assert translated_errors(said["pleasant"]) == "Sag, ob der Spaziergang angenehm war."
        assert translated_errors(said["length"]).endswith("1 bis 30 km lang: sieh noch einmal nach.")
        assert translated_errors(own_message("Choose a bird; or none.")) == "Choose a bird; or none."
        shown = stage_shown(own_rules().stages(WALK)[0])
        assert shown.fields[0].missing == "Sag, ob der Spaziergang angenehm war."
    assert translated_errors(said["length"]) == BEYOND, "a colon in it changes nothing"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("messages: {missing: Say", "messages: {mising: Say", "messages.mising is not a key of this part; expected one of: missing, invalid"),
        ("messages: {missing: Say whether the walk was pleasant.}", "messages: {}", "messages has 0 entries; expected at least 1"),
        ("messages: {missing: Say whether the walk was pleasant.}", "messages: {missing: 5}", "messages.missing is 5; expected text"),
        ("        messages: {missing: Say", "        required: false\n        messages: {missing: Say",
         "messages.missing is never said, because the question need not be answered"),
    ],
)  # fmt: skip
def test_wrong_messages_are_refused_at_their_place(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(TEXT.replace(old, new, 1))
    found = [str(one) for one in error.value.problems]
    assert any(f"stages.walk.questions.pleasant.{said}" in one for one in found), found
    assert all(one.startswith("line ") for one in found)


def test_a_questionnaire_has_messages_too() -> None:
    start = "foretell_questionnaire: 1\nname: mine\ntitle: Mine\nsource: Us\nlicence: CC0 1.0\nquestions:\n"
    age = "  age: {kind: number, ask: Age?, least: 18, messages: {invalid: Only from 18 on.}}\n"
    with pytest.raises(FieldErrors, match="Only from 18 on"):
        questionnaires_answers(questionnaires_read(start + age), {"q1-age": "12"})
    with pytest.raises(DeclarationRefused, match=r"questions\.age.messages.missing is never said"):
        questionnaires_read(start + age.replace("invalid:", "missing:"))


def test_a_type_without_messages_keeps_its_version() -> None:
    assert every_kind().version == "6f22b26ce2de"
    assert not any(
        one.missing for stage in every_kind().stages(every_kind().exam[0].payload) for one in stage.fields
    )


@pytest.mark.django_db
def test_the_page_and_a_kept_answer_say_it(researcher: User) -> None:
    participation = make_participation(
        study=launched(researcher, TEXT, [WALK], slug="walks"), user=make_user("ann")
    )
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    assert participation.rater.user is not None
    client = Client()
    client.force_login(participation.rater.user)
    path = f"/task/{assignment.pk}/"
    page = client.get("/study/walks/task/", follow=True).content.decode()
    assert page.count("data-missing") == 4, "hidden until the script shows it"
    sent = {"stage": "0", "pleasant": "yes", "length": "45", "birds": "owl", "tired": "no"}
    refused = client.post(path, sent)
    assert refused.status_code == 422
    assert BEYOND in refused.content.decode()
    assert "expected a number" not in refused.content.decode()
    german = client.post(path, {"stage": "0"}, headers={"Accept-Language": "de"})
    assert "Sag, ob der Spaziergang angenehm war." in german.content.decode()
    kept = client.post(path, sent, headers={"Accept": "application/json"})
    assert (kept.status_code, kept.json()["message"]) == (422, BEYOND)
    assert Assignment.objects.get(pk=assignment.pk).stage == 0

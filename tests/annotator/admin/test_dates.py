"""Researchers' pages write every date as 2026-11-22 11:27."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.formats import date_format

from annotator.models import Message, Study, User
from annotator.services.message import message_send
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 22, 11, 27, tzinfo=UTC)
#: "Nov. 22, 2026", "22 November 2026", "22 Nov".
MONTH_IN_WORDS = re.compile(r"\bNov(?:ember|\.)? \d|\d Nov(?:ember)?\b|a\.m\.|p\.m\.")


@pytest.fixture
def message(researcher: User) -> Message:
    study = make_study(by=researcher, items=1, launched=True)
    made = message_send(participation=make_participation(study), kind="question", text="Do bats count?")
    Message.objects.filter(pk=made.pk).update(created_at=AT)
    Study.objects.filter(pk=study.pk).update(created_at=AT, launched_at=AT, archived_at=AT)
    return made


@pytest.mark.parametrize(
    ("name", "of_message"),
    [
        ("admin:annotator_message_change", True),
        ("admin:annotator_message_changelist", None),
        ("admin:study_live", False),
        ("admin:study_manage", False),
        ("admin:annotator_study_change", False),
    ],
)
def test_dates_have_one_form(
    researcher_client: Client, message: Message, name: str, of_message: bool | None
) -> None:
    arguments = [] if of_message is None else [message.pk if of_message else message.study_id]
    page = researcher_client.get(reverse(name, args=arguments), follow=True)
    assert page.status_code == 200
    text = re.sub(r"<[^>]+>", " ", page.content.decode())
    assert "2026-11-22" in text
    assert MONTH_IN_WORDS.findall(text) == []


def test_annotators_read_dates_in_words() -> None:
    assert date_format(AT, "DATE_FORMAT") == "Nov. 22, 2026"

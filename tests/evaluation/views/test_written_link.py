"""A report leads from its section on agreement to what was written, if anything was."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.annotator.declared import launched
from tests.annotator.hit_types.declaration.files import RULES_FILE
from tests.evaluation.reports.studies import stored
from tests.factories import make_rater, make_user, record_judgment

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("written", [True, False])
def test_a_report_links_to_written_answers_where_there_are_any(written: bool) -> None:
    rosa = make_user("rosa", staff=True)
    text = RULES_FILE.read_text(encoding="utf-8")
    if not written:
        text = text.replace("        other: Another one\n", "").replace(
            "kind: text\n        ask: Where", "kind: yes_no\n        ask: Where"
        )
    study = launched(rosa, text, [{"key": "w", "walk": "They met an owl."}], slug="walks", redundancy=2)
    for name in ("ann", "ben"):
        response = {"pleasant": "yes", "length": "3", "birds": ["owl"]}
        record_judgment(study.items.get(), make_rater(name), response)
    client = Client()
    client.force_login(rosa)
    page = client.get(reverse("evaluation:report", args=[stored(study).pk])).content.decode()
    assert (reverse("admin:study_written", args=[study.pk]) + '">written answers</a>' in page) == written

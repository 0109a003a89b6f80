"""The file of all answers to a study's questionnaires: who is in it, what each state means, and that erased people are only counted."""

from __future__ import annotations

import csv
import io
import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from annotator.models import ApiToken, AuditAction, AuditEntry, Membership, QuestionnaireAnswer, Study, User
from annotator.services.api_tokens import api_token_make
from annotator.services.erasure import erase
from annotator.services.questionnaire import questionnaire_submit
from annotator.services.questionnaire_export import COLUMNS, questionnaire_rows
from tests.annotator.questionnaires import READING
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
ASKED = READING.replace(
    "  what:\n",
    "  where: {kind: several, ask: Where?, when: {often: [4, 5]}, options: {home: At home, bus: On the bus}}\n  what:\n",
)


@pytest.fixture
def study(researcher: User) -> Study:
    study = make_study(
        items=1,
        redundancy=3,
        launched=True,
        exam_required=False,
        practice_required=False,
        questionnaire_before=ASKED,
    )
    Membership.objects.create(study=study, user=researcher, role="viewer")
    return study


def answered(study: Study, **raw: Any) -> Any:
    person = make_participation(study)
    person.instructions_at = timezone.now()
    person.save()
    questionnaire_submit(
        participation=person, moment="before", raw={f"q1-{name}": v for name, v in raw.items()}
    )
    return person


def test_there_is_a_row_for_each_person_and_question_with_its_state(study: Study) -> None:
    first = answered(study, often="4", where=["home", "bus"], what="=1+1")
    second = answered(study, often="1")
    rows = list(questionnaire_rows(study=study))
    assert [(row["rater"], row["question"], row["state"], row["answer"]) for row in rows] == [
        (first.rater.name, "often", "answered", "4"), (first.rater.name, "where", "answered", ["home", "bus"]),
        (first.rater.name, "what", "answered", "=1+1"), (second.rater.name, "often", "answered", "1"),
        (second.rater.name, "where", "not_asked", ""), (second.rater.name, "what", "blank", ""),
    ]  # fmt: skip
    assert all(tuple(sorted(row)) == tuple(sorted(COLUMNS)) for row in rows)
    assert (rows[1]["asked"], rows[1]["answer_words"]) == ("Where?", "At home; On the bus")
    assert {row["version"] for row in rows} == {QuestionnaireAnswer.objects.first().version}  # type: ignore[union-attr]


@pytest.mark.parametrize("policy", [Study.ErasurePolicy.ANONYMISE, Study.ErasurePolicy.DELETE])
def test_somebody_whose_data_were_deleted_has_one_row_that_says_no_more(policy: str, study: Study) -> None:
    answered(study, often="5")
    gone = answered(study, often="2", what="My name is Eve")
    erase(study=study, rater=gone.rater, policy=policy)
    rows = list(questionnaire_rows(study=study))
    assert [row["state"] for row in rows] == ["answered", "blank", "blank", "erased"]
    assert {value for name, value in rows[-1].items() if name != "state"} == {""}
    assert "Eve" not in str(rows)


def test_page_api_and_command_give_the_same_file_and_the_audit_trail_says_so(
    study: Study, researcher: User
) -> None:
    answered(study, often="4", what="=1+1")
    out = StringIO()
    call_command("export_questionnaires", study.slug, stdout=out)
    page = Client()
    page.force_login(researcher)
    whole = page.get(f"/admin/annotator/study/{study.pk}/questionnaires/answers/")
    assert b"".join(whole.streaming_content).decode() == out.getvalue()  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert (rows[2]["answer"], rows[0]["rehearsal"]) == ("'=1+1", "false")
    token = api_token_make(user=researcher)
    api = Client(headers={"Authorization": f"Token {token}"})
    address = f"/api/v1/studies/{study.slug}/questionnaires/answers/"
    lines = b"".join(api.get(f"{address}?as=jsonl").streaming_content).splitlines()  # type: ignore[attr-defined]
    assert json.loads(lines[2])["answer"] == "=1+1"
    assert api.get(f"{address}?as=xlsx").status_code == 400
    ApiToken.objects.update(may_see_people=False)
    assert api.get(address).status_code == 403
    exported = AuditEntry.objects.filter(action=AuditAction.EXPORTED, study=study).order_by("pk")
    assert [one.after for one in exported] == [
        {"form": "questionnaires", "format": one} for one in ("csv", "csv", "jsonl")
    ]
    assert b"Download as CSV" in page.get(f"/admin/annotator/study/{study.pk}/questionnaires/").content

"""Exam and practice questions are written in a form, field by field, or imported from a CSV file."""

from __future__ import annotations

import csv
import io
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotator.hit_types.registry import hit_type_get
from annotator.models import Study, User
from annotator.selectors.study import study_hit_type
from tests.factories import make_study

pytestmark = pytest.mark.django_db
NEW = {
    "key": "owl", "payload-question": "Can an owl fly?", "payload-explanation": "All birds can fly.",
    "payload-answer": "yes", "payload-follow_up": "Can an owlet fly?", "gold-helpful": "yes", "gold-answer": "yes",
    "reason": "An owlet is a bird.", "pool": "",
}  # fmt: skip


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(by=researcher)


def url(study: Study, rest: str) -> str:
    return f"/admin/annotator/study/{study.pk}/exam/{rest}"


def text(reply: Any) -> str:
    return unescape(" ".join(reply.content.decode().split()))


def test_a_question_is_added_changed_and_deleted(researcher_client: Client, study: Study) -> None:
    before = len(hit_type_get("simulation").exam)
    assert 'name="gold-helpful"' in text(researcher_client.get(url(study, "exam/new/")))
    assert researcher_client.post(url(study, "exam/new/"), NEW).status_code == 302
    study.refresh_from_db()
    assert len(study.exam_own) == before + 1
    assert study.exam_own[-1] == {
        "key": "owl", "payload": {n.removeprefix("payload-"): v for n, v in NEW.items() if n.startswith("payload-")},
        "gold": {"helpful": "yes", "answer": "yes"}, "reason": "An owlet is a bird.", "pool": "",
    }  # fmt: skip
    changed = url(study, "exam/question/owl/")
    assert "Can an owlet fly?" in text(researcher_client.get(changed))
    researcher_client.post(changed, NEW | {"gold-answer": "no"})
    study.refresh_from_db()
    assert study.exam_own[-1]["gold"]["answer"] == "no"
    researcher_client.post(changed, {"delete": "1"})
    study.refresh_from_db()
    assert len(study.exam_own) == before


def test_each_error_is_shown_at_its_field(researcher_client: Client, study: Study) -> None:
    taken = hit_type_get("simulation").exam[0].key
    for sent, field in (
        (NEW | {"reason": ""}, "reason"),
        (NEW | {"gold-helpful": "", "gold-answer": ""}, "key"),
        (NEW | {"key": taken}, "key"),
        (NEW | {"gold-helpful": "perhaps"}, "gold-helpful"),
    ):
        reply = researcher_client.post(url(study, "exam/new/"), sent)
        assert reply.status_code == 400, field
        if field != "key":
            assert f'id="id_{field}_error"' in reply.content.decode(), field
    study.refresh_from_db()
    assert study.exam_own is None


def test_the_sample_can_be_imported_again(researcher_client: Client, study: Study) -> None:
    sample = researcher_client.get(url(study, "exam/sample.csv")).content
    rows = list(csv.DictReader(io.StringIO(sample.decode())))
    assert {"key", "question", "gold.helpful", "reason"} <= set(rows[0])
    file = SimpleUploadedFile("questions.csv", sample)
    reply = researcher_client.post(url(study, "exam/file/"), {"file": file, "replace": "1"}, follow=True)
    assert f"{len(rows)} questions imported." in text(reply)
    study.refresh_from_db()
    kept = {question.key: question.gold for question in study_hit_type(study).exam}
    assert kept == {question.key: question.gold for question in hit_type_get("simulation").exam}


def test_a_file_with_mistakes_stores_nothing_and_names_each(researcher_client: Client, study: Study) -> None:
    bad = "key,question,explanation,answer,follow_up,gold.helpful,reason,pool\na,Owls?,Birds.,yes,Owlets?,perhaps,,\n,,,,,,,\n"
    reply = researcher_client.post(
        url(study, "exam/file/"), {"file": SimpleUploadedFile("q.csv", bad.encode()), "replace": "1"}
    )
    assert reply.status_code == 400
    shown = text(reply)
    for fault in ("question 1 (a), gold.helpful", "question 1 (a), reason", "question 2, key"):
        assert fault in shown
    study.refresh_from_db()
    assert study.exam_own is None


@pytest.mark.parametrize(
    ("content", "message"), [(b"\xff\xfe", "not UTF-8"), (b"key\n", "no rows"), (b"", "empty")]
)
def test_files_without_questions_are_refused(
    researcher_client: Client, study: Study, content: bytes, message: str
) -> None:
    reply = researcher_client.post(
        url(study, "practice/file/"), {"file": SimpleUploadedFile("q.csv", content)}
    )
    assert reply.status_code == 400
    assert message in text(reply)

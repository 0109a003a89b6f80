"""A new researcher's path through the pages, from a new study to its deletion: no dead ends, and correct figures."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotator.models import Membership, Participation, Rehearsal, Study, User
from annotator.selectors.owed import balances_of
from annotator.services.assignment import assignment_next
from annotator.services.rehearsal.run import rehearsal_run
from annotator.services.submit_and_next import turn_take
from tests.annotator.admin.study_forms import sent_form
from tests.factories import make_participation, make_user

pytestmark = pytest.mark.django_db
HOME = "/admin/annotator/study/"


class Newcomer:
    """A person who only reads pages and uses the buttons and links on them."""

    def __init__(self, user: User) -> None:
        self.client = Client()
        self.client.force_login(user)
        self.root = HOME

    def get(self, page: str, **query: Any) -> str:
        reply = self.client.get(self.root + page, query)
        assert reply.status_code == 200, (page, reply.status_code)
        return self.plain(reply)

    def post(self, page: str, data: dict[str, Any], *, status: int = 200) -> str:
        reply = self.client.post(self.root + page, data, follow=True)
        assert reply.status_code == status, (page, reply.status_code)
        return self.plain(reply)

    def plain(self, reply: Any) -> str:
        return unescape(" ".join(re.sub(r"<[^>]+>", " ", reply.content.decode()).split()))


def work(study: Study, answers: list[str]) -> Participation:
    person = make_participation(study)
    for answer in answers:
        task = assignment_next(participation=person)
        assert task is not None
        raw = {"helpful": "yes", "answer": answer}
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw=raw)
    return person


def test_a_study_from_creation_to_payment_correction_and_deletion(
    researcher: User, settings: Any, tmp_path: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path
    one = Newcomer(researcher)
    one.post("add/", {"template": "simulation", "title": "Owls", "slug": "owls"})
    study = Study.objects.get(slug="owls")
    one.root = f"{HOME}{study.pk}/"
    assert "Still to do: material" in one.get("live/")

    sample = b"".join(one.client.get(one.root + "import/sample.jsonl"))
    wrong = sample.replace(b'"question"', b'"qestion"', 1)
    refused = one.post("import/", {"file": SimpleUploadedFile("m.jsonl", wrong)})
    assert "question" in refused
    reply = one.client.post(one.root + "import/", {"file": SimpleUploadedFile("m.jsonl", sample)})
    one.post("import/", sent_form(reply.content.decode()) | {"import": "1"})
    assert study.items.count() == 5

    form = one.client.get(one.root + "change/").context["form"]
    values = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in values.items() if value is not None and value is not False}
    for name in ("exam_required", "practice_required"):
        sent.pop(name, None)
    sent |= {"consent_text": "", "pay_per_item": "0.50", "redundancy": "3", "min_seconds": "0"}
    assert "Settings saved." in one.post("change/", sent)

    one.post("rehearsal/", {"start": "1", "raters": 4, "accuracy": "0.9", "seed": 1})
    rehearsal_run(rehearsal_pk=Rehearsal.objects.get().pk)
    assert "15 of 15 rehearsal places are filled" in one.get("rehearsal/")
    one.post("rehearsal/", {"clear": "1"})
    assert "15 judgments" in one.get("do/launch/")
    assert "The study is live." in one.post("do/launch/", {})
    study.refresh_from_db()
    assert study.snapshot.number == 1

    people = [work(study, ["yes"] * 5), work(study, ["no"] * 5), work(study, ["yes"])]
    assert "2 answers from" in one.get("contested/")
    first, second = study.items.order_by("id")[:2]
    payload = {f"payload-{name}": value for name, value in first.payload.items()}
    one.post(f"items/{first.pk}/edit/", payload | {"payload-question": "Mended?", "reason": "a typo"})
    one.post(f"items/{second.pk}/withdraw/", {"reason": "broken"})
    assert study.items.filter(withdrawn_at__isnull=False).count() == 2
    one.post(f"exclude/rater/{people[1].rater_id}/", {"reason": "guessed"})
    everybody = {"rater": [p.rater_id for p in people], "excluded": "1", "sure": "1"}
    assert "11 judgments accepted." in one.post("payments/", {"accept": "1"} | everybody)
    owed = {f"owed-{row.rater}": str(row.payable) for row in balances_of(study)}
    paid = one.post(
        "payments/",
        {"paid": "1", "sure": "1", "reference": "b-1", "rater": [p.rater_id for p in people]} | owed,
    )
    assert "Recorded 5.50 USD as paid to 3 participants." in paid
    assert "From version 2 to version 3" in one.get("versions/")

    one.post("duplicate/", {"title": "Owls again", "slug": "owls-2", "material": "on"})
    assert Study.objects.get(slug="owls-2").items.count() == 4
    viewer = make_user("vera", staff=True)
    Membership.objects.create(study=study, user=viewer, role="viewer")
    seen = Newcomer(viewer)
    seen.root = one.root
    assert "Mark as paid" not in seen.get("payments/")
    one.post("do/close/", {})
    one.post("archive/", {"anyway": "1"})
    assert "You can restore it" in one.post("remove/", {"typed": "owls"})
    assert "owls-2" in one.plain(one.client.get(HOME))

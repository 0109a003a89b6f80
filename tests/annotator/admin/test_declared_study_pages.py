"""What the pages of a study of a workspace's own HIT type do as those of any other: its sample file, and people's qualifications for it."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from annotator.models import Qualification, Rater, Study, User
from annotator.services.exam import qualification_grant, qualification_revoke
from annotator.services.rehearsal.fill import rehearsal_raters
from annotator.services.workspace import workspace_create
from tests.annotator.declared import clarity, clarity_study
from tests.factories import make_participation, make_user

pytestmark = pytest.mark.django_db
GRANT = "/admin/annotator/qualification/add/"


@pytest.fixture
def study() -> Study:
    ada = make_user("ada", staff=True)
    lab = workspace_create(by=ada, name="Lab")
    clarity(lab)
    return clarity_study(lab, ada)


def browser() -> Client:
    client = Client()
    client.force_login(User.objects.get(username="ada"))
    return client


def rater(study: Study) -> Rater:
    return make_participation(study, make_user("ann")).rater


def test_the_sample_file_has_the_types_own_examples(study: Study) -> None:
    reply = browser().get(f"/admin/annotator/study/{study.pk}/import/sample.jsonl")
    assert reply.status_code == 200
    rows = [json.loads(line) for line in reply.content.decode().strip().split("\n")]
    assert {"sentence": "The soup is hot.", "note": "Careful."} in [
        {name: row[name] for name in ("sentence", "note")} for row in rows
    ]
    assert 'filename="clarity-sample.jsonl"' in reply["Content-Disposition"]


def test_a_revoked_qualification_is_granted_again_at_the_review_desk(study: Study) -> None:
    person = rater(study)
    held = qualification_grant(rater=person, hit_type="clarity", workspace=study.workspace, by=None)
    qualification_revoke(qualification=held, reason="guessing")
    reply = browser().post(
        f"/admin/annotator/study/{study.pk}/desk/",
        {"decision": "grant", "rater": str(person.pk), "qualification_reason": "retrained"},
        follow=True,
    )
    assert reply.status_code == 200
    held.refresh_from_db()
    assert held.revoked_at is None


def test_a_qualification_is_granted_by_hand_only_where_the_type_is(study: Study) -> None:
    person = rater(study)
    other = workspace_create(by=User.objects.get(username="ada"), name="Other")
    with pytest.raises(KeyError, match="clarity"):
        qualification_grant(rater=person, hit_type="clarity", workspace=other, by=None)
    sent = {"workspace": str(other.pk), "name": person.name, "hit_type": "clarity", "why": "A colleague."}
    refused = browser().post(GRANT, sent).content.decode()
    assert "has no HIT type of this name" in refused
    asked = browser().post(GRANT, sent | {"workspace": str(study.workspace_id)}).content.decode()
    assert "Clarity of sentences" in asked
    browser().post(GRANT, sent | {"workspace": str(study.workspace_id), "sure": "1"})
    assert Qualification.objects.get().rater == person


def test_rehearsal_raters_hold_a_required_qualification_of_the_type(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(requires=["clarity"])
    study.refresh_from_db()
    rehearsal_raters(study=study, count=1, accuracy=0.9, spread=0, seed=1)
    assert Qualification.objects.get().rater.rehearsal

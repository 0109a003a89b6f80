"""A study from an empty page to paid work, with people from the stand-in of Prolific: places, codes, decisions and money agree.

``PANEL_PEOPLE`` says how many people; ``python -m benchmarks panel`` runs it with 200.
"""

from __future__ import annotations

import os
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from annotator.models import PanelStudy, User
from annotator.recruitment.webhooks import status_read
from annotator.selectors.owed import balances_of
from annotator.selectors.panel_plan import people_needed
from annotator.services.panel_connection import panel_hooks_set_up
from annotator.services.panel_reconcile import panel_reconcile_sweep
from annotator.services.panel_study import panel_study_create, panel_study_follow, panel_study_move
from annotator.services.study import study_launch
from tests.annotator.services.panel_people import connected_study, values
from tests.panel_crowd import Crowd, cents, payment_step
from tests.prolific_api import prolific_api

pytestmark = pytest.mark.django_db
PEOPLE = int(os.environ.get("PANEL_PEOPLE", "20"))


def test_people_from_a_panel_are_answered_and_paid_to_the_cent(researcher: User) -> None:
    with prolific_api() as books:
        study, connection = connected_study(
            researcher, items=PEOPLE * 7 // 10 + PEOPLE // 12, redundancy=2, panel_links="signed", max_items_per_rater=2, exam_required=True, exam_attempts=1,
            exam_questions=1, pass_mark=1, exam_pay=Decimal("0.20"), consent_text="We keep your answers.", launched=False,
            screened_out_code="EXAM", partly_code="SOME", declined_code="NO", stopped_code="STOP", joins_per_address=None, joins_per_hour=None, unfinished_per_hour=None,
            pay_floor_per_hour=Decimal("6.00"), minutes_per_item=2,
        )  # fmt: skip
        link = f"http://testserver{reverse('annotator:invitation', args=[study.join_token])}"
        panel = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
        row = _published(study, connection, f"{link}?{panel}", researcher)
        crowd = Crowd(books, row, researcher)
        came = crowd.come(PEOPLE * 2)
        crowd.books.troubles = [("GET /api/v1/submissions/", "500")]
        panel_reconcile_sweep()
        row.refresh_from_db()

        # Places: all are answered, and the study there has ended with as many places as were taken.
        assert people_needed(study).complete
        there = books.studies[row.remote_id]
        assert row.state == "ended"
        assert books.taken(row.remote_id) <= there["total_available_places"] <= row.most_places
        assert came >= PEOPLE
        assert set(crowd.ends) >= {"works", "returns", "fails", "declines", "times out", "vanishes", "stops"}

        # Codes and decisions: everybody got an answer, and both sides say the same of everybody.
        assert crowd.unanswered == []
        mine = [one for one in books.submissions.values() if one["study"] == row.remote_id]
        entered = Counter(one["code"] for one in mine if one["code"])
        codes = {
            "completion_code": "DONE",
            "screened_out_code": "EXAM",
            "partly_code": "SOME",
            "declined_code": "NO",
            "nothing_left_code": "NONE",
        }
        assert {codes[name]: number for name, number in row.exits.items()} == dict(entered)
        assert set(entered) | {"NONE"} == set(codes.values())
        here = dict(study.participations.values_list("recruiter_session", "panel_status"))
        assert here == {one["id"]: status_read(one["status"]) for one in mine if one["id"] in here}
        assert "ACTIVE" not in here.values()

        # Money: the ledger and the stand-in's books agree to the cent, for everybody.
        payment_step(crowd)
        balances = balances_of(study)
        assert {one.recruiter_id: cents(one.paid) for one in balances if one.paid} == books.paid_in(
            row.remote_id
        )
        assert all(one.payable == 0 and one.items + one.exam + one.bonus == one.paid for one in balances)
        worked = study.minutes_per_item * 2
        least = min(one.items for one in balances if one.done == 2)
        assert least * 60 / Decimal(worked) >= study.pay_floor_per_hour
        assert books.invalid == []


def _published(study: Any, connection: Any, link: str, by: User) -> PanelStudy:

    needed = people_needed(study).people
    chosen = values(
        minutes=5, reward=Decimal("1.20"), places=needed, action_completion_code="approve", action_screened_out_code="screen_out",
        action_partly_code="review", action_declined_code="return", action_stopped_code="return", screen_out_reward=Decimal("0.20"),
        slots=100,
    )  # fmt: skip
    row = panel_study_create(study=study, connection=connection, values=chosen, link=link, by=by)
    study.refresh_from_db()
    study_launch(study=study)
    study.refresh_from_db()
    hooks = reverse("annotator:panel_webhook", args=["prolific", study.join_token])
    panel_hooks_set_up(study=study, connection=connection, url=f"http://testserver{hooks}", by=by)
    row = panel_study_move(
        row=PanelStudy.objects.select_related("study").get(pk=row.pk), transition="publish", by=by
    )
    return panel_study_follow(row=row, follows=True, most_places=PEOPLE * 2, by=by)

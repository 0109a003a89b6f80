"""Contested items and raters: who disagrees where, with simulators beside people."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import Judgment, Study, User
from annotator.selectors.contested import agreement_with_others, contested_items
from annotator.services.exclusion import exclusion_make
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.rehearsal.run import rehearsal_request, rehearsal_run
from annotator.services.study import study_launch
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User, simulation: str) -> Study:
    """Item a: yes, no. Item b: yes, yes, no. Item c: yes, yes. A simulator says no to all."""
    made = make_study(by=researcher, hit_type=simulation)
    answers = {"a": ("yes", "no"), "b": ("yes", "yes", "no"), "c": ("yes", "yes")}
    for key, given in answers.items():
        item = make_item(made, key=key, system="robot-a" if key != "b" else "robot-b")
        for name, answer in zip(("ann", "ben", "cam"), given, strict=False):
            make_judgment(item, make_rater(name), answer)
        make_judgment(item, make_rater("model", kind="simulator"), "no")
    return made


def text(client: Client, study: Study, page: str, **query: Any) -> str:
    reply = client.get(f"/admin/annotator/study/{study.pk}/{page}/", query)
    assert reply.status_code == 200
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", reply.content.decode()).split()))


def test_the_most_divided_item_comes_first_and_agreed_ones_are_left_out(study: Study) -> None:
    first, second = contested_items(study)
    assert (first.item.key, first.raters, first.answers, first.entropy) == ("a", 2, 2, 1.0)
    assert second.item.key == "b"
    assert second.entropy == pytest.approx(0.9183, abs=1e-4)


def test_exclusions_and_rehearsals_do_not_count(study: Study) -> None:
    exclusion_make(study=study, by=None, reason="odd", rater=make_rater("cam"))
    assert [one.item.key for one in contested_items(study)] == ["a"]
    rehearse(
        study=study, raters=rehearsal_raters(study=study, count=4, accuracy=0.5, spread=0, seed=1), seed=1
    )
    assert [one.item.key for one in contested_items(study)] == ["a"]
    assert all(
        judgment.rater.rehearsal or judgment.rater.kind == "simulator"
        for one in contested_items(study, rehearsal=True)
        for judgment in one.judgments
    )


@pytest.mark.parametrize(
    ("filters", "keys"),
    [({"system": "robot-b"}, ["b"]), ({"rater": "cam"}, ["b"]), ({"kind": "counterfactual"}, ["a", "b"]), ({"system": "none"}, [])],
)  # fmt: skip
def test_contested_items_can_be_filtered(study: Study, filters: dict[str, str], keys: list[str]) -> None:
    assert [one.item.key for one in contested_items(study, filters=filters)] == keys


def test_a_pair_has_the_items_that_the_two_answered_differently(
    researcher_client: Client, study: Study
) -> None:
    ann, ben, cam = (make_rater(name) for name in ("ann", "ben", "cam"))
    model = make_rater("model", kind="simulator")
    assert [one.item.key for one in contested_items(study, pair=(ann.pk, ben.pk))] == ["a"]
    assert [one.item.key for one in contested_items(study, pair=(ben.pk, cam.pk))] == ["b"]
    assert [one.item.key for one in contested_items(study, pair=(ann.pk, model.pk))] == ["a", "b", "c"]
    assert contested_items(study, pair=(ann.pk, model.pk), filters={"system": "robot-b"})[0].item.key == "b"
    shown = text(researcher_client, study, "contested", raters=f"{ann.pk}-{ben.pk}")
    assert "Where ann and ben disagree" in shown
    assert "They gave the same answer to 2 of 3 shared items." in shown
    assert "1.00 bits" in shown
    assert "0.92 bits" not in shown
    stranger = make_rater("somebody else")
    assert "Contested items" in text(researcher_client, study, "contested", raters=f"{ann.pk}-{stranger.pk}")
    exclusion_make(study=study, by=None, reason="odd", item=study.items.get(key="a"))
    assert contested_items(study, pair=(ann.pk, ben.pk)) == []


def test_agreement_is_the_share_of_same_answers_of_others(study: Study) -> None:
    found = agreement_with_others(study, [make_rater("ann").pk, make_rater("cam").pk])
    assert found == {make_rater("ann").pk: (2, 4), make_rater("cam").pk: (0, 2)}


def test_the_page_shows_people_and_simulators_side_by_side(researcher_client: Client, study: Study) -> None:
    shown = text(researcher_client, study, "contested")
    assert "1.00 bits, 2 answers from 2 raters" in shown
    assert "ben model" in shown, "the simulator stands beside the person with the same answer"
    assert "0.92 bits" in shown
    assert "No contested item matches." in text(researcher_client, study, "contested", rater="nobody")


def test_imported_raters_are_not_called_people(researcher_client: Client, study: Study) -> None:
    shown = text(researcher_client, study, "raters")
    assert "ann imported rater" in shown
    assert "model simulator" in shown
    assert "50 %" in shown


def test_the_number_of_queries_is_constant_for_contested_items(
    researcher_client: Client, study: Study
) -> None:
    def queries(page: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            text(researcher_client, study, page)
        return len(seen)

    for page in ("contested", "raters"):
        queries(page)
        few = queries(page)
        for number in range(4):
            item = make_item(study, key=f"{page}-{number}")
            make_judgment(item, make_rater(f"{page}-x{number}"), "yes")
            make_judgment(item, make_rater(f"{page}-y{number}"), "no")
        assert queries(page) == few <= 20, page


def test_before_the_launch_a_rehearsal_is_shown_at_once(researcher_client: Client, researcher: User) -> None:
    draft = make_study(by=researcher, items=6)
    request = rehearsal_request(study=draft, by=researcher, raters=4, accuracy=0.5, seed=1)
    rehearsal_run(rehearsal_pk=request.pk)
    assert "bits" in text(researcher_client, draft, "contested")
    assert "No item has two different answers" in text(researcher_client, draft, "contested", count="people")


def test_a_launched_study_with_nothing_but_a_rehearsal_leads_to_it(
    researcher_client: Client, researcher: User
) -> None:
    study = make_study(by=researcher, items=6)
    request = rehearsal_request(study=study, by=researcher, raters=4, accuracy=0.5, seed=1)
    rehearsal_run(rehearsal_pk=request.pk)
    study_launch(study=study)
    assert "Show where the rehearsal's raters disagree" in text(researcher_client, study, "contested")
    assert "Show where the rehearsal" not in text(researcher_client, study, "contested", count="rehearsal")


def test_the_times_of_simulators_are_not_those_of_hasty_people(
    researcher_client: Client, study: Study
) -> None:
    Judgment.objects.filter(rater__kind="simulator").update(seconds=0.1)
    html = researcher_client.get(f"/admin/annotator/study/{study.pk}/raters/").content.decode()
    [row] = re.findall(r"<tr[^>]*>(?:(?!</tr>).)*>model</a>.*?</tr>", html, re.DOTALL)
    assert "100 %" not in row
    assert "fk-alarm" not in row


def test_judgments_of_an_item_are_counted_of_those_wanted(researcher_client: Client, study: Study) -> None:
    assert f"3 of {study.redundancy}" in text(researcher_client, study, "items")

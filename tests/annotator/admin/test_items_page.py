"""The list of a study's items tells how many judgments of people count, of how many."""

from __future__ import annotations

import pytest
from django.test import Client
from lxml import html

from annotator.models import Item, Judgment, Study
from annotator.services.exclusion import exclusion_lift, exclusion_make
from annotator.services.items import item_withdraw
from tests.annotator.services.collecting import filled, work
from tests.annotator.services.control_studies import control_study
from tests.factories import make_participation

pytestmark = pytest.mark.django_db


def counts(client: Client, study: Study) -> dict[str, str]:
    """The last column by the item's key."""
    page = html.document_fromstring(client.get(f"/admin/annotator/study/{study.pk}/items/").content)
    rows = page.xpath("//table[contains(@class, 'fk-table')]/tbody/tr")
    return {row.xpath("string(td[1]/a)"): " ".join(row.xpath("string(td[last()])").split()) for row in rows}


def test_excluded_judgments_are_not_among_those_that_count(admin_client: Client) -> None:
    study, (ann, ben) = filled(people=2, items=2)
    assert counts(admin_client, study) == {"item-0": "2 of 2", "item-1": "2 of 2"}
    one = Judgment.objects.get(item__key="item-0", rater=ann.rater)
    exclusion_make(study=study, by=None, reason="a typo", judgment=one)
    assert counts(admin_client, study) == {"item-0": "1 of 2 and 1 excluded", "item-1": "2 of 2"}
    whole = exclusion_make(study=study, by=None, reason="a bot", rater=ben.rater)
    assert counts(admin_client, study) == {
        "item-0": "0 of 2 and 2 excluded",
        "item-1": "1 of 2 and 1 excluded",
    }
    exclusion_lift(exclusion=whole)
    assert counts(admin_client, study)["item-1"] == "2 of 2"


def test_judgments_that_others_made_up_for_are_beside_them(admin_client: Client) -> None:
    study, (ann, _) = filled(people=2, items=1)
    exclusion_make(study=study, by=None, reason="a bot", rater=ann.rater, collect_again=True)
    work(make_participation(study))
    assert counts(admin_client, study) == {"item-0": "2 of 2 and 1 excluded"}


def test_judgments_of_a_withdrawn_item_are_excluded(admin_client: Client) -> None:
    study, _ = filled(people=2, items=1)
    item_withdraw(item=Item.objects.get(study=study), by=None, reason="a typo")
    assert counts(admin_client, study) == {"item-0": "0 and 2 excluded"}


def test_items_of_a_control_arm_have_their_own_number_of_raters(admin_client: Client) -> None:
    study = control_study(
        instances=1, systems=1, follow_ups=1, redundancy=3, answer_only_raters=0, nothing_raters=1
    )
    assert sorted(counts(admin_client, study).values()) == ["0 of 1", "0 of 3"]

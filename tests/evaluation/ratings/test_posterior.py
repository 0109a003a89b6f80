"""The queue of adjudication in the order of Dawid and Skene's uncertainty."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.selectors.adjudication import adjudication_queue
from annotator.selectors.adjudication_order import ORDERS
from evaluation.ratings.posterior import posterior_bits
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


def test_items_that_the_model_is_sure_of_come_last_however_divided_they_are() -> None:
    """ann and ben agree whenever both judge, but for the last item; dan agrees with them half the time, so his answers tell little."""
    boss = make_user("boss", staff=True)
    study = make_study(by=boss)
    both = [{"ann": one, "ben": one, "dan": dan} for dan in ("no", "yes") for one in ("yes", "no")]
    for number, given in enumerate([*both * 3, {"ann": "yes", "dan": "no"}, {"ann": "yes", "ben": "no"}]):
        item = make_item(study, key=f"i{number}")
        for name, answer in given.items():
            make_judgment(item, make_rater(name), answer)
    bits = posterior_bits(study=study)
    first, last = study.items.get(key="i12").pk, study.items.get(key="i13").pk
    assert bits[last] == max(bits.values()) > 0.9
    assert bits[first] < 0.5
    assert adjudication_queue(study=study, user=boss).waiting[0].item == first, "by entropy, both are equal"
    assert all(0 <= value <= 1.6 for value in bits.values())
    queue = adjudication_queue(study=study, user=boss, order="posterior")
    assert queue.waiting[0].item == last
    assert queue.waiting[0].bits == bits[last]
    client = Client()
    client.force_login(boss)
    page = client.get(f"/admin/annotator/study/{study.pk}/adjudication/?order=posterior").content.decode()
    assert ORDERS["posterior"] in page
    assert f"/adjudicate/{study.pk}/{last}/?order=posterior" in page


def test_a_study_without_judgments_has_no_uncertainty() -> None:
    assert posterior_bits(study=make_study(items=1)) == {}

"""The queue of adjudication in the order of Dawid and Skene's uncertainty."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.selectors.adjudication import ORDERS, adjudication_queue
from evaluation.ratings.posterior import posterior_bits
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


def test_items_that_the_model_is_sure_of_come_last_however_divided_they_are() -> None:
    """ann and ben agree on everything but one item; cam answers by chance: his answers hardly count."""
    boss = make_user("boss", staff=True)
    study = make_study(by=boss)
    answers = [("yes", "yes", "no"), ("no", "no", "yes")] * 4 + [("yes", "no", "yes")]
    for number, given in enumerate(answers):
        item = make_item(study, key=f"i{number}")
        for name, answer in zip(("ann", "ben", "cam"), given, strict=True):
            make_judgment(item, make_rater(name), answer)
    bits = posterior_bits(study=study)
    last = study.items.get(key="i8").pk
    assert bits[last] == max(bits.values()) > 0.1
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

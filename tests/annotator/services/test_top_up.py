"""A top-up to the minimum pay per hour is proposed with its cost, and given once."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from annotator.models import AuditEntry, LedgerEntry
from annotator.selectors.owed import balances_of
from annotator.selectors.top_up import Hours, top_up_amounts, top_up_of
from annotator.services.payment import work_accept
from annotator.services.top_up import top_up_give
from tests.annotator.services.worked_study import worked

pytestmark = pytest.mark.django_db


def test_it_is_proposed_with_its_cost_and_given_once() -> None:
    study = worked([30, 60, 3600])
    assert top_up_of(study).amounts == (), "nobody's work is accepted yet"
    work_accept(study=study, by=None)
    due = top_up_of(study)
    assert (due.per_hour, due.people, due.currency) == (Decimal("6.00"), 3, "USD")
    assert [amount for _, _, amount in due.amounts] == [Decimal("0.05")] * 3, (
        "an idle page isn't paid by the hour"
    )
    assert due.total == Decimal("0.15")
    top_up_give(study=study, total=due.total, by=None)
    with pytest.raises(ValidationError, match="No top-up is due"):
        top_up_give(study=study, total=due.total, by=None)
    assert (top_up_of(study).per_hour, top_up_of(study).amounts) == (Decimal("9.00"), ())
    assert [one.payable for one in balances_of(study)] == [Decimal("0.15")] * 3
    entry = LedgerEntry.objects.filter(kind="top_up").first()
    assert entry is not None
    assert entry.reason == "top-up to the minimum of 9.00 USD an hour"
    assert AuditEntry.objects.filter(action="payments.top_up").count() == 3


@pytest.mark.parametrize("total", ["0.14", "-0.15", "1e9", "NaN", "sNaN", "Infinity", "0.1500000001"])
def test_another_cost_than_the_confirmed_one_gives_nothing(total: str) -> None:
    study = worked([60])
    work_accept(study=study, by=None)
    with pytest.raises(ValidationError, match="Nothing was given"):
        top_up_give(study=study, total=Decimal(total), by=None)
    assert not LedgerEntry.objects.exists()


def test_undefined_is_said_with_its_reason() -> None:
    assert top_up_of(worked([60], floor="0")).why == "The study has no minimum pay per hour."
    nobody = top_up_of(worked([]))
    assert (nobody.per_hour, nobody.why, nobody.total) == (None, "Nobody's work was timed yet.", 0)


def test_people_accepted_later_get_theirs_later() -> None:
    study = worked([60, 60])
    first, second = (one.rater for one in balances_of(study))
    work_accept(study=study, by=None, raters=[first])
    top_up_give(study=study, total=Decimal("0.05"), by=None)
    work_accept(study=study, by=None, raters=[second])
    assert [rater for rater, _, _ in top_up_of(study).amounts] == [second]


def test_half_of_the_work_accepted_gives_half_of_the_top_up() -> None:
    half = Hours(1, "", Decimal("1.00"), Decimal(0), 600.0, 5, 5)
    whole = Hours(2, "", Decimal("1.00"), Decimal(0), 600.0, 10)
    none = Hours(3, "", Decimal("1.00"), Decimal(0), 600.0, 0, 10)
    found = {rater: amount for rater, _, amount in top_up_amounts([half, whole, none], Decimal("12"))}
    assert found == {1: Decimal("0.50"), 2: Decimal("1.00")}


hours = st.builds(
    Hours,
    rater=st.integers(1, 10**6),
    name=st.just(""),
    earned=st.decimals("0", "500", places=4),
    topped_up=st.just(Decimal(0)),
    seconds=st.floats(1, 10**5),
    accepted=st.just(1),
)


@given(people=st.lists(hours, max_size=9), floor=st.decimals("0.01", "100", places=2))
def test_after_a_top_up_the_median_reaches_the_floor_and_nothing_is_due(
    people: list[Hours], floor: Decimal
) -> None:
    amounts = dict(zip(range(len(people)), [Decimal(0)] * len(people), strict=True))
    numbered = [Hours(n, "", one.earned, Decimal(0), one.seconds, 1) for n, one in enumerate(people)]
    for rater, _, amount in top_up_amounts(numbered, floor):
        assert amount > 0
        assert amount == amount.quantize(Decimal("0.01"))
        amounts[rater] = amount
    after = [Hours(one.rater, "", one.earned, amounts[one.rater], one.seconds, 1) for one in numbered]
    assert top_up_amounts(after, floor) == ()

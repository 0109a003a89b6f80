"""How many bytes a report holds for each rating and each item, counted from the columns: nothing here is timed."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from annotator.models import Item, Judgment
from evaluation.core.names import NamesArray
from evaluation.metrics.coded_columns import CodedTexts
from evaluation.ratings.followups import FollowUpTable
from evaluation.ratings.load import study_ratings
from evaluation.reports.choices import Choices
from evaluation.reports.compute import context_of
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db

ITEMS, RATERS = 40, 3
#: 4 bytes each for rater, item, unit and value, and 1 for the response.
PER_RATING = 17


@pytest.fixture
def context() -> Any:
    """The basis of a report on items that all have three ratings."""
    study = make_study()
    raters = [make_rater(f"rater {number}") for number in range(RATERS)]
    for number in range(ITEMS):
        item = make_item(study, key=f"item-{number:03}", instance=f"q{number // 4}", real_output="yes")
        for rater in raters:
            make_judgment(item, rater, "yes" if number % 3 else "no")
    return context_of(study, Choices(replicates=0))


def arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray | NamesArray]:
    """Every array that a result holds, each once: those of other results that it shares are not counted twice."""
    if id(value) in seen or isinstance(value, (str, bytes, int, float)) or value is None:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        whole = value if value.base is None or not isinstance(value.base, np.ndarray) else value.base
        if whole is value or id(whole) not in seen:
            seen.add(id(whole))
            yield value
    elif isinstance(value, NamesArray):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from arrays(one, seen)
    elif isinstance(value, (list, tuple)):
        assert len(value) < ITEMS or not isinstance(value[0], str), "a Python text for each item"
        for one in value:
            yield from arrays(one, seen)
    elif is_dataclass(value) and not isinstance(value, type):
        for name in {one.name for one in fields(value)} | set(vars(value)):
            if name in vars(value):
                yield from arrays(vars(value)[name], seen)


def test_a_rating_takes_at_most_17_bytes(context):
    data = context.data
    table = data.table("simulation")
    table.ratings.grouped  # noqa: B018 - statistics make it
    found = list(arrays([data.judgments, table], set()))
    long = [one for one in found if isinstance(one, np.ndarray) and len(one) == ITEMS * RATERS]
    assert sum(one.nbytes for one in long) <= PER_RATING * ITEMS * RATERS
    assert not any(one.dtype == object for one in found if isinstance(one, np.ndarray))


def test_a_table_in_order_shares_its_columns(context):
    judgments, ratings = context.data.judgments, context.data.table("simulation").ratings
    grouped = ratings.grouped
    assert ratings.rater is judgments.rater
    assert grouped.rater is ratings.rater
    assert grouped.value is ratings.value
    assert grouped.unit is ratings.unit


def test_an_item_takes_few_bytes_and_no_python_object(context):
    items = context.data.judgments.items
    items.instance_names, items.explanation_names  # noqa: B018 - sections make them
    found = list(arrays(items, set()))
    columns = [one for one in found if isinstance(one, np.ndarray) and len(one) == ITEMS]
    assert not any(one.dtype == object for one in columns)
    # Four ids and the keys' places of at most 4 bytes, ten columns of few names, and two of names by id.
    assert sum(one.nbytes for one in columns) <= (5 * 4 + 10 + 2 * 4) * ITEMS
    names = [one for one in found if isinstance(one, NamesArray)]
    assert [len(one) for one in names] == [ITEMS]
    assert names[0].nbytes <= ITEMS * (len("item-000") + 4) + 64


def test_follow_ups_are_codes_until_they_are_read(context):
    table = context.all_follow_ups("simulation")[0]
    part = table.take(np.arange(len(table)) % 2 == 0)
    for one in (table, part):
        stored = {
            name: one.column(name) for name in ("unit", "system", "simulated", "real", "text", "missing")
        }
        assert all(isinstance(column, CodedTexts) for column in stored.values())
        assert sum(column.codes.nbytes for column in stored.values()) <= 9 * len(one)
    assert part.unit.tolist() == [f"item-{number:03}" for number in range(0, ITEMS, 2)]
    assert isinstance(part.column("unit"), CodedTexts), "reading a column must not keep its objects"


def test_labels_do_not_copy_the_follow_ups(context):
    base = context.base("simulation")
    assert isinstance(base, FollowUpTable)
    labelled = context.all_follow_ups("simulation")[0]
    for name in ("unit", "explanation", "instance", "system", "generator", "kind", "real"):
        assert labelled.column(name) is base.base.column(name)


def test_agreement_without_some_labels_is_not_held_beside_the_whole(context):
    whole = context.agreement("simulation")
    part = context.agreement("simulation", "statements")
    assert part.whole is whole.whole


def test_columns_are_the_same_whatever_the_pieces(context, monkeypatch):
    monkeypatch.setattr("evaluation.ratings.columns.PIECE", 1)
    again = study_ratings(study=context.study)
    assert again.digest == context.data.digest
    assert again.judgments.rater.tolist() == context.data.judgments.rater.tolist()
    assert again.judgments.items.key.names == context.data.judgments.items.key.names


def test_ids_that_need_eight_bytes_keep_them(context):
    item = Item.objects.latest("pk")
    Judgment.objects.filter(item=item).delete()
    Item.objects.filter(pk=item.pk).update(id=2**40)
    items = study_ratings(study=context.study).judgments.items
    assert items.ids.max() == 2**40
    assert items.numbers(np.array([2**40])).tolist() == [ITEMS - 1]


def test_an_item_that_was_imported_meanwhile_does_not_become_an_older_one(context):
    items = context.data.judgments.items
    most = int(np.iinfo(items.ids.dtype).max)
    assert items.numbers(np.array([most + 1, most + 3])).tolist() == [len(items)] * 2


def test_a_variable_that_nobody_answered_has_no_rows(context):
    entries, owner = context.data.entries, context.data.owner
    assert [column.tolist() for column in entries.rows(99, owner, context.data.owners)] == [[], [], []]

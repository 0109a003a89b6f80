"""The indexes of the tables that a turn writes: each costs every turn a page or two, so none repeats another."""

from __future__ import annotations

import pytest
from django.db import connection

from annotator.selectors.judgment import judgments_filter
from annotator.services.study import study_launch
from tests.annotator.desk_people import item_answer, items_make, people_make, work_make
from tests.factories import make_study

pytestmark = pytest.mark.django_db
TABLES = ("annotator_assignment", "annotator_judgment", "annotator_place")
# Of each whole (not partial) index: its columns' numbers in order.
INDEXES = """
SELECT relname, string_to_array(indkey::text, ' ') FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_am ON pg_am.oid = relam
WHERE indrelid = %s::regclass AND indpred IS NULL AND indexprs IS NULL AND amname = 'btree'
"""


def whole_indexes(table: str) -> dict[str, list[str]]:
    with connection.cursor() as cursor:
        cursor.execute(INDEXES, [table])
        return dict(cursor.fetchall())


@pytest.mark.parametrize("table", TABLES)
def test_no_index_is_the_beginning_of_another(table: str) -> None:
    indexes = whole_indexes(table)
    assert len(indexes) >= 4
    redundant = [
        (name, other)
        for name, columns in indexes.items()
        for other, longer in indexes.items()
        if name != other and longer[: len(columns)] == columns
    ]
    assert redundant == []


@pytest.mark.parametrize("table", TABLES)
def test_a_foreign_key_without_an_index_of_its_own_is_the_beginning_of_one(table: str) -> None:
    """``instructions_seen`` is the only one without: its versions are never deleted alone, and it has an index of page ranges."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname, conkey[1]::text FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]"
            " WHERE conrelid = %s::regclass AND contype = 'f'",
            [table],
        )
        keys = dict(cursor.fetchall())
    firsts = {columns[0] for columns in whole_indexes(table).values()}
    assert {name for name, number in keys.items() if number not in firsts} <= {"instructions_seen_id"}


def test_a_guest_still_has_one_open_task() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('assignment_one_of_a_guest') IS NOT NULL")
        assert cursor.fetchone() == (True,)


@pytest.fixture
def others() -> None:
    """Another study with 600 judgments, which the planner knows of: in an empty table all indexes cost the same."""
    study = make_study(slug="others")
    items_make(study)
    study_launch(study=study)
    study.refresh_from_db()
    work_make(
        study,
        people_make(study, [f"person-{n}" for n in range(50)]),
        lambda number, item: (item_answer(item), 20, {}),
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotator_judgment")


@pytest.mark.usefixtures("others")
def test_the_next_page_of_a_study_s_judgments_comes_from_an_index() -> None:
    """The primary key would lead past the judgments of every other study, of which there may be millions."""
    study = make_study(items=1)
    page = study.judgments.filter(pk__gt=7).order_by("pk")[:50]
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off"
        )
    assert "judgment_by_study" in page.explain()


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(
    ("filters", "index"),
    [({"source": "simulator"}, "judgment_not_in_browser"), ({"standing": "surplus"}, "judgment_surplus")],
)
def test_a_filter_for_what_few_judgments_have_reads_no_others(filters: dict[str, str], index: str) -> None:
    found = judgments_filter(study=make_study(items=1), filters=filters).order_by("id").values_list("pk")[:50]
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off"
        )
    assert index in found.explain()


def test_a_version_is_looked_for_in_few_pages_of_the_judgments() -> None:
    """As its deletion does; the statement is that of the foreign key."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT 1 FROM ONLY annotator_judgment x WHERE 7 = instructions_seen_id FOR KEY SHARE OF x"
        )
        assert "judgment_by_version_seen" in "".join(line for (line,) in cursor.fetchall())

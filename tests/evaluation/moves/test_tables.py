"""No table of the database is forgotten when a study moves: each moves, or is listed with the reason why it doesn't."""

from __future__ import annotations

from annotator.models import Workspace
from evaluation.moves.json_rows import default_of
from evaluation.moves.tables import LEFT, MOVED
from tests.evaluation.moves.all_tables import MODELS, SECRET


def test_every_table_moves_or_is_listed_with_its_reason() -> None:
    moved = {table.model._meta.label for table in MOVED}
    assert len(MODELS) > 60
    assert moved | set(LEFT) == set(MODELS)
    assert not moved & set(LEFT)
    assert all(LEFT.values())


def test_a_row_comes_after_the_rows_that_it_refers_to() -> None:
    place = {table.model: number for number, table in enumerate(MOVED)}
    for table in MOVED:
        for field in table.model._meta.concrete_fields:
            if field.remote_field is None or field.attname in table.withheld:
                continue
            target = field.remote_field.model
            if target is Workspace or (table.name, field.name) == ("annotator.study", "snapshot"):
                continue
            assert place[target] <= place[table.model], f"{table.name}.{field.name}"


def test_columns_that_hold_secrets_or_rights_do_not_move() -> None:
    found = [f"{table.name}.{name}" for table in MOVED for name in table.columns if SECRET.search(name)]
    assert found == []


def test_withheld_columns_exist_and_have_a_reason_and_a_default() -> None:
    for table in MOVED:
        names = {field.attname for field in table.model._meta.concrete_fields}
        named = {
            *table.withheld,
            *table.put,
            *table.key,
            *table.same,
            *table.loose,
            *filter(None, [table.part_of]),
        }
        assert named <= names
        assert all(table.withheld.values())
        for name in set(table.withheld) - set(table.put):
            if table.name != "annotator.user":  # filled in for each account
                default_of(table.model, name)

"""No table of the database is forgotten when a workspace is backed up: it is in a study's file, in the workspace's own, or listed with the reason why not."""

from __future__ import annotations

import pytest
from django.db.models import Field

from annotator.models import Workspace
from evaluation.moves.json_rows import default_of
from evaluation.moves.tables import MOVED, MovedTable
from evaluation.moves.workspace_tables import OWN, STAYS
from tests.evaluation.moves.all_tables import MODELS, SECRET

#: Tables of a workspace that are in the files of its studies alone.
IN_STUDIES = {"annotator.Study"}


def test_every_table_is_in_the_backup_or_is_listed_with_its_reason() -> None:
    own, moved = ({table.model._meta.label for table in tables} for tables in (OWN, MOVED))
    assert own | moved | set(STAYS) == set(MODELS)
    assert not (own | moved) & set(STAYS)
    assert all(STAYS.values())


def test_a_new_table_of_a_workspace_must_be_listed() -> None:
    """A table that refers to a workspace is on one of the workspace's own lists, whatever study's file has its rows, too."""
    own = {table.model._meta.label for table in OWN}
    for label, model in MODELS.items():
        if any(_leads_to_workspace(field) for field in model._meta.concrete_fields):
            assert label in own | set(STAYS) | IN_STUDIES, f"{label} belongs to a workspace and is on no list"


def _leads_to_workspace(field: Field) -> bool:  # type: ignore[type-arg]
    return field.remote_field is not None and field.remote_field.model is Workspace


def test_a_row_comes_after_the_rows_that_it_refers_to() -> None:
    place = {table.model: number for number, table in enumerate(OWN)}
    for table in OWN:
        for field in table.model._meta.concrete_fields:
            if field.remote_field is None or field.attname in (*table.withheld, *table.loose):
                continue
            if field.remote_field.model in place:
                assert place[field.remote_field.model] <= place[table.model], f"{table.name}.{field.name}"
            else:  # empty in rows that belong to no single study
                assert field.null, f"{table.name}.{field.name}"


def test_columns_that_hold_secrets_or_rights_are_not_in_the_backup() -> None:
    allowed = {"annotator.workspace.second_factor_required"}
    found = {f"{table.name}.{name}" for table in OWN for name in table.columns if SECRET.search(name)}
    assert found <= allowed


@pytest.mark.parametrize("table", OWN, ids=[table.name for table in OWN])
def test_withheld_columns_have_a_reason_and_a_default(table: MovedTable) -> None:
    assert all(table.withheld.values())
    for name in set(table.withheld) - set(table.put):
        if table.name != "annotator.user":  # filled in for each account
            default_of(table.model, name)

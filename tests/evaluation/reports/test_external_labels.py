"""Reports on labels collected elsewhere: as they are spelled, and as many as there are."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command

from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from evaluation.core.ratings_table import Level
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_labels_of_a_file_are_shown_as_they_are() -> None:
    """a_b and "a b" are two labels; only ours, such as cannot_guess, are put into words."""
    study = make_study(hit_type="external_labels", slug="own-labels")
    text = "q,who,says\n1,ann,a_b\n1,bob,a b\n2,ann,a_b\n2,bob,a_b\n"
    columns = JudgmentColumns("q", (ValueColumn("says"),), "who")
    judgments_import(study=study, file=io.BytesIO(text.encode()), name="b.csv", columns=columns)
    content = computed(study).content
    heads = [column["label"] for column in table_of(content, "distributions-says")["columns"]]
    assert {"a_b", "a b"} <= set(heads)
    figures = [block for section in content["sections"] for block in section["blocks"]]
    [shares] = [block for block in figures if block["id"] == "agreement-says-labels"]
    assert shares["data"]["parts"] == ["a b", "a_b"]
    assert shares["notes"] == ["From left to right: a b · a_b"]


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_figures_of_many_labels_are_those_of_the_command(tmp_path: Path, level: Level) -> None:
    """More labels than are declared. Nobody gave item 7's correct label: its labels are wrong, not left out."""
    rows = [f"{n},ann,{n}.0,{n}\n{n},bob,{n if n % 3 else n + 1},{n}\n" for n in range(250)]
    rows[7] = "7,ann,5,999\n7,bob,5.0,999\n"
    file = tmp_path / "j.csv"
    file.write_text("q,who,v,right\n" + "".join(rows))
    study = make_study(hit_type="external_labels", slug="many")
    columns = JudgmentColumns("q", (ValueColumn("v", gold="right", level=level),), "who")
    judgments_import(study=study, file=io.BytesIO(file.read_bytes()), name="j.csv", columns=columns)
    content = computed(study, replicates=0).content
    out = io.StringIO()
    arguments = ["--rater", "who", "--unit", "q", "--value", "v", "--gold", "right", "--level", level]
    call_command(
        "agreement",
        str(file),
        *arguments,
        "--format",
        "json",
        "--bootstrap",
        "0",
        stdout=out,
        stderr=io.StringIO(),
    )
    command = json.loads(out.getvalue())
    cells = cells_of(content, "accuracy-v")
    for row, name in (("one label per unit", "labels"), ("single labels", "ratings")):
        cell, found = cells[f"Imported raters, {row}", "% correct"], command["accuracy"][name]
        assert (cell["value"], cell["n"]) == (found["value"], found["n"])
    assert cell["n"] == 500
    agreement = cells_of(content, "agreement-v")
    for title, name in (("Gwet’s AC1", "gwet_ac1"), ("Krippendorff’s α", "krippendorff_alpha")):
        cell = agreement[f"{title}, imported raters", "All labels Value"]
        assert (cell["value"], cell["n"]) == (command[name]["value"], command[name]["n"])

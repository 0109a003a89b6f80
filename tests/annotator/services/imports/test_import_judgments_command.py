from __future__ import annotations

from collections import Counter, defaultdict
from io import StringIO
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotator.hit_types.registry import hit_type_get
from annotator.models import Item, Judgment, Study
from tests.public_data import PublicData

pytestmark = pytest.mark.django_db


def run(*arguments: Any) -> str:
    out = StringIO()
    call_command("import_judgments", *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def nominal_alpha(study: Study, variable: str) -> float:
    """Krippendorff's alpha from the ratings that the study's type makes of the stored responses."""
    kind = hit_type_get(study.hit_type)
    units: dict[tuple[str, str], list[str]] = defaultdict(list)
    for judgment in study.judgments.select_related("item"):
        for rating in kind.to_ratings(judgment.item.payload, judgment.response):
            if rating.variable == variable:
                units[judgment.item.key, rating.unit].append(rating.value)
    labels = sorted({value for values in units.values() for value in values})
    counts = np.array([[Counter(values)[label] for label in labels] for values in units.values()])
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


@pytest.mark.parametrize(
    ("file", "alpha"), [("commonsenseqa_test", 0.4014), ("snli_test", 0.4971), ("snli_test_group2", 0.4702)]
)
def test_the_acceptability_files_give_the_known_alpha(
    public_data: PublicData, file: str, alpha: float
) -> None:
    path = public_data.folder / "few_shot_explanations" / "acceptability_annotations" / f"{file}.csv"
    text = run(
        "acc", path, "--create", "--hit-type", "external_labels",
        "--item", "Input.id", "--value", "Answer.acceptable", "--listed", "1,2,3,4,5",
    )  # fmt: skip
    assert "Imported 750 judgments into acc: 3 new raters, 250 new items." in text
    assert "acceptable (nominal): no, yes, units 1, 2, 3, 4, 5" in text
    study = Study.objects.get(slug="acc")
    assert nominal_alpha(study, "acceptable") == pytest.approx(
        alpha if public_data.real else 0.36, abs=5e-5 if public_data.real else 0.06
    )


def test_values_outside_the_scale_become_a_variable_of_their_own(public_data: PublicData) -> None:
    path = public_data.folder / "few_shot_explanations" / "fine_grained" / "commonsenseqa" / "ecqa.csv"
    names = ["generality_factuality", "grammar", "new_info", "supports_label", "amount_info", "acceptable"]
    run(
        "fine", path, "--create", "--hit-type", "external_labels", "--item", "Input.id",
        "--value", *(f"{name}=Answer.{name}" for name in names),
        "--level", "generality_factuality=ordinal", "--labels=generality_factuality=-1,0,1",
        "--aside=-9=needs_more_info",
    )  # fmt: skip
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for response in Judgment.objects.values_list("response", flat=True):
        for name, value in response.items():
            found[name][value] += 1
    assert found["generality_factuality"] == {"1": 421, "0": 211, "-1": 35}
    assert found["generality_factuality_needs_more_info"] == {"yes": 83, "no": 667}
    assert sum(found["supports_label"].values()) == 750 - 166
    assert sum(found["amount_info"].values()) == 750 - 263
    assert "grammar_needs_more_info" not in found
    kind = hit_type_get("external_labels").for_item(Item.objects.values_list("payload", flat=True)[0])
    assert {v.name: (v.level, v.labels) for v in kind.variables}["generality_factuality"] == (
        "ordinal",
        ("-1", "0", "1"),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "j.csv"
    path.write_text("u,r,v\n1,a,x\n1,b,y\n")
    return path


NEW = ("--create", "--hit-type", "external_labels", "--item", "u", "--value", "v")


def test_a_long_table_is_imported(db: None, file: Path) -> None:
    text = run("labels", file, *NEW, "--rater", "r", "--variable", "quality")
    assert text.splitlines() == [
        "quality (nominal): x, y",
        "Imported 2 judgments into labels: 2 new raters, 1 new item.",
    ]
    assert "(2 were there already)" in run("labels", file, *NEW[3:], "--rater", "r", "--variable", "quality")


def test_a_dry_run_writes_no_rows(db: None, file: Path) -> None:
    assert "Would import 2 judgments" in run("labels", file, *NEW, "--rater", "r", "--dry-run")
    assert not Study.objects.exists()


def test_a_refused_file_writes_no_rows(db: None, file: Path) -> None:
    file.write_text("u,r,v\n1,a,x\n1,a,x\n")
    with pytest.raises(CommandError, match="a judged this item already, on line 2"):
        run("labels", file, *NEW, "--rater", "r")
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--rater", "r", "--rater-name", "x"], "only one of them"),
        (["--rater", "nope"], "nope: this column is missing"),
        (["--rater", "r", "--level", "odd"], "'odd' is not one of: nominal"),
        (["--rater", "r", "--level", "w=ordinal"], "'w' is none of: v"),
        (["--rater", "r", "--level", "ordinal"], "ordinal labels that are not numbers need their order"),
        (["--rater", "r", "--level", "ordinal", "--labels", "y,x"], None),
        (["--rater", "r", "--value", "w=r", "--variable", "z"], "the variable of the only --value"),
        (["--rater", "r", "--aside", "x"], "expected NAME=VALUE"),
        (["--rater", "r", "--recode", "x=1", "x=2"], "given twice"),
        ([], "say which column names the rater"),
    ],
)
def test_invalid_arguments_are_refused(
    db: None, file: Path, arguments: list[str], expected: str | None
) -> None:
    if expected is None:
        assert "v (ordinal): y, x" in run("labels", file, *NEW, *arguments)
        return
    with pytest.raises(CommandError, match=expected):
        run("labels", file, *NEW, *arguments)
    assert not Study.objects.exists()


def test_a_missing_file_is_reported(db: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        run("labels", tmp_path / "nowhere.csv", *NEW, "--rater", "r")

"""Labels collected elsewhere become ratings like all others, with the variables that their items declare."""

from pathlib import Path

import pytest
from django.core.management import call_command

from annotator.models import Study
from evaluation.agreement import krippendorff_alpha
from evaluation.ratings.load import study_ratings
from tests.public_data import PublicData

pytestmark = pytest.mark.django_db


def test_each_study_has_the_variables_of_its_items(tmp_path: Path) -> None:
    file = tmp_path / "j.csv"
    file.write_text("u,r,grade,label\n1,a,low,x\n1,b,high,y\n2,a,,x\n2,b,low,x\n")
    call_command(
        "import_judgments", "elsewhere", str(file), "--create", "--hit-type", "external_labels",
        "--item", "u", "--rater", "r", "--value", "grade", "label",
        "--level", "grade=ordinal", "--labels", "grade=low,middle,high",
    )  # fmt: skip
    found = study_ratings(study=Study.objects.get(slug="elsewhere"))
    assert [(v.name, v.level) for v in found.variables] == [("grade", "ordinal"), ("label", "nominal")]
    grade = found.table("grade")
    assert (len(grade.ratings), grade.ratings.labels) == (3, ("low", "middle", "high"))
    assert grade.left_out == {"without an answer on grade": 1}


@pytest.mark.parametrize(
    ("file", "alpha"), [("commonsenseqa_test", 0.4014), ("snli_test", 0.4971), ("snli_test_group2", 0.4702)]
)
def test_the_acceptability_files_give_their_alpha_after_import(
    public_data: PublicData, file: str, alpha: float
) -> None:
    path = public_data.folder / "few_shot_explanations" / "acceptability_annotations" / f"{file}.csv"
    call_command(
        "import_judgments", "acc", str(path), "--create", "--hit-type", "external_labels",
        "--item", "Input.id", "--value", "Answer.acceptable", "--listed", "1,2,3,4,5",
    )  # fmt: skip
    found = study_ratings(study=Study.objects.get(slug="acc")).table("acceptable")
    assert len(found.ratings.units) == 1_250
    if public_data.real:
        assert krippendorff_alpha(found.ratings).value == pytest.approx(alpha, abs=5e-5)

"""Published judgments, imported as a researcher would import them: the report shows their known figures."""

import csv
from collections import defaultdict
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from annotator.models import Study
from evaluation.agreement.summary import NO_NAMES
from tests.annotator.admin.study_forms import ROOT, sent_form, upload
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_study, make_user
from tests.public_data import PublicData

pytestmark = pytest.mark.django_db


def test_strategyqa_utility_has_the_known_counts(public_data: PublicData, tmp_path: Path):
    """useful / not useful / unsure and right before -> after of each system, as the data's README recomputed them."""
    out = str(tmp_path / "utility.jsonl")
    source = str(public_data.folder / "rationale_human_utility" / "rationale_utility.json")
    call_command("convert_rationale_utility", source, "--utility", "--output", out)
    call_command("import_material", "p3", out, "--create", "--hit-type", "utility")
    call_command(
        "import_judgments", "p3", out, "--item", "key", "--rater-name", "majority of five", "--value", "before", "after"
    )  # fmt: skip
    content = computed(Study.objects.get(slug="p3")).content
    cells = cells_of(content, "p3-table-3")
    dataset = table_of(content, "p3-table-3")["rows"][0]["head"][0]
    expected = {
        "All": (194, 515, 665),
        "gpt3": (66, 153, 239),
        "t53b": (71, 173, 214),
        "t5large": (57, 189, 212),
    }
    for system, counts in expected.items():
        shown = [
            cells[f"{dataset} {name}", f"{system} Count"]["value"]
            for name in ("Useful", "Not useful", "Unsure")
        ]
        assert tuple(shown) == counts
        share = cells[f"{dataset} Useful", f"{system} %"]
        assert share["value"] == pytest.approx(counts[0] / sum(counts))
        assert share["n"] == sum(counts)
    flows = cells_of(content, "p3-utility-flows")
    for system, before, after in (("gpt3", 309, 305), ("t53b", 292, 285), ("t5large", 298, 269)):
        assert flows[system, "Right before"]["value"] == pytest.approx(before / 458)
        assert flows[system, "Right after"]["value"] == pytest.approx(after / 458)
    row = cells_of(content, "p3-table-6")[f"{dataset} Correlation", "GEN-U"]
    assert (row["value"], row["reason"]) == (None, "no GEN-U run on these instances")


def fine_grained(public_data: PublicData, name: str) -> Path:
    return public_data.folder / "few_shot_explanations" / "fine_grained" / "commonsenseqa" / f"{name}.csv"


def accepted_alpha(path: Path) -> float:
    """Krippendorff's alpha over the five explanations of each item, by the ``krippendorff`` package."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            accepted = row["Answer.acceptable"].split("|")
            for number in "12345":
                counts[row["Input.id"], number][number in accepted] += 1
    return float(
        krippendorff.alpha(value_counts=np.array(list(counts.values())), level_of_measurement="nominal")
    )


def imported(path: Path, **columns: object) -> Study:
    """A file of judgments through the admin's own two forms: upload, then what the columns mean."""
    user = make_user(staff=True)
    study = make_study(by=user, hit_type="external_labels")
    admin = Client()
    admin.force_login(user)
    address = f"{ROOT}{study.pk}/import-judgments/"
    html = admin.post(address, {"file": upload(path.read_text("utf-8"), path.name)}).content.decode()
    html = admin.post(address, sent_form(html) | columns).content.decode()
    answer = admin.post(address, sent_form(html) | columns | {"import": "1"})
    assert answer.status_code == 302, answer.content.decode()
    return study


@pytest.mark.parametrize(
    ("file", "alpha"), [("commonsenseqa_test", 0.4014), ("snli_test", 0.4971), ("snli_test_group2", 0.4702)]
)
def test_acceptability_through_the_admin(public_data: PublicData, file: str, alpha: float):
    path = public_data.folder / "few_shot_explanations" / "acceptability_annotations" / f"{file}.csv"
    study = imported(
        path,
        item="Input.id",
        values=["Answer.acceptable"],
        rater="(the file names no rater)",
        listed="1,2,3,4,5",
    )
    cells = cells_of(computed(study).content, "agreement-acceptable")
    found = cells["Krippendorff’s α, imported raters", "All labels Value"]
    assert found["value"] == pytest.approx(accepted_alpha(path), abs=1e-12)
    if public_data.real:
        assert found["value"] == pytest.approx(alpha, abs=5e-5)
    assert cells["Fleiss’ κ, imported raters", "All labels n"]["value"] == 1_250


def test_the_prevalence_paradox_shows_beside_kappa(public_data: PublicData):
    """Grammar of CommonsenseQA rationales: 740 of 750 labels are alike. People agree on 97 %, yet alpha is below 0."""
    study = imported(
        fine_grained(public_data, "gpt3_greedy"),
        item="Input.id",
        rater="(the file names no rater)",
        values=["Answer.grammar"],
    )
    content = computed(study).content
    cells = cells_of(content, "agreement-grammar")
    assert cells["Percent agreement, imported raters", "All labels Value"]["value"] == pytest.approx(
        0.9733, abs=5e-5
    )
    assert cells["Krippendorff’s α, imported raters", "All labels Value"]["value"] == pytest.approx(
        -0.01216, abs=5e-6
    )
    assert cells["Gwet’s AC1, imported raters", "All labels Value"]["value"] == pytest.approx(
        0.97261, abs=5e-6
    )
    labels = next(
        b for s in content["sections"] for b in s["blocks"] if b["id"] == "agreement-grammar-labels"
    )
    assert max(labels["data"]["values"][0]) == pytest.approx(740 / 750)


def test_a_code_that_is_not_a_level_becomes_a_variable_of_its_own(public_data: PublicData):
    """-9 is set aside; the scale stays ordinal, with quadratic weights and the ordinal alpha."""
    path = fine_grained(public_data, "ecqa")
    study = imported(
        path, item="Input.id", rater="(the file names no rater)", values=["Answer.generality_factuality"], level="ordinal",
        labels="-1,0,1", aside="-9=needs_more_info", skip_blank="on",
    )  # fmt: skip
    content = computed(study).content
    cells = cells_of(content, "agreement-generality_factuality")
    given: dict[str, list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            value = row["Answer.generality_factuality"]
            given.setdefault(row["Input.id"], []).append(
                float(value) if value in ("-1", "0", "1") else np.nan
            )
    width = max(map(len, given.values()))
    matrix = np.array([values + [np.nan] * (width - len(values)) for values in given.values()]).T
    expected = krippendorff.alpha(reliability_data=matrix, level_of_measurement="ordinal")
    found = cells["Krippendorff’s α, imported raters", "All labels Value"]
    assert found["value"] == pytest.approx(expected, abs=1e-12)
    weighted = cells["Cohen’s κ with quadratic weights, imported raters with each other", "All labels Value"]
    assert (weighted["value"], weighted["reason"]) == (None, NO_NAMES)
    assert cells["Gwet’s AC2, quadratic weights, imported raters", "All labels Value"]["value"] is not None
    assert any(
        b["id"] == "agreement-generality_factuality_needs_more_info"
        for s in content["sections"]
        for b in s["blocks"]
    )

"""Real people's judgments, imported as a researcher imports them, up to the report's digits."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from annotator.models import Study
from tests.annotator.admin.test_study_pages import ROOT, sent_form, upload
from tests.annotator.shared import DATA, with_data
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_study, make_user

pytestmark = [pytest.mark.django_db, with_data]
FEW_SHOT = DATA / "few_shot_explanations"


def test_strategyqa_utility_has_the_known_counts(tmp_path: Path):
    """useful / not useful / unsure and right before -> after of each system, as the data's README recomputed them."""
    out = str(tmp_path / "utility.jsonl")
    source = str(DATA / "rationale_human_utility" / "rationale_utility.json")
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


def imported(path: Path, **columns: object) -> Study:
    """A file of judgments through the admin's own two forms: upload, then what the columns mean."""
    user = make_user(staff=True)
    study = make_study(by=user, hit_type="external_labels")
    desk = Client()
    desk.force_login(user)
    address = f"{ROOT}{study.pk}/import-judgments/"
    html = desk.post(address, {"file": upload(path.read_text("utf-8"), path.name)}).content.decode()
    html = desk.post(address, sent_form(html) | columns).content.decode()
    answer = desk.post(address, sent_form(html) | columns | {"import": "1"})
    assert answer.status_code == 302, answer.content.decode()
    return study


@pytest.mark.parametrize(
    ("file", "alpha"), [("commonsenseqa_test", 0.4014), ("snli_test", 0.4971), ("snli_test_group2", 0.4702)]
)
def test_acceptability_through_the_admin(file, alpha):
    study = imported(
        FEW_SHOT / "acceptability_annotations" / f"{file}.csv", item="Input.id", values=["Answer.acceptable"],
        rater="(the file names no rater)", listed="1,2,3,4,5",
    )  # fmt: skip
    cells = cells_of(computed(study).content, "agreement-acceptable")
    found = cells["Krippendorff’s α, imported raters", "All labels Value"]
    assert found["value"] == pytest.approx(alpha, abs=5e-5)
    assert cells["Fleiss’ κ, imported raters", "All labels n"]["value"] == 1_250


def test_the_prevalence_paradox_shows_beside_kappa():
    """Grammar of CommonsenseQA rationales: 740 of 750 labels are alike. People agree on 97 %, yet alpha is below 0."""
    study = imported(
        FEW_SHOT / "fine_grained" / "commonsenseqa" / "gpt3_greedy.csv", item="Input.id",
        rater="(the file names no rater)", values=["Answer.grammar"],
    )  # fmt: skip
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


def test_ordinal_quality_through_the_admin_keeps_what_is_no_level_apart():
    """-9 is a variable of its own; the scale is ordinal, with quadratic weights and the ordinal alpha."""
    import csv

    import krippendorff
    import numpy as np

    path = FEW_SHOT / "fine_grained" / "commonsenseqa" / "ecqa.csv"
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
    assert cells["– with quadratic weights", "All labels Value"]["value"] is not None
    assert any(
        b["id"] == "agreement-generality_factuality_needs_more_info"
        for s in content["sections"]
        for b in s["blocks"]
    )

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.core.tables.faults import FileRefused
from annotator.models import Explanation, Instance, Item, Judgment, Output
from annotator.services.imports.rationale_utility import normal, rationale_utility_rows
from tests.public_data import ALONE, PublicData

RATIONALE = {
    "question": "Can owls swim? ,",
    "rationale": "Owls are birds.",
    "rationale_source": "gpt3",
    "ground_truth_label": False,
    "human_predicted_label_before_rationale": True,
    "human_predicted_label_after_rationale": False,
    "rationale_utility": 1,
}
GENERATED = [
    ["Are owls able to swim?", "False", "rephrase"],
    ["Can an owl fly? ", "True", "counterfactual"],
    ["Can an owl fly?", "Yes", "similar"],
    ["Can owls  swim?", "False", "rephrase"],
]


def files(tmp_path: Path, rationales: list[Any], generated: Any) -> dict[str, Any]:
    first, second = tmp_path / "r.json", tmp_path / "g.json"
    first.write_text("".join(json.dumps(row) + "\n" for row in rationales))
    second.write_text(json.dumps(generated))
    return {"rationales": first, "follow_ups": [second]}


def test_irregular_entries_are_dropped_and_reported(tmp_path: Path) -> None:
    paths = files(
        tmp_path,
        [RATIONALE, RATIONALE, RATIONALE | {"question": "Alone?"}, RATIONALE | {"rationale_source": "t5"}],
        {"Can owls swim?": GENERATED, "Somebody else's?": []},
    )
    result = rationale_utility_rows(**paths, system="gpt3")
    assert result.questions == 2
    assert [(row["follow_up"], row["kind"]) for row in result.rows] == [
        ("Are owls able to swim?", "rephrase"),
        ("Can an owl fly?", "counterfactual"),
    ]
    assert result.counts == {
        "answer neither True nor False": 1,
        "rationale of a question that has one already, dropped": 1,
        "joined in spite of another spelling": 1,
        "generated question repeated, dropped": 1,
        "... of these with another answer or kind than the first": 1,
        "generated question that is the starter question itself, dropped": 1,
        "starter question without generated questions, left out": 1,
        "starter question without a rationale of this system, not used": 1,
    }


def test_the_system_or_method_names_the_source_of_the_answer(tmp_path: Path) -> None:
    paths = files(tmp_path, [RATIONALE], {"Can owls swim?": GENERATED})
    rows = {a: rationale_utility_rows(**paths, system="gpt3", answer=a).rows[0] for a in ("label", "before")}
    assert {a: row["answer"] for a, row in rows.items()} == {"label": "no", "before": "yes"}
    assert rows["label"]["method"] == "answer shown: the data's label"
    assert rows["before"]["system"] == "gpt3 (answer shown: people before)"
    assert "real_output" not in rows["label"]


@pytest.mark.parametrize(
    ("rationales", "generated", "expected"),
    [
        ([RATIONALE | {"ground_truth_label": "no"}], {}, "r.json:1: ground_truth_label: 'no': expected true"),
        ([RATIONALE | {"rationale": ""}], {}, "r.json:1: rationale: expected a text"),
        ([RATIONALE | {"rationale_source": "t5"}], {}, "--system: 'gpt3': expected one of: t5"),
        ([RATIONALE], [], "expected one JSON object"),
        ([RATIONALE], {"Q?": [["a", "True"]]}, "g.json: Q?: "),
        ([RATIONALE], {"Q?": [["a", "True", "odd"]]}, "expected one of: rephrase, counterfactual, similar"),
    ],
)
def test_files_in_another_format_are_refused(
    tmp_path: Path, rationales: Any, generated: Any, expected: str
) -> None:
    with pytest.raises(FileRefused) as refused:
        rationale_utility_rows(**files(tmp_path, rationales, generated), system="gpt3")
    assert expected in str(refused.value)


def test_the_command_says_which_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"n\.json: No such file"):
        call_command(
            "convert_rationale_utility",
            str(tmp_path / "r.json"),
            "--follow-ups",
            str(tmp_path / "n.json"),
            "--output",
            str(tmp_path / "out.jsonl"),
        )


@pytest.mark.django_db
def test_the_public_data_become_a_study(
    public_data: PublicData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """458 starter questions; one of them has no generated question in any spelling."""
    folder, out = public_data.folder / "rationale_human_utility", tmp_path / "gpt3.jsonl"
    call_command(
        "convert_rationale_utility",
        str(folder / "rationale_utility.json"),
        "--follow-ups",
        str(folder / "generalisation_final_dev.json"),
        str(folder / "generalisation_final_test.json"),
        "--output",
        str(out),
    )
    told = capsys.readouterr()
    assert "458 starter questions with a rationale of gpt3, 457 of them with generated questions" in told.out
    assert "15 answer neither True nor False" in told.out
    assert told.err.count("answer neither True nor False") == 15
    assert f"left out: {'Does Home Depot sell item' if public_data.real else ALONE}" in told.err
    assert told.err.count("joined in spite of another spelling") == 4

    call_command("import_material", "gpt3", str(out), "--create", "--hit-type", "simulation")
    # 2,608 generated questions less 49 that are the starter question and 113 repeated ones
    assert Item.objects.count() == 2_446 == 2_608 - 49 - 113
    assert (Instance.objects.count(), Explanation.objects.count(), Output.objects.count()) == (457, 457, 0)
    test = json.loads((folder / "generalisation_final_test.json").read_text())
    assert set(map(normal, Instance.objects.values_list("input", flat=True))) == set(map(normal, test))


@pytest.mark.django_db
def test_the_majority_answers_give_the_known_utility(public_data: PublicData, tmp_path: Path) -> None:
    """The rule of the paper on the imported judgments: useful, not useful, unsure, and right before and after."""
    out = str(tmp_path / "utility.jsonl")
    call_command(
        "convert_rationale_utility",
        str(public_data.folder / "rationale_human_utility" / "rationale_utility.json"),
        "--utility",
        "--output",
        out,
    )
    call_command("import_material", "p3", out, "--create", "--hit-type", "utility")
    call_command(
        "import_judgments", "p3", out, "--item", "key", "--rater-name", "majority of five", "--value", "before", "after"
    )  # fmt: skip
    found: dict[str, list[int]] = {}
    for judgment in Judgment.objects.select_related("item__instance", "item__explanation__system"):
        gold = judgment.item.instance.gold_label
        before, after = judgment.response["before"] == gold, judgment.response["after"] == gold
        counts = found.setdefault(judgment.item.explanation.system.name, [0] * 5)
        counts[0] += after and not before
        counts[1] += not after
        counts[2] += after and before
        counts[3] += before
        counts[4] += after
    assert found == {
        "gpt3": [66, 153, 239, 309, 305],
        "t53b": [71, 173, 214, 292, 285],
        "t5large": [57, 189, 212, 298, 269],
    }
    assert Judgment.objects.values_list("rater__name").distinct().get() == ("majority of five",)

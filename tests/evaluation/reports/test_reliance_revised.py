"""Reliance where a guess is revised once the model's answer to another question is seen, from import to report, by hand."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from annotator.models import Judgment, Rater, Study
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create
from evaluation.ratings.confidence import stages_in
from evaluation.ratings.load import study_ratings
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_rater, record_judgment

pytestmark = pytest.mark.django_db

#: instance, the model's answer to the starter question, its real answer to the follow-up, (first guess, answer) of ann and bob;
#: "?" is "cannot guess".
#: Model right (x, z): ann on x no -> yes (right), bob on x no -> no (wrong), ann on z no -> no. bob on z had no guess.
#: Model wrong (y, w): ann on y no -> no (right), bob on y no -> yes (wrong), ann on w yes -> yes. bob on w had no answer.
ROWS = [
    ("x", "yes", "yes", ("no", "yes"), ("no", "no")),
    ("y", "yes", "no", ("no", "no"), ("no", "yes")),
    ("z", "no", "no", ("no", "no"), ("?", "no")),
    ("w", "no", "yes", ("yes", "yes"), ("no", "?")),
]


def study_of(
    hit_type: str = "simulation_revised", rows: list[Any] = ROWS, slug: str = "revised", **fields: Any
) -> Study:
    """The study, its items imported from a file, and its judgments read by the type's own parser."""
    study = study_create(by=None, hit_type=hit_type, slug=slug, title="Guesses", **fields)
    lines = [
        json.dumps({
            "key": name, "instance": name, "question": f"Is {name} a letter?", "explanation": f"{name} is one.", "answer": answer,
            "follow_up": f"Is {name} a vowel?", "real_output": real, "system": "robot",
        })
        for name, answer, real, *_ in rows
    ]  # fmt: skip
    material_import(study=study, file=io.BytesIO("\n".join(lines).encode()), name="rows.jsonl")
    people = {name: rater_named(name) for name in ("ann", "bob")}
    for key, _, _, *given in rows:
        item = study.items.get(key=key)
        for rater, (guess, answer) in zip(people.values(), given, strict=True):
            first = {"guessable": "no"} if guess == "?" else {"guessable": "yes", "guess": guess}
            then = {"helpful": "no"} if answer == "?" else {"helpful": "yes", "answer": answer}
            record_judgment(item, rater, then if hit_type == "simulation" else first | then)
    return study


def rater_named(name: str) -> Rater:
    return Rater.objects.filter(name=name).first() or make_rater(name)


def values(content: dict[str, Any], table: str) -> dict[tuple[str, str], Any]:
    return {key: cell.get("value") for key, cell in cells_of(content, table).items()}


def section_of(content: dict[str, Any]) -> dict[str, Any]:
    return next(section for section in content["sections"] if section["id"] == "reliance")


def test_by_hand() -> None:
    content = computed(study_of()).content
    found = values(content, "reliance")
    for system in ("All", "robot"):
        # Wrong at first, model right: ann and bob on x; ann became right.
        assert found[system, "Relative AI reliance"] == pytest.approx(1 / 2)
        # Right at first, model wrong: ann and bob on y, ann on w; ann stayed right twice.
        assert found[system, "Relative self-reliance"] == pytest.approx(2 / 3)
        # Model wrong: ann and bob on y, ann on w; bob ended with its answer.
        assert found[system, "Over-reliance"] == pytest.approx(1 / 3)
        # Model right: ann and bob on x, ann on z; bob on x ended with another one.
        assert found[system, "Under-reliance"] == pytest.approx(1 / 3)
        # First guess not the model's: both on x, both on y, ann on w; ann on x and bob on y took it over.
        assert found[system, "Switched to the model’s answer"] == pytest.approx(2 / 5)
    accuracy = values(content, "reliance-accuracy")
    assert accuracy["All", "Right before"] == pytest.approx(4 / 6)  # both on y, ann on z and w
    assert accuracy["All", "Model right"] == pytest.approx(3 / 6)  # both on x, ann on z
    assert accuracy["All", "Right after"] == pytest.approx(4 / 6)  # ann on x, y, z and w
    assert accuracy["All", "After minus before"] == pytest.approx(0)
    assert accuracy["All", "After minus model"] == pytest.approx(1 / 6)
    assert accuracy["All", "Beyond the better of the two"] == pytest.approx(0)
    assert accuracy["All", "Cases"] == 6
    raters = values(content, "reliance-raters")
    assert (raters["ann", "Right before"], raters["ann", "Right after"]) == (0.75, 1.0)
    assert (raters["bob", "Relative AI reliance"], raters["bob", "Relative self-reliance"]) == (0.0, 0.0)
    assert (raters["ann", "Cases"], raters["bob", "Cases"]) == (4, 2)
    assert ("All", "Weight of advice") not in found


def test_answers_that_say_cannot_guess_are_left_out_and_counted() -> None:
    content = computed(study_of()).content
    cell = cells_of(content, "reliance")["All", "Switched to the model’s answer"]
    assert cell["left_out"] == {"without an answer before, an answer after or an answer of the model": 2}
    said = " ".join(section_of(content)["notes"])
    assert "“Cannot guess” counts as no answer: left out of all figures are 2 cases" in said


def test_the_words_say_what_is_compared() -> None:
    section = section_of(computed(study_of()).content)
    notes, prose = " ".join(section["notes"]), json.dumps(section["prose"], ensure_ascii=False)
    assert "the answer that the model gave to the starter question" in notes
    assert "what it really answered to the follow-up" in notes
    assert "same question" not in notes
    assert "answered the follow-up as it had answered the starter question" in prose
    assert "50.0" in prose
    assert "66.7" in prose


def test_somebody_who_never_guesses_has_no_figure() -> None:
    rows = [("x", "yes", "yes", ("?", "yes"), ("?", "no")), ("y", "yes", "no", ("?", "yes"), ("?", "?"))]
    content = computed(study_of(rows=rows)).content
    cell = cells_of(content, "reliance")["All", "Relative AI reliance"]
    assert cell["value"] is None
    assert cell["reason"] == "in no case the person was wrong at first and the model right"
    assert not [column for _, column in values(content, "reliance") if column == "Weight of advice"]


@pytest.mark.parametrize(("refusals", "cases", "wrong"), [("wrong", 4, 2), ("left_out", 2, 0)])
def test_a_follow_up_that_the_model_refused(refusals: str, cases: int, wrong: int) -> None:
    """Nothing is right there, the model's answer least of all; or it is left out, as of precision."""
    rows = [
        ("x", "yes", "yes", ("yes", "yes"), ("yes", "yes")),
        ("y", "yes", "refusal", ("no", "yes"), ("no", "yes")),
    ]
    found = values(computed(study_of(rows=rows), refusals=refusals).content, "reliance-accuracy")
    assert found["All", "Cases"] == cases
    assert found["All", "Model right"] == pytest.approx(1 - wrong / cases)


def test_precision_is_that_of_the_same_answers_in_a_simulation() -> None:
    revised = computed(study_of()).content
    plain = computed(study_of("simulation", slug="plain")).content
    tables = [
        {block["id"]: block for section in content["sections"] for block in section["blocks"] if block["id"].startswith("p1-")}
        for content in (plain, revised)
    ]  # fmt: skip
    assert "p1-table-4" in tables[0]
    assert list(tables[0]) == list(tables[1])
    for name in tables[0]:
        assert tables[0][name].get("rows") == tables[1][name].get("rows"), name
    titles = [block["title"] for section in revised["sections"] for block in section["blocks"]]
    assert [title for title in titles if "First guess" in title], "agreement on the first guess too"
    assert table_of(plain, "p1-table-4")["rows"]


def test_confidence_belongs_to_the_stage_that_asks_for_it() -> None:
    study = study_of(confidence="steps")
    stages = stages_in(study_ratings(study=study))
    assert dict(stages) == {"before": frozenset({"before"}), "simulation": frozenset({"simulation"})}


def test_a_judgment_has_both_stages() -> None:
    study = study_of()
    kept = Judgment.objects.get(item__key="x", rater__name="ann", study=study).response
    assert kept == {"guessable": "yes", "guess": "no", "helpful": "yes", "answer": "yes"}

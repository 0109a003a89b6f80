"""Look-alikes of the public data sets that the tests know, with the same layout, counts and oddities.

The real files carry no licence or are not ours to ship. Where they lie beside the project the tests run on them;
everywhere else they run on what this module writes: invented texts, seeded labels, the same columns, and the traps that
were found in the real files. Values that only the real files have are checked on the real files only.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REAL = next(
    (p / "shared" / "data" for p in Path(__file__).resolve().parents if (p / "shared" / "data").is_dir()),
    Path("shared/data"),
)


@dataclass(frozen=True)
class PublicData:
    """The folder of the data sets, and whether they are the real ones."""

    folder: Path
    real: bool


QUESTIONS, ALONE = 458, "Does Shop 0 sell item in late month?"
SYSTEMS = {
    "gpt3": (66, 153, 239, 309, 305),
    "t53b": (71, 173, 214, 292, 285),
    "t5large": (57, 189, 212, 298, 269),
}
ACCEPTABILITY = ("commonsenseqa_test", "snli_test", "snli_test_group2")


def write(folder: Path) -> Path:
    """Write all files under ``folder``, laid out as the real ones; returns the folder."""
    rng = random.Random(20250701)
    _rationales(folder / "rationale_human_utility", rng)
    _strategyqa(folder / "rationale_human_utility" / "strategyqa_processed_dev.json")
    for name in ACCEPTABILITY:
        _acceptability(folder / "few_shot_explanations" / "acceptability_annotations" / f"{name}.csv", rng)
    fine = folder / "few_shot_explanations" / "fine_grained" / "commonsenseqa"
    _fine_grained(fine / "ecqa.csv", rng)
    _one_sided(fine / "gpt3_greedy.csv", rng)
    _benchmark(folder / "human_and_llm", rng)
    return folder


def _save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _question(number: int) -> str:
    return ALONE if number == 0 else f"Can animal {number} swim?"


def _rationales(folder: Path, rng: random.Random) -> None:
    """458 questions with three rationales each, of known classes; and generated questions of 457 of them.

    Four gpt3 questions carry other spellings. 15 answers are neither True nor False. 49 generated questions are the starter
    itself, and 113 are repeated.
    """
    rows = []
    for system, (useful, not_useful, unsure, right_before, right_after) in SYSTEMS.items():
        # useful: wrong -> right; unsure: right -> right; the others that were right before are right -> wrong.
        assert useful + unsure == right_after
        lost = right_before - unsure
        kinds = [(False, True)] * useful + [(True, True)] * unsure
        kinds += [(True, False)] * lost + [(False, False)] * (not_useful - lost)
        rng.shuffle(kinds)
        for number, (before, after) in enumerate(kinds):
            gold = number % 2 == 0
            question = _question(number)
            if system == "gpt3" and number in (3, 4, 5, 6):
                question = {3: f"{question} ,", 4: f"{question},", 5: f"{question}?'", 6: f'{question}\\"'}[
                    number
                ]
            elif system != "gpt3" and number % 100 == 7:
                question += " "  # only gpt3's are joined with generated questions by the tests
            rows.append({
                "question": question,
                "rationale": f"Animal {number} is told of by {system}.",
                "rationale_source": system,
                "ground_truth_label": gold,
                "human_predicted_label_before_rationale": gold == before,
                "human_predicted_label_after_rationale": gold == after,
                "rationale_utility": 1 if after and not before else 0 if after else -1,
            })  # fmt: skip
    rng.shuffle(rows)
    _save(folder / "rationale_utility.json", "".join(json.dumps(row) + "\n" for row in rows))
    _generated(folder)


def _generated(folder: Path) -> None:
    """2,608 generated questions, 49 of them the starter, 113 repeated, 15 with odd answers; and 184 strange starters."""
    odd = ["No", "False.", "Before"] * 5
    total = 2_608 - len(odd)
    found: dict[str, list[list[str]]] = {_question(number): [] for number in range(1, QUESTIONS)}
    names = list(found)
    for index in range(total):
        starter = names[index % len(names)]
        kind = ("rephrase", "counterfactual", "similar")[index % 3]
        text = f"Follow-up {index} of {starter}"
        if index < 49:
            text = starter
        elif index < 49 + 113:
            text = f"Follow-up {index + len(names)} of {starter}"  # repeated one round later
        found[starter].append([text, str(index % 2 == 0), kind])
    for number, answer in enumerate(odd):
        found[names[number]].append([f"Odd {number}?", answer, "rephrase"])
    strange = {f"Can plant {number} sing?": [["Can it?", "True", "rephrase"]] for number in range(184)}
    _save(folder / "generalisation_final_dev.json", json.dumps(strange))
    _save(folder / "generalisation_final_test.json", json.dumps(found))


def _strategyqa(path: Path) -> None:
    """184 yes/no questions, each with its facts and with the rationale that they make."""
    rows = []
    for number in range(184):
        facts = [f"Animal {number} has {legs} legs." for legs in range(2 + number % 4)]
        rows.append({
            "qid": f"{number:020x}",
            "term": f"Animal {number}",
            "question": _question(number + 1),
            "answer": number % 3 == 0,
            "facts": facts,
            "rationale": " ".join(facts),
        })  # fmt: skip
    _save(path, json.dumps(rows))


def _csv(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    found = list(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def _acceptability(path: Path, rng: random.Random) -> None:
    """250 items of five explanations, three unnamed annotators each; the cell lists the acceptable ones, often none."""

    prefix = "snli_train" if path.stem.startswith("snli") else "item"

    def rows() -> Iterator[dict[str, Any]]:
        for item in range(250):
            good = [rng.random() < 0.5 for _ in range(5)]
            for _ in range(3):
                chosen = [str(n + 1) for n in range(5) if (rng.random() < 0.8) == good[n]]
                yield {
                    "Input.id": f"{prefix}_{item}",
                    **(_inference(item) if prefix == "snli_train" else _choice(item)),
                    **{
                        f"Input.explanation_{n + 1}": f"Explanation {n + 1} of {item}, as it is."
                        for n in range(5)
                    },
                    "Answer.acceptable": "|".join(chosen),
                }

    _csv(path, rows())


def _choice(item: int) -> dict[str, str]:
    """A question with five options, the last after "or"."""
    options = [f"place {item} {letter}" for letter in "abcde"]
    listed = ", ".join([*options[:-1], f"or {options[-1]}"])
    return {
        "Input.question": f'Is "{item}", then, right?',
        "Input.answer_choices": listed,
        "Input.gold_label": options[item % 5],
    }


def _inference(item: int) -> dict[str, str]:
    """A premise and a hypothesis; the labels are spelled in both cases, as in the real files."""
    return {
        "Input.premise": f"A child, {item} years old, plays outside.",
        "Input.hypothesis": f"A child of {item} plays.",
        "Input.gold_label": ("TRUE", "FALSE", "neither")[item % 3],
    }


def _fine_grained(path: Path, rng: random.Random) -> None:
    """750 ratings of 250 items by several qualities: -9 is no level, blanks were not asked; the real files' counts."""
    levels = ["1"] * 421 + ["0"] * 211 + ["-1"] * 35 + ["-9"] * 83
    supports = ["1", "0"] * 292 + [""] * 166
    amounts = ["1", "0", "-1"] * 162 + ["1"] + [""] * 263
    for values in (levels, supports, amounts):
        rng.shuffle(values)

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(750):
            yield {
                "Input.id": f"item_{number // 3}",
                "Input.explanation": f"Explanation of {number // 3}, with a comma",
                "Answer.generality_factuality": levels[number],
                "Answer.grammar": rng.choice("01"),
                "Answer.new_info": rng.choice("01"),
                "Answer.supports_label": supports[number],
                "Answer.amount_info": amounts[number],
                "Answer.acceptable": rng.choice("01"),
            }

    _csv(path, rows())


def _one_sided(path: Path, rng: random.Random) -> None:
    """Grammar of 250 items by three annotators: 740 of 750 labels alike, the other ten each alone on their item."""
    odd = {item * 3: "0" for item in rng.sample(range(250), 10)}
    _csv(
        path,
        (
            {"Input.id": f"item_{n // 3}", "Input.question": f"Q{n // 3}", "Answer.grammar": odd.get(n, "1")}
            for n in range(750)
        ),
    )


def _benchmark(folder: Path, rng: random.Random) -> None:
    """Three people on 120 units, most rated by two, and six models on all of them; three labels."""
    labels = ("model_a", "model_b", "tie")
    units = [f"{n}__claude-v1__llama-13b__{turn}" for n in range(60) for turn in (1, 2)]
    truth = {unit: rng.choice(labels) for unit in units}
    people: dict[str, dict[str, str]] = {f"author_{n}": {} for n in range(3)}
    for number, unit in enumerate(units):
        for person in range(3):
            if number % 6 == 0 or person != number % 3:
                people[f"author_{person}"][unit] = truth[unit] if rng.random() < 0.75 else rng.choice(labels)
    models = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")
    _save(folder / "mtbench_human.json", json.dumps(people, indent=4))
    given = {
        model: {unit: truth[unit] if rng.random() < 0.6 else rng.choice(labels) for unit in units}
        for model in models
    }
    _save(folder / "mtbench_llm.json", json.dumps(given, indent=4))

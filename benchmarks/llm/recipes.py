"""Every built-in recipe, end to end, on questions and gold rationales of public data sets.

    make bench ARGS="llm-recipes FOLDER [--limit 10] [--recipe p1-yes-no] [--server http://127.0.0.1:4000/v1 --model NAME]"

FOLDER contains copies of two public repositories' files: ``rationale_human_utility/strategyqa_processed_dev.json``
(INK-USC/RationaleHumanUtility) and ``few_shot_explanations/acceptability_annotations/*.csv``
(allenai/few_shot_explanations). They are turned into files that ``manage.py pipeline`` reads, in a temporary folder;
the model is the scripted one, or with ``--server`` the one of any server of the OpenAI protocol (``--protocol anthropic`` for
Anthropic's). Prints the result of each step, and ends with an error if a step fails.
"""

from __future__ import annotations

import argparse
import atexit
import csv
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Row = dict[str, Any]
QUESTIONS = "rationale_human_utility/strategyqa_processed_dev.json"
#: The fewest questions of a recipe that trains on some and tests on others.
TO_TRAIN = 20
ACCEPTED = "few_shot_explanations/acceptability_annotations"


def material_files(data: Path, folder: Path) -> dict[str, Path]:
    """Task -> a file for it, made from the data sets; preferences are between explanations that people judged."""
    rows: dict[str, list[Row]] = {
        "yes_no": json.loads((data / QUESTIONS).read_text(encoding="utf-8")),
        "multiple_choice": [
            *choices(data / ACCEPTED / "commonsenseqa_test.csv"),
            *inference(data / ACCEPTED),
        ],
        "preference": list(preferences(data / ACCEPTED / "commonsenseqa_test.csv")),
    }
    rows["news"] = [{"key": q["qid"], "article": " ".join(q["facts"])} for q in rows["yes_no"]]
    rows["medical"] = [{"key": q["qid"], "query": f"{q['facts'][0]} {q['question']}"} for q in rows["yes_no"]]
    files = {}
    for task, held in rows.items():
        files[task] = folder / f"{task}.jsonl"
        files[task].write_text("\n".join(map(json.dumps, held)), encoding="utf-8")
    return files


def annotated(path: Path) -> Iterator[tuple[Row, list[set[str]]]]:
    """Each item once, with the explanations that each of its annotators accepted."""
    with path.open(encoding="utf-8", newline="") as file:
        items: dict[str, list[Row]] = defaultdict(list)
        for row in csv.DictReader(file):
            items[row["Input.id"]].append(row)
    for rows in items.values():
        yield rows[0], [set(filter(None, row["Answer.acceptable"].split("|"))) for row in rows]


def choices(path: Path) -> Iterator[Row]:
    for row, _ in annotated(path):
        options = [option.strip().removeprefix("or ") for option in row["Input.answer_choices"].split(",")]
        yield {
            "key": row["Input.id"],
            "question": row["Input.question"],
            "options": options,
            "gold_label": row["Input.gold_label"],
            "gold_rationale": row["Input.explanation_1"],
        }


def inference(folder: Path) -> Iterator[Row]:
    words = {"TRUE": "true", "FALSE": "false", "NEITHER": "neither"}
    for row, _ in annotated(folder / "snli_test.csv"):
        label = words.get(row["Input.gold_label"].upper())
        if label:
            yield {
                "key": row["Input.id"],
                "question": f"Given that {row['Input.premise'].rstrip('.')}, is this so: {row['Input.hypothesis']}",
                "options": list(words.values()),
                "gold_label": label,
            }


def preferences(path: Path) -> Iterator[Row]:
    """An explanation that two annotators or more accepted, with one that nobody accepted; their order alternates."""
    for row, votes in annotated(path):
        count = {n: sum(str(n) in accepted for accepted in votes) for n in range(1, 6)}
        good = [n for n, accepted in count.items() if accepted >= 2]
        poor = [n for n, accepted in count.items() if accepted == 0]
        if good and poor:
            pair = [row[f"Input.explanation_{good[0]}"], row[f"Input.explanation_{poor[0]}"]]
            first = len(row["Input.id"] + row["Input.question"]) % 2
            yield {
                "key": row["Input.id"],
                "context": f"{row['Input.question']} Why {row['Input.gold_label']}?",
                "response_1": pair[first],
                "response_2": pair[1 - first],
                "gold_label": str(1 + first),
            }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--recipe", action="append")
    parser.add_argument("--server", default="", help="The base URL of another model server.")
    parser.add_argument("--model", default="scripted?quality=0.9")
    parser.add_argument("--protocol", default="openai")
    parser.add_argument("--tuning-server", default="", help="The base URL of the server that fine-tunes.")
    parser.add_argument("--structured", action="store_true", help="Enforce a JSON schema on replies.")
    arguments = parser.parse_args()
    from tests.evaluation.scripted_process import ScriptedProcess

    provider = ScriptedProcess()
    atexit.register(provider.stop)
    address = arguments.server or provider.base_url
    hosts = [urlsplit(one).netloc for one in (address, arguments.tuning_server) if one]
    os.environ["LLM_ALLOWED_HOSTS"] = ",".join(hosts)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()
    from django.core.management import CommandError, call_command

    from evaluation.pipelines.recipe import recipe_file, recipe_names
    from tests.evaluation.run_factories import make_endpoint

    make_endpoint(
        provider,
        base_url=address,
        model=arguments.model,
        protocol=arguments.protocol,
        structured=arguments.structured,
        concurrency=32,
        timeout_seconds=120.0,
    )
    if arguments.tuning_server:
        make_endpoint(provider, name="tuning", base_url=arguments.tuning_server, model=arguments.model)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        files = material_files(arguments.folder, Path(folder))
        for name in arguments.recipe or recipe_names():
            # No people validate the questions here.
            steps = recipe_file(name)["steps"]
            trains = any(step.get("options", {}).get("part") == "train" for step in steps)
            waits = [step["name"] for step in steps if step["kind"] == "validate"]
            tunes = [step["name"] for step in steps if step["kind"] == "fine_tune"]
            try:
                call_command(
                    "pipeline",
                    name,
                    dataset=files[recipe_file(name)["task"]],
                    endpoint="scripted",
                    limit=max(arguments.limit, TO_TRAIN) if trains else arguments.limit,
                    inline=True,
                    allow_own_model=True,
                    override=[f"{step}.by=simulators" for step in waits]
                    + [f"{step}.endpoint=tuning" for step in tunes if arguments.tuning_server],
                )
            except CommandError as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

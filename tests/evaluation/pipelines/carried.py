"""Run recipes on a little material with the scripted provider, for the tests in this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management import call_command

from evaluation.models import Pipeline
from evaluation.pipelines.recipe import recipe_file
from evaluation.providers.scripted.world import truth
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess

MATERIAL: dict[str, list[dict[str, Any]]] = {
    "yes_no": [
        {"qid": "a", "question": "Would a raft of balsa carry a grand piano?", "answer": True, "facts": ["Balsa floats.", "A piano weighs 500 kg."]},
        {"qid": "b", "question": "Can a glacier bury a lighthouse?", "answer": False, "facts": ["Glaciers are slow."]},
    ],
    "multiple_choice": [
        {"key": "c1", "question": "What do bees make?", "options": ["milk", "honey", "cement"], "gold_label": "honey"},
        {"key": "c2", "question": "Where does rain come from?", "options": "clouds | wells | pipes", "gold_label": "A"},
    ],
    "preference": [
        {"key": "p1", "context": "How do I get wax out of a carpet?", "response_1": "Cool it with ice, lift it off, then iron the rest into paper.", "response_2": "Buy a new one.", "gold_label": "1"},
        {"key": "p2", "context": "Is there a quiet seat on the night train?", "response_1": "Yes!", "response_2": "Take the last coach, far from the doors and the bar.", "gold_label": "2"},
    ],
    "news": [
        {"key": "n1", "article": "The port of Lindal closed on Friday. A crack of 40 metres was found in the quay. Ships were sent to Ostrova. The mayor spoke of bad luck."},
    ],
    "medical": [
        {"key": "m1", "query": "My left knee clicks since I fell in March. I am 51. It swells in the evening. What should I do?"},
    ],
}  # fmt: skip


THINGS = (
    "raft",
    "glacier",
    "lantern",
    "violin",
    "orchard",
    "submarine",
    "beaver",
    "cathedral",
    "comet",
    "teapot",
)
PLACES = ("harbour", "meadow", "desert", "library", "volcano")


def questions(folder: Path) -> Path:
    """A file of thirty questions, enough to train on."""
    asked = [f"Could a {THINGS[n % 10]} be kept in a {PLACES[n // 10]}?" for n in range(30)]
    rows = [
        {"qid": f"q{n}", "question": question, "answer": truth(question), "facts": [f"A {THINGS[n % 10]} is large."]}
        for n, question in enumerate(asked)
    ]  # fmt: skip
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def material(task: str, folder: Path) -> Path:
    """A file of the task's material."""
    path = folder / f"{task}.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in MATERIAL[task]), encoding="utf-8")
    return path


def carried_out(
    name: str, scripted: ScriptedProcess, folder: Path, *, model: str = "scripted?quality=0.9", **options: Any
) -> Pipeline:
    """The pipeline of a shipped recipe, done; ``options`` are those of ``manage.py pipeline``."""
    make_endpoint(scripted, model=model)
    path = material(recipe_file(name)["task"], folder)
    if name == "p3-utility":  # no people validate the questions here
        options.setdefault("override", ["validated.by=simulators"])
    options.setdefault("allow_own_model", True)  # one model plays all parts
    call_command("pipeline", name, dataset=path, endpoint="scripted", inline=True, verbosity=0, **options)
    return Pipeline.objects.get()

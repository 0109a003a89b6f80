"""One more kind of step, added as one file from outside the product."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evaluation.pipelines.steps
from evaluation.core.step_kinds import STEP_KINDS
from evaluation.pipelines.contract import PipelineStep, step_kind

FILE = '''
"""Each question is asked once more, without an explanation."""

from evaluation.pipelines.material import MaterialStep, instances, jobs_about
from evaluation.pipelines.option_checks import any_text
from evaluation.prompts.replies import marked_answer
from annotator.models import Explanation, Instance


class AskAgain(MaterialStep):
    """Whether a model gives the same answer as with the explanation of ``system``."""

    name = "ask_again"
    title = "Answers asked again"
    words = MaterialStep.words | {"kept": ("answer kept", "answers kept")}
    options = MaterialStep.options | {"system": any_text}
    required = ("system",)
    tasks = ("yes_no",)
    prompts_of = "explain"
    subject = (Instance,)

    def most_calls(self, step):
        return step.material.instances

    def jobs(self, run):
        return jobs_about(instances(run), "i")

    def part(self, run, call):
        return "answer"

    def form(self, run, call):
        return "answer"

    def values(self, run, call):
        return {"input": call.thing.input, "output": ""}

    def parse(self, run, call, text):
        return {"output": marked_answer(text, "yes_no")}

    def apply(self, run, groups):
        """Answers stay with their calls."""

    def finished(self, step, run):
        explained = Explanation.objects.filter(system__name=step.options["system"])
        before = dict(explained.values_list("instance_id", "output"))
        return {"kept": sum(before.get(call.subject) == call.result["output"] for call in run.calls.all())}
'''
RECIPE: dict[str, Any] = {
    "name": "asked-again",
    "title": "Asked again",
    "task": "yes_no",
    "steps": [
        {"name": "explain", "kind": "explain", "options": {"method": "cot", "system": "{model} · cot"}},
        {"name": "again", "kind": "ask_again", "options": {"system": "{model} · cot"}},
    ],
}


@pytest.fixture
def ask_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PipelineStep]:
    """The kind in a file, found by the registry."""
    folder = tmp_path / "steps"
    folder.mkdir()
    (folder / "ask_again.py").write_text(FILE, encoding="utf-8")
    path = [*evaluation.pipelines.steps.__path__, str(folder)]
    monkeypatch.setattr(evaluation.pipelines.steps, "__path__", path)
    STEP_KINDS.forget()
    yield step_kind("ask_again")
    STEP_KINDS.forget()
    del sys.modules["evaluation.pipelines.steps.ask_again"]
    delattr(evaluation.pipelines.steps, "ask_again")

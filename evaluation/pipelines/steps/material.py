"""What the material steps share: their part of the prompt, their choices, and the system that the material comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON, ChatMessage, prompt_part, render_prompt
from annotator.models import Explanation, FollowUp, Instance, System
from evaluation.models import Call, Run
from evaluation.runs.demonstrations import form_object
from evaluation.runs.step import ClaimedCall, Step
from evaluation.runs.structured import Form, form_schema, form_text
from evaluation.selectors.material import VALIDATED, generalization_questions

TASKS = ("yes_no", "multiple_choice", "preference", "news", "medical")
#: The label before the output of a generation task.
OUTPUT_LABEL = {"news": "Summary", "medical": "Suggestion"}
GENERATION = frozenset(OUTPUT_LABEL)
#: Part of the explaining prompt -> the form of its reply, for tasks with answers to choose from.
FORMS: Mapping[str, Form] = {
    "cot": "reasons_answer",
    "answer": "answer",
    "because": "reasons",
    "answer_reason": "answer_reason",
}
SHOWN = {"response_1": "Response 1", "response_2": "Response 2"}


class OptionError(ValueError):
    """A choice of a run doesn't fit its step; the message names it."""


def option(run: Run, name: str, allowed: Sequence[str] | None = None, default: str = "") -> str:
    """One of a run's choices as text; raises ``OptionError``."""
    value = str(run.options.get(name, default))
    if allowed is not None and value not in allowed:
        raise OptionError(f"{name}: {value!r} is not one of {', '.join(allowed)}")
    return value


def number(run: Run, name: str, default: int) -> int:
    """One of a run's choices as a whole number from 1 to 100; raises ``OptionError``."""
    return whole_number(run.options.get(name, default), name)


def whole_number(value: Any, name: str) -> int:
    """A whole number from 1 to 100; raises ``OptionError``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100:
        raise OptionError(f"{name}: expected a whole number from 1 to 100, got {value!r}")
    return value


def task_of(run: Run) -> str:
    return option(run, "task", TASKS, "yes_no")


def form_of(task: str, part: str) -> Form:
    """The form of an explanation, or of an output made with the same prompt."""
    if task in GENERATION:
        return "explained_output" if part == "cot" else "output_explained"
    return FORMS[part]


class MaterialStep(Step):
    """A step over a dataset. ``check`` checks the choices before any call is made."""

    defaults: ClassVar[JSON] = {}

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """How many samples of each call these choices ask for, and the parameters that go with them."""
        return 1, {}

    def check(self, run: Run) -> None:
        task_of(run)
        if run.dataset_id is None:
            raise OptionError("dataset: this step needs one")

    def part(self, run: Run, call: ClaimedCall) -> str:
        """The part of the prompt file for this call; empty if the file has no parts."""
        return ""

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        raise NotImplementedError

    def messages(self, run: Run, call: ClaimedCall) -> list[ChatMessage]:
        part = self.part(run, call)
        text = prompt_part(run.prompt, part) if part else run.prompt
        return render_prompt(text, self.values(run, call))

    def form(self, run: Run, call: ClaimedCall) -> Form:
        """The form of the reply to this call."""
        raise NotImplementedError

    def schema(self, run: Run, call: ClaimedCall) -> JSON | None:
        return form_schema(self.form(run, call), task_of(run))

    def from_object(self, run: Run, call: ClaimedCall, value: JSON) -> JSON:
        task = task_of(run)
        text = form_text(self.form(run, call), task, value, OUTPUT_LABEL.get(task, ""))
        return self.parse(run, call, text)

    def prompt_problems(self, run: Run, call: ClaimedCall) -> list[str]:
        values = self.values(run, call)
        said = "\n".join(message.content for message in self.messages(run, call))
        if any(len(value) > 2 and value in said for value in values.values()):
            return []
        names = ", ".join(f"${name}" for name in values)
        return [f"The prompt never shows what it asks about. Use one of these: {names}."]

    def demonstration(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        task = task_of(run)
        return form_object(self.form(run, call), task, text, OUTPUT_LABEL.get(task, ""))

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        thing = call.thing
        for name in ("input", "text"):
            value = getattr(thing, name, None)
            if isinstance(value, str):
                yield value


def instances(run: Run) -> Any:
    """The dataset's instances; with the choice ``part``, those of its train or test part."""
    found = Instance.objects.filter(dataset=run.dataset).order_by("pk")
    part = option(run, "part", ("all", "train", "test"), "all")
    if part == "all":
        return found
    pks = [pk for pk, key in found.values_list("pk", "key") if in_test_part(key) == (part == "test")]
    return found.filter(pk__in=pks)


def in_test_part(key: str) -> bool:
    """Whether an instance belongs to the fifth of a dataset that no model is trained on. Depends only on its key.

    >>> [n for n in range(20) if in_test_part(str(n))]
    [11, 14]
    """
    return int(text_digest(key)[:8], 16) % 5 == 0


def questions(run: Run) -> QuerySet[FollowUp]:
    """The dataset's generalization questions; with the choice ``questions`` *validated*, those that passed validation.

    ``validation`` is the slug of the study whose verdicts count. Raises ``OptionError`` if it is missing.
    """
    if option(run, "questions", ("all", VALIDATED), "all") == VALIDATED and not option(run, "validation"):
        raise OptionError("validation: names no study whose validators accept questions")
    if run.dataset is None:
        raise OptionError("dataset: this step needs one")
    return generalization_questions(dataset=run.dataset, choices=run.options)


def explanations(run: Run) -> Any:
    """The dataset's explanations by the run's ``systems``; by default, all."""
    found = Explanation.objects.filter(instance__dataset=run.dataset).order_by("pk")
    systems = run.options.get("systems")
    return found.filter(system__name__in=systems) if systems else found


def by_subject(model: Any, calls: Sequence[ClaimedCall], *related: str) -> Mapping[int, Any]:
    rows = model.objects.select_related(*related) if related else model.objects
    found = rows.in_bulk({call.subject for call in calls})
    return {call.id: found[call.subject] for call in calls if call.subject in found}


def system_of(run: Run, method: str) -> System:
    """The system of a run's explanations: its model with its method, under the run's name for it if there is one."""
    name = str(run.options.get("system") or f"{run.model} · {method.replace('_', '-')}")
    return system_made(run, name, method)


def systems_of(run: Run) -> QuerySet[System]:
    """The systems of the workspace that the run's dataset belongs to."""
    return System.objects.filter(workspace=run.dataset.workspace_id if run.dataset else None)


def system_made(run: Run, name: str, method: str) -> System:
    """The system with that name in the run's workspace, created if necessary."""
    return systems_of(run).get_or_create(
        workspace=run.dataset.workspace if run.dataset else None,
        name=name[:200],
        defaults={"model": run.model, "method": method},
    )[0]


def results(groups: Sequence[Sequence[Call]]) -> Iterator[tuple[Call, int, JSON]]:
    """Each finished call with the primary key of its subject and its parsed reply."""
    for group in groups:
        for call in group:
            if call.subject is not None and call.parsed is not None:
                yield call, call.subject, call.parsed


def shown(output: str) -> str:
    """An output in the form in which prompts show it.

    >>> shown("response_2"), shown("yes")
    ('Response 2', 'yes')
    """
    return SHOWN.get(output, output)

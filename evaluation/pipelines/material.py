"""What the kinds of step that make material share: their prompt, their options, and the system that the material is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import Template
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from annotator.hit_types.base import JSON, ChatMessage, Unparsable, prompt_part, render_prompt
from annotator.models import Dataset, Explanation, FollowUp, Instance, Output, System
from evaluation.core.step_kinds import kinds_making
from evaluation.models import Call, Endpoint, Run
from evaluation.pipelines.contract import PlannedStep, StepInRecipe
from evaluation.pipelines.model_step import ModelStep
from evaluation.pipelines.option_checks import OptionError, one_of
from evaluation.prompts import prompt_file
from evaluation.runs.create import RunPlan, run_draft
from evaluation.runs.demonstrations import form_object
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form, form_schema, form_text
from evaluation.selectors.material import parts_of
from evaluation.simulators.start import with_temperature

TASKS = ("yes_no", "multiple_choice", "preference", "news", "medical")
#: The label before the output of a generation task.
OUTPUT_LABEL = {"news": "Summary", "medical": "Suggestion"}
GENERATION = tuple(OUTPUT_LABEL)
#: Ways of explaining.
METHODS = ("cot", "post_hoc", "forced", "answer_reason")
#: Part of the explaining prompt -> the form of its reply, for tasks with answers to choose from.
_FORMS: Mapping[str, Form] = {
    "cot": "reasons_answer",
    "answer": "answer",
    "because": "reasons",
    "answer_reason": "answer_reason",
    "post_hoc": "answer_reason",
}


def task_of(run: Run) -> str:
    return str(run.options.get("task", "yes_no"))


def asked_twice(run: Run) -> bool:
    """Whether a run asks a post-hoc system for its answer, and for its reasons in a second call: by the option ``calls``.

    Without it, a run asks once, unless its prompt is one from before there was a part for that.
    """
    if task_of(run) in GENERATION:
        return False
    calls = run.options.get("calls")
    return "# because" in run.prompt and "# post_hoc" not in run.prompt if calls is None else calls == 2


def calls_of_system(dataset: Dataset, system: str) -> int:
    """In how many calls a post-hoc system gave its explanations, so that its outputs come from the same prompt; forced ones are those
    of their base."""
    runs = Run.objects.filter(kind__in=kinds_making("explanations"), dataset=dataset, options__system=system)
    made = runs.order_by("-pk").first()
    if made is None:
        return 1
    if made.options.get("method") == "forced" and (base := made.options.get("base")) != system:
        return calls_of_system(dataset, str(base))
    return 2 if asked_twice(made) else 1


def form_of(task: str, part: str) -> Form:
    """The form of an explanation, or of an output made with the same prompt."""
    if task in GENERATION:
        return "explained_output" if part == "cot" else "output_explained"
    return _FORMS[part]


class MaterialStep(ModelStep):
    """A kind of step over a dataset."""

    words = ModelStep.words | {
        "duplicates": ("exact duplicate dropped", "exact duplicates dropped"),
        "duplicates_of_others": (
            "duplicate of existing material dropped",
            "duplicates of existing material dropped",
        ),
        "missing": ("fewer written than requested",),
    }
    run_fields = ("material", "options")
    tasks: ClassVar[Sequence[str]] = TASKS
    #: Whose prompt files it uses; its own if empty.
    prompts_of: ClassVar[str] = ""
    #: Whether one sample has temperature 0 unless somebody chose one, or the model takes none (Chen et al.'s code).
    at_zero: ClassVar[bool] = False
    #: The model whose rows it asks about, with the related rows that its prompt needs.
    subject: ClassVar[tuple[Any, ...]]

    def check(self, step: StepInRecipe) -> None:
        if problem := one_of(*self.tasks)(step.task):
            raise OptionError(f"task: {problem}")
        super().check(step)

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """How many samples of each call these options ask for, and the parameters that go with them."""
        return 1, {}

    def prompt(self, task: str) -> str:
        """The prompt file for a task; raises ``KeyError``."""
        return prompt_file(self.prompts_of or self.name, task)

    def prompt_bytes(self, step: PlannedStep) -> int:
        return len(self.prompt(step.task).encode())

    def run_draft(self, *, owner: Dataset | None, endpoint: Endpoint, plan: RunPlan, options: JSON) -> Run:
        task = str(options.get("task", "yes_no"))
        try:
            prompt = plan.prompt or self.prompt(task)
        except KeyError as error:
            raise ValidationError({"kind": str(error.args[0])}) from None
        try:
            self.check(StepInRecipe(options, task))
            if owner is None:
                raise OptionError("dataset: this step needs one")
            samples, parameters = self.sampling(options)
            plan = replace(
                plan,
                prompt=prompt,
                parameters=parameters | plan.parameters,
                samples=max(samples, plan.samples),
            )
            if self.at_zero:
                plan = replace(plan, parameters=with_temperature(plan, endpoint))
            return run_draft(kind=self.name, endpoint=endpoint, plan=plan, dataset=owner, options=options)
        except OptionError as error:
            raise ValidationError({"options": str(error)}) from None

    def result(self, run: Run) -> JSON:
        """The run's numbers, with those of duplicates and of what is missing, as far as there are any."""
        parsed = run.calls.filter(parsed__isnull=False).values_list("parsed", flat=True)
        results = [held or {} for held in parsed]
        counts = {
            name: sum(held.get(name, 0) for held in results)
            for name in ("duplicates", "duplicates_of_others", "missing")
        }
        return super().result(run) | {name: count for name, count in counts.items() if count}

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        model, *related = self.subject
        rows = model.objects.select_related(*related) if related else model.objects
        by_pk = rows.in_bulk({call.subject for call in calls})
        return {call.id: by_pk[call.subject] for call in calls if call.subject in by_pk}

    def part(self, run: Run, call: ClaimedCall) -> str:
        """The part of the prompt file for this call; empty if the file has no parts."""
        return ""

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        """The values of the prompt's placeholders."""
        raise NotImplementedError

    def form(self, run: Run, call: ClaimedCall) -> Form:
        """The form of the reply to this call."""
        raise NotImplementedError

    def _prompt_part(self, run: Run, call: ClaimedCall) -> str:
        part = self.part(run, call)
        return prompt_part(run.prompt, part) if part else run.prompt

    def messages(self, run: Run, call: ClaimedCall) -> list[ChatMessage]:
        return render_prompt(self._prompt_part(run, call), self.values(run, call))

    def schema(self, run: Run, call: ClaimedCall) -> JSON | None:
        return form_schema(self.form(run, call), task_of(run))

    def from_object(self, run: Run, call: ClaimedCall, value: JSON) -> JSON:
        task = task_of(run)
        text = form_text(self.form(run, call), task, value, OUTPUT_LABEL.get(task, ""))
        return self.parse(run, call, text)

    def prompt_problems(self, run: Run, call: ClaimedCall) -> list[str]:
        values = self.values(run, call)
        # A number, such as how many to write, is not what the prompt asks about.
        material = {name for name, value in values.items() if value.strip() and not value.isdigit()}
        if material & set(Template(self._prompt_part(run, call)).get_identifiers()):
            return []
        names = ", ".join(f"${name}" for name in values)
        return [f"The prompt never shows what it asks about. Use one of these: {names}."]

    def demonstration(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        task = task_of(run)
        return form_object(self.form(run, call), task, text, OUTPUT_LABEL.get(task, ""))

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        for name in ("input", "text"):
            value = getattr(call.thing, name, None)
            if isinstance(value, str):
                yield value


def instances(run: Run) -> QuerySet[Instance]:
    """The dataset's instances; with the option ``part``, those of its train, validation or test part."""
    of_dataset = Instance.objects.filter(dataset=run.dataset).order_by("pk")
    part = run.options.get("part", "all")
    if part == "all":
        return of_dataset
    parts = parts_of(run.dataset) if run.dataset else {}
    pks = [pk for pk, own in parts.items() if own == part]
    return of_dataset.filter(pk__in=pks)


def explanations(run: Run) -> QuerySet[Explanation]:
    """The dataset's explanations by the run's ``systems``; by default, all."""
    of_dataset = Explanation.objects.filter(instance__dataset=run.dataset).order_by("pk")
    systems = run.options.get("systems")
    return of_dataset.filter(system__name__in=systems) if systems else of_dataset


def jobs_about(rows: QuerySet[Any], letter: str) -> Iterator[Job]:
    """A call about each row, whose key is the letter with the row's number."""
    for pk in rows.order_by("pk").values_list("pk", flat=True).iterator(2000):
        yield Job(key=f"{letter}{pk}", subject=pk)


def follow_ups_of(run: Run) -> QuerySet[FollowUp]:
    """The follow-ups of the explanations by the run's ``system``."""
    system = run.options.get("system", "")
    return FollowUp.objects.filter(
        explanation__instance__dataset=run.dataset, explanation__system__name=system
    )


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


def sanity_system(system: str) -> str:
    """The name of the system under which outputs written from another system's explanations are stored.

    >>> sanity_system("gpt · post-hoc")
    'gpt · post-hoc · from explanation'
    """
    return f"{system[:180]} · from explanation"


def results(groups: Sequence[Sequence[Call]]) -> Iterator[tuple[Call, int, JSON]]:
    """Each finished call with the primary key of its subject and its parsed reply."""
    for group in groups:
        for call in group:
            if call.subject is not None and call.parsed is not None:
                yield call, call.subject, call.parsed


def outputs_store(system: System, groups: Sequence[Sequence[Call]]) -> None:
    """Store the output of each call as the system's on the follow-up that the call is about."""
    Output.objects.bulk_create(
        [
            Output(follow_up_id=follow_up, system=system, text=parsed["output"])
            for _, follow_up, parsed in results(groups)
        ],
        ignore_conflicts=True,
    )


def other_answer(output: str, task: str, question: str) -> str:
    """An answer that was not chosen; if there are several, the next letter that the question offers.

    >>> other_answer("yes", "yes_no", ""), other_answer("B", "multiple_choice", "Which?\\nA: one\\nB: two")
    ('no', 'A')
    """
    if task == "yes_no":
        return "no" if output == "yes" else "yes"
    if task == "preference":
        return "response_2" if output == "response_1" else "response_1"
    others = [letter for letter in offered_letters(question) if letter != output]
    if not others:
        raise OptionError(f"the question offers no answer besides {output}")
    return next((letter for letter in others if letter > output), others[0])


def offered_letters(question: str) -> list[str]:
    """The letters of the answers that a question offers, each on a line of its own.

    >>> offered_letters("Which?\\nA: one\\nB: two")
    ['A', 'B']
    """
    lines = [line for line in question.splitlines() if len(line) > 1 and line[1] == ":"]
    return [line[0] for line in lines if line[0].isupper()]


def check_offered(letter: str, question: str) -> None:
    """Check that a question offers an answer; raises ``Unparsable``, as a reply with another letter is no answer to it.

    >>> check_offered("B", "Which?\\nA: one\\nB: two")
    """
    letters = offered_letters(question)
    if letters and letter not in letters:
        raise Unparsable(f"the question offers {', '.join(letters)}, not {letter}")

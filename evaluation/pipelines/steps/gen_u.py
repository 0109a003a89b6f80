"""GEN-U: generalization questions answered without and with a rationale (Joshi et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotator.models import Explanation, Instance
from evaluation.models import Call, Run
from evaluation.pipelines.contract import PlannedStep
from evaluation.pipelines.material import outputs_store, system_made, systems_of
from evaluation.pipelines.option_checks import OptionError, any_text, true_or_false
from evaluation.pipelines.questions import QuestionStep, questions
from evaluation.runs.step import Job
from evaluation.selectors.material import first_line, gen_u_system


class GenU(QuestionStep):
    """One of GEN-U's two runs (P3): a model answers each generalization question, without or with a rationale.

    ``rationale`` is empty, or names the system whose explanation of the instance is shown: one of the dataset, or else one
    that was imported into a study of the same questions. The outputs are kept under ``<model> · GEN-U without`` and
    ``<model> · GEN-U with <system>``. ``questions`` is *all* or *validated*. ``optional``: a system without explanations
    leaves the step out, instead of being an error.
    """

    name = "gen_u"
    title = "GEN-U"
    options = QuestionStep.options | {"rationale": any_text, "optional": true_or_false}

    def most_calls(self, step: PlannedStep) -> int:
        return step.material.questions

    def jobs(self, run: Run) -> Iterator[Job]:
        rationale = str(run.options.get("rationale", ""))
        shown = rationales_shown(run, rationale) if rationale else {}
        if rationale and not shown:
            if run.options.get("optional"):
                return
            raise OptionError(f"rationale: {rationale!r} has no explanations of this dataset's instances")
        for pk, instance in questions(run).values_list("pk", "instance_id").iterator():
            if not rationale:
                yield Job(key=f"f{pk}", subject=pk)
            elif instance in shown:
                yield Job(key=f"f{pk}", subject=pk, context={"explanation": shown[instance]})

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        name = gen_u_system(run.model, str(run.options.get("rationale", "")))
        outputs_store(system_made(run, name, "GEN-U"), groups)


def rationales_shown(run: Run, system: str) -> dict[int, int]:
    """Instance of the run's dataset -> the first explanation of it by ``system``.

    If the dataset has none, explanations that were imported into the workspace's studies are used, for instances with
    the same key and input.
    """
    of_system = Explanation.objects.filter(system__in=systems_of(run).filter(name=system)).order_by("-pk")
    own = dict(of_system.filter(instance__dataset=run.dataset).values_list("instance_id", "pk"))
    if own:
        return own
    imported = of_system.values_list("instance__key", "instance__input", "pk")
    by_input = {(key, first_line(text)): pk for key, text, pk in imported}
    instances = Instance.objects.filter(dataset=run.dataset).values_list("pk", "key", "input")
    matched = {pk: by_input.get((key, first_line(text))) for pk, key, text in instances}
    return {instance: pk for instance, pk in matched.items() if pk is not None}

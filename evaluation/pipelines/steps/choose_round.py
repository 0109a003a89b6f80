"""The trained model whose rationales of the validation part have the highest GEN-U (Joshi et al. 2023, section 4)."""

from __future__ import annotations

from collections import defaultdict

from django.core.exceptions import ValidationError

from annotator.hit_types.base import JSON
from annotator.models import Output
from evaluation.core.step_kinds import kinds_making
from evaluation.models import Report
from evaluation.pipelines.contract import CurrentStep, PipelineStep, PlannedStep, StepInRecipe, StepPlan
from evaluation.pipelines.option_checks import OptionError
from evaluation.selectors.material import gen_u_system, own_parts


def _rounds(value: object) -> str:
    named = isinstance(value, list) and all(
        isinstance(one, dict)
        and set(one) == {"tuned", "system"}
        and all(isinstance(v, str) for v in one.values())
        for one in value
    )
    return "" if named and value else f'expected a list of {{"tuned": STEP, "system": NAME}}, got {value!r}'


class ChooseRound(PipelineStep):
    """Of several ``rounds``, each a step that trains a model with the system of its model's rationales, the one with the highest mean
    GEN-U; of several, the first. Later steps ask its model as ``{tuned STEP}``. Without any GEN-U it's the last round. ``own_parts`` of the result is how many instances of the dataset have a part of
    the file's own.
    """

    name = "choose_round"
    title = "Chosen round"
    options = {"rounds": _rounds}
    required = ("rounds",)

    def check(self, step: StepInRecipe) -> None:
        super().check(step)
        tuned = {held["name"] for held in step.before or () if held["kind"] in kinds_making("models")}
        if step.before is not None and (
            unknown := sorted({one["tuned"] for one in step.options["rounds"]} - tuned)
        ):
            raise OptionError(f"rounds: {', '.join(unknown)}: no step before this one trains a model")

    def plan(self, step: PlannedStep) -> StepPlan:
        return step.plan()

    def advance(self, step: CurrentStep) -> JSON:
        from evaluation.metrics import gen_u  # imported late, because the web process doesn't load scipy

        found: list[tuple[float, int, JSON]] = []
        rounds = step.options["rounds"]
        for number, one in enumerate(rounds, 1):
            with_right, alone_right, instances = _answers(step, one["system"])
            mean = gen_u(with_right, alone_right, instances).mean
            if mean.defined:
                result = {"round": number, "gen_u": round(mean.value, 4), "questions": mean.n}
                found.append((mean.value, -number, result))
        last: JSON = {
            "round": len(rounds),
            "note": "no rationale of the validation part has a GEN-U: the last round",
        }
        chosen = max(found)[2] if found else last
        tuned = rounds[int(chosen["round"]) - 1]["tuned"]
        named = {"own_parts": len(own_parts(step.pipeline.dataset))}
        return chosen | {"model": step.pipeline.results[tuned]["model"]} | named

    def repeat(self, step: CurrentStep, choices: JSON) -> Report:
        raise ValidationError(
            {"name": f"{step.name}: a round is chosen once in a pipeline, since later steps rest on it"}
        )


def _answers(step: CurrentStep, system: str) -> tuple[list[bool], list[bool | None], list[str]]:
    """GEN-U's answers with the rationales of ``system`` on the pipeline's dataset: right with it, right without, instance."""
    model = step.pipeline.endpoint.model
    names = gen_u_system(model, system), gen_u_system(model)
    rows = Output.objects.filter(
        follow_up__instance__dataset=step.pipeline.dataset, system__name__in=names
    ).exclude(follow_up__gold_label="")
    right: dict[str, dict[tuple[int, int], bool]] = defaultdict(dict)
    found = rows.order_by("pk").values_list(
        "system__name", "follow_up", "follow_up__instance", "text", "follow_up__gold_label"
    )
    for name, question, instance, text, gold in found:
        right[name][instance, question] = text == gold
    shown, alone = (right[name] for name in names)
    keys = sorted(shown)
    return [shown[key] for key in keys], [alone.get(key) for key in keys], [str(key[0]) for key in keys]

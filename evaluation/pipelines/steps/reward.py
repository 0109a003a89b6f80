"""The GEN-U of each rationale, as a reward for training (Joshi et al. 2023, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON
from annotator.models import Explanation, FollowUp, Output
from evaluation.models import Call, Pipeline, Reward, Run
from evaluation.pipelines.contract import CurrentStep, PlannedStep
from evaluation.pipelines.option_checks import OptionError, any_text, whole_number
from evaluation.pipelines.questions import QuestionStep, questions
from evaluation.pipelines.training import rounds_of
from evaluation.prompts.rewards import PAPER_BINS, reward_quantiles
from evaluation.runs.step import Job
from evaluation.selectors.material import gen_u_system


class RewardAnswers(QuestionStep):
    """A model answers each generalization question with each rationale of ``system``; rewards are computed from the
    answers. Answers without a rationale come from an earlier GEN-U run (``gen_u``) with the same model.
    ``questions`` is *all* or *validated*; ``bins`` is the number of reward quantiles.
    """

    name = "reward"
    title = "Rewards"
    words = QuestionStep.words | {
        "rewards": ("rationale rewarded", "rationales rewarded"),
        "mean_reward": ("mean reward",),
    }
    options = QuestionStep.options | {"system": any_text, "bins": whole_number(1, 100)}

    def most_calls(self, step: PlannedStep) -> int:
        explained = step.material.explanations.get(str(step.options.get("system")), 0)
        return explained * step.material.questions_each

    def jobs(self, run: Run) -> Iterator[Job]:
        answered = _answers_alone(run, FollowUp.objects.filter(instance__dataset=run.dataset))
        if not answered.exists():
            raise OptionError(
                f"model: {run.model!r} has not answered the questions without a rationale yet (gen_u)"
            )
        asked = questions(run).filter(pk__in=answered.values("follow_up")).exclude(gold_label="")
        by_instance: dict[int, list[int]] = {}
        for pk, instance in asked.values_list("pk", "instance_id"):
            by_instance.setdefault(instance, []).append(pk)
        system = run.options.get("system", "")
        of_system = Explanation.objects.filter(instance__dataset=run.dataset, system__name=system)
        for pk, instance in of_system.order_by("pk").values_list("pk", "instance_id").iterator(2000):
            for question in by_instance.get(instance, []):
                yield Job(key=f"e{pk}-f{question}", subject=question, context={"explanation": pk})

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        """Does nothing: answers stay with their calls, and ``finished`` computes rewards once the run is done."""

    def finished(self, step: CurrentStep, run: Run) -> JSON:
        """Store the GEN-U of each rationale; returns the round's numbers. Safe to call again.

        ``mean_reward`` is over the round's samples, from -1 to 1: a rationale that was sampled three times counts three
        times. Otherwise the mean would fall as a model learns, because it repeats its good rationales and varies its poor
        ones.
        """
        from evaluation.metrics import gen_u  # imported late, because the web process doesn't load scipy

        answered = run.calls.filter(parsed__isnull=False).order_by("pk")
        calls = [
            (call.about, call.context["explanation"], call.result["output"])
            for call in answered.only("key", "subject", "context", "parsed")
        ]
        gold = dict(
            FollowUp.objects.filter(pk__in={pk for pk, _, _ in calls}).values_list("pk", "gold_label")
        )
        alone = dict(_answers_alone(run, gold).values_list("follow_up", "text"))
        utility = gen_u(
            [output == gold[pk] for pk, _, output in calls],
            [alone[pk] == gold[pk] if pk in alone else None for pk, _, _ in calls],
            [str(explanation) for _, explanation, _ in calls],
        )
        values = [float(value) for value in utility.values]
        quantiles = reward_quantiles(values, int(step.options.get("bins", PAPER_BINS)))
        samples = _samples_of(step.pipeline, str(run.options.get("system", "")))
        rows = [
            Reward(
                pipeline=step.pipeline,
                step=step.name,
                explanation_id=int(name),
                value=value,
                quantile=quantile,
                samples=max(samples[int(name)], 1),
            )
            for name, value, quantile in zip(utility.instances, values, quantiles, strict=True)
        ]
        Reward.objects.bulk_create(rows, ignore_conflicts=True)
        mean = {name: mean for name, _, mean in rounds_of(step.pipeline)}.get(step.name)
        return {"rewards": len(values), "mean_reward": None if mean is None else round(mean, 4)}


def _answers_alone(run: Run, questions: Any) -> Any:
    """The model's answers to these questions without a rationale."""
    return Output.objects.filter(system__name=gen_u_system(run.model), follow_up__in=questions)


def _samples_of(pipeline: Pipeline, system: str) -> Counter[int]:
    """Explanation -> how many of the pipeline's samples of that system were this text with this output."""
    explanations = Explanation.objects.filter(instance__dataset=pipeline.dataset, system__name=system)
    known = {
        (instance, digest): pk
        for pk, instance, digest in explanations.values_list("pk", "instance_id", "digest")
    }
    sampled = Call.objects.filter(
        run__pipeline=pipeline, run__options__system=system, parsed__explanation__isnull=False
    )
    counts: Counter[int] = Counter()
    for call in sampled.only("subject", "parsed").iterator(2000):
        pk = known.get((call.about, text_digest(call.result["explanation"], call.result["output"])))
        if pk is not None:
            counts[pk] += 1
    return counts

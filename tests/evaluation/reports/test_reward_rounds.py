"""The reward by round and its quantiles, with numbers worked out on paper."""

from __future__ import annotations

import pytest

from annotator.models import Dataset, Explanation, Study
from evaluation.models import Call, Endpoint, Pipeline, Recipe, Reward, Run
from tests.evaluation.reports.paper_studies import p3_utility_study
from tests.evaluation.reports.studies import cells_of, computed, table_of

pytestmark = pytest.mark.django_db

#: The explanation's place in the study, GEN-U, its quantile of two by rank, how many samples were this text.
FIRST = [(0, -1.0, 0, 3), (1, 1.0, 1, 1)]
SECOND = [(0, 0.0, 0, 1), (1, 1.0, 1, 3)]


def pipeline_of(study: Study, *rounds: list[tuple[int, float, int, int]], bins: int) -> Pipeline:
    """A pipeline of the study with these rounds; a call of each could not be read, and one rationale has no reward."""
    dataset = Dataset.objects.filter(instances__items__study=study).distinct().get()
    endpoint, _ = Endpoint.objects.get_or_create(
        name="lab", defaults={"base_url": "http://127.0.0.1:1/v1", "model": "m"}
    )
    recipe, _ = Recipe.objects.get_or_create(name="r", version=1, digest="d", content={"steps": []})
    pipeline = Pipeline.objects.create(recipe=recipe, dataset=dataset, endpoint=endpoint, study=study)
    explanations = list(Explanation.objects.filter(items__study=study).order_by("pk"))
    for number, rows in enumerate(rounds, 1):
        shared = {"endpoint": endpoint, "dataset": dataset, "pipeline": pipeline, "model": "m"}
        system = f"m · round {number}"
        asked = Run.objects.create(kind="explain", options={"system": system}, **shared)
        Run.objects.create(
            kind="reward", options={"system": system, "step": f"rewards-{number}", "bins": bins}, **shared
        )
        readable = [{"explanation": "because"}] * (1 + sum(samples for *_, samples in rows))
        Call.objects.bulk_create(
            Call(run=asked, key=f"{number}-{n}", parsed=parsed, state="done" if parsed else "unparsable")
            for n, parsed in enumerate([*readable, None])
        )
        for place, value, quantile, samples in rows:
            Reward.objects.create(
                pipeline=pipeline, step=f"rewards-{number}", explanation=explanations[place],
                value=value, quantile=quantile, samples=samples,
            )  # fmt: skip
    return pipeline


def test_each_round_has_its_mean_over_samples_and_what_has_no_reward() -> None:
    study = p3_utility_study()
    pipeline_of(study, FIRST, SECOND, bins=2)
    content = computed(study, replicates=200).content

    cells = cells_of(content, "p3-reward-rounds")
    first, second = (cells[f"Round {n}", "Mean reward"] for n in (1, 2))
    assert (first["value"], first["n"]) == ((3 * -1 + 1) / 4, 4)
    assert (second["value"], second["n"]) == ((0 + 3 * 1) / 4, 4)
    assert second["low"] <= second["value"] <= second["high"]
    assert first["left_out"] == {"without a readable rationale": 1, "without a validated question": 1}
    assert [cells["Round 1", name]["value"] for name in ("Sampled", "With a reward", "Distinct")] == [6, 4, 2]
    points = table_of(content, "p3-reward-rounds-figure")["data"]["points"]
    assert [(one["label"], one["value"]) for one in points] == [("Round 1", -0.5), ("Round 2", 0.75)]


def test_quantiles_show_the_rewards_that_they_hold() -> None:
    study = p3_utility_study()
    pipeline_of(study, FIRST, bins=4)  # two of four quantiles are empty
    cells = cells_of(computed(study).content, "p3-reward-quantiles")
    assert cells["Round 1 <reward_0>", "Lowest reward"]["value"] == -1
    assert cells["Round 1 <reward_0>", "Share, %"]["value"] == 0.75
    assert cells["Round 1 <reward_1>", "Highest reward"]["value"] == 1
    empty = cells["Round 1 <reward_3>", "Lowest reward"]
    assert (empty["value"], empty["reason"]) == (None, "no reward of this round is in the quantile")


def test_two_pipelines_of_a_study_have_rows_of_their_own() -> None:
    study = p3_utility_study()
    pipelines = [pipeline_of(study, rows, bins=3) for rows in (FIRST, SECOND)]
    cells = cells_of(computed(study).content, "p3-reward-rounds")
    found = [cells[f"Pipeline {one.pk} Round 1", "Mean reward"]["value"] for one in pipelines]
    assert found == [-0.5, 0.75]


def test_a_study_without_rewards_has_no_such_section() -> None:
    content = computed(p3_utility_study()).content
    assert "p3-reward-rounds" not in {section["id"] for section in content["sections"]}

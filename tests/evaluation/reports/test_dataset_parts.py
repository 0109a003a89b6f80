"""Where the training, validation and test part come from, as the steps and P3 Table 7 have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotator.models import Dataset, Study
from evaluation.models import Endpoint, Pipeline, Recipe, Run
from evaluation.pipelines.drawn_demonstrations import demonstrations_draw
from evaluation.pipelines.material import instances
from evaluation.reports.tables.p3_table7 import parts_notes
from evaluation.services.dataset import dataset_load
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def loaded(folder: Path) -> Dataset:
    """Ten questions for training, then one for validation and two for the test."""
    path = folder / "q.csv"
    parts = ["train"] * 10 + ["validation"] + ["test"] * 2
    rows = [f"q{n},Is {n} even?,yes,It is.,{part}" for n, part in enumerate(parts)]
    path.write_text("\n".join(["qid,question,answer,facts,part", *rows]))
    return dataset_load(name="d", path=path, task="yes_no")[0]


def made_by_a_pipeline(**counted: int) -> Study:
    study = make_study(slug="made")
    dataset = Dataset.objects.create(workspace=study.workspace, name="questions")
    endpoint = Endpoint.objects.create(name="lab", base_url="http://127.0.0.1:1/v1", model="m")
    recipe = Recipe.objects.create(name="r", version=1, digest="d", content={"steps": []})
    results = {"study": {"study": study.slug}, "best-round": {"round": 1, "model": "m", **counted}}
    Pipeline.objects.create(recipe=recipe, dataset=dataset, endpoint=endpoint, study=study, results=results)
    return study


def test_steps_use_the_parts_that_the_file_names(tmp_path: Path) -> None:
    dataset = loaded(tmp_path)
    endpoint = Endpoint.objects.create(name="lab", base_url="http://127.0.0.1:1/v1", model="m")
    for part, keys in (
        ("test", ["q11", "q12"]),
        ("validation", ["q10"]),
        ("train", [f"q{n}" for n in range(10)]),
    ):
        run = Run(kind="explain", dataset=dataset, endpoint=endpoint, options={"part": part})
        assert list(instances(run).values_list("key", flat=True)) == keys
    drawn = demonstrations_draw(dataset, dataset.instances.filter(key="q11"), 10)
    assert {one.key for (chosen,) in [drawn.values()] for one in chosen} == {f"q{n}" for n in range(10)}


@pytest.mark.parametrize(("own", "said"), [(40, "are those that the dataset's file names"), (0, "by key")])
def test_table_7_says_where_the_parts_come_from(own: int, said: str) -> None:
    (note,) = parts_notes(made_by_a_pipeline(own_parts=own))
    assert said in note


def test_a_pipeline_from_before_says_nothing_of_parts() -> None:
    assert parts_notes(made_by_a_pipeline()) == []

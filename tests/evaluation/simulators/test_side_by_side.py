"""Simulators side by side on each item, disagreements first, beside what people said."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Exclusion, Judgment, Study
from evaluation.models import Call, Run
from evaluation.ratings.people import PeopleSaid, disagrees, people_said
from evaluation.simulators.side_by_side import calls_against_people, runs_side_by_side
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_judgment, make_rater, make_user

pytestmark = SCRIPTED_MARKS


def several(scripted: ScriptedProcess, items: int = 12) -> list[Run]:
    """Three simulators of different quality on one study."""
    study = make_material(items)
    endpoint = make_endpoint(scripted)
    runs = [
        make_run(endpoint, study, model=f"scripted?seed={n}&quality={quality}")
        for n, quality in enumerate((1, 0.4, 0.2))
    ]
    for run in runs:
        work(run)
    return runs


def answer(run: Run, key: str) -> Any:
    judgment = Judgment.objects.get(rater=run.rater, item__key=key)
    return tuple(sorted(judgment.response.items()))


def answered(study: Study, key: str, *labels: str) -> None:
    for n, label in enumerate(labels):
        make_judgment(study.items.get(key=key), make_rater(f"p{n}"), label)


def test_runs_are_side_by_side_with_the_items_first_on_which_they_differ(scripted: ScriptedProcess) -> None:
    runs = several(scripted)
    found = runs_side_by_side(runs)
    assert [one.run for one in found.columns] == runs
    assert (found.common, found.total, len(found.rows)) == (12, 12, 12)
    distinct = [len({answer(run, row.key) for run in runs}) for row in found.rows]
    assert distinct == sorted(distinct, reverse=True)
    assert found.agreeing == distinct.count(1)
    assert 0 < found.agreeing < 12
    assert [row.same for row in found.rows] == [one == 1 for one in distinct]
    for row in found.rows:
        assert [Call.objects.get(pk=cell.call).key for cell in row.cells if cell] == [row.key] * 3


def test_only_items_with_differences_and_pages(scripted: ScriptedProcess) -> None:
    runs = several(scripted)
    found = runs_side_by_side(runs, only_different=True)
    assert found.total == len(found.rows) == 12 - found.agreeing
    second = runs_side_by_side(runs, start=5, most=5)
    assert [row.key for row in second.rows] == [row.key for row in runs_side_by_side(runs).rows[5:10]]


def test_an_answer_that_is_not_what_most_people_said_is_marked(scripted: ScriptedProcess) -> None:
    runs = several(scripted, items=3)
    study = runs[0].study
    assert study is not None
    response = dict(answer(runs[0], "item-0"))
    own = response.get("answer", "cannot_guess")
    other = "no" if own == "yes" else "yes"
    answered(study, "item-0", other, other, own)
    answered(study, "item-1", "yes", "no")
    found = runs_side_by_side(runs[:1])
    (row,) = [row for row in found.rows if row.key == "item-0"]
    assert row.cells[0] is not None
    assert row.cells[0].against_people
    assert dict(row.people) == {"Simulated answer": f"{other} (2), {own} (1)"}
    assert found.rows[0].key == "item-0", "one simulator, and people disagree with it"
    column = found.columns[0]
    assert (column.with_people, column.agreeing) in {(2, 1), (1, 0)}
    assert [Call.objects.get(pk=pk).key for pk in calls_against_people(runs[0])] == ["item-0"]


def test_excluded_judgments_are_nobodys_word(scripted: ScriptedProcess) -> None:
    study = make_material(1)
    answered(study, "item-0", "yes", "yes", "no")
    out = make_rater("p0")
    Exclusion.objects.create(study=study, rater=out, reason="bot", created_by=make_user("boss", staff=True))
    (said,) = people_said(study=study).values()
    assert said.people == 2
    assert said.counts["simulation", ""] == Counter(yes=1, no=1)
    assert not said.majority


def test_what_people_did_not_label_contradicts_nobody() -> None:
    said = PeopleSaid(1, {("helpful", ""): Counter(no=1)})
    assert not disagrees({("answer", ""): "yes"}, said)
    assert not disagrees({("answer", ""): "yes"}, None)
    assert disagrees({("helpful", ""): "yes", ("answer", ""): "yes"}, said)


def test_the_page_compares_any_number_of_runs(client: Client, scripted: ScriptedProcess) -> None:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    runs = several(scripted)
    assert runs[0].study is not None
    answered(runs[0].study, "item-0", "yes", "yes")
    address = reverse("admin:evaluation_run_compare", args=[runs[0].pk])
    assert f'value="{runs[2].pk}"' in client.get(address).content.decode()
    page = client.get(address, {"with": [runs[1].pk, runs[2].pk]}).content.decode()
    found = runs_side_by_side(runs)
    assert f"{found.agreeing} of 12 items have the same result" in page
    assert page.count(">transcript</a>") == 36
    assert page.index(f">{found.rows[0].key}<") < page.index(f">{found.rows[-1].key}<")
    only = client.get(address, {"with": [runs[1].pk, runs[2].pk], "different": 1}).content.decode()
    assert only.count(">transcript</a>") == 3 * (12 - found.agreeing) or "Not as most people" in only
    assert client.get(address, {"with": [runs[0].pk, "x", "0"]}).status_code == 200
    assert client.get(address, {"with": [runs[1].pk], "page": 99}).status_code == 200


def test_a_transcript_shows_only_answers_that_people_did_not_give(
    client: Client, scripted: ScriptedProcess
) -> None:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    run = several(scripted, items=3)[0]
    assert run.study is not None
    own = dict(answer(run, "item-1")).get("answer", "cannot_guess")
    answered(run.study, "item-1", "no" if own == "yes" else "yes")
    page = reverse("admin:evaluation_run_transcript", args=[run.pk])
    shown = client.get(page, {"against": 1}).content.decode()
    assert shown.count('class="fh__call"') == 1
    assert "against=1" in shown


@pytest.mark.parametrize("number", [2, 3])
def test_comparing_takes_one_statement_more_for_each_run(
    scripted: ScriptedProcess, django_assert_num_queries: Any, number: int
) -> None:
    runs = several(scripted, items=4)
    with django_assert_num_queries(10 + number):
        runs_side_by_side(runs[:number])

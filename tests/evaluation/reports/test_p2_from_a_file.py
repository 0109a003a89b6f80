"""P2 with three raters: from a file of articles over their pages to the tables, whose figures are recomputed with pandas."""

from __future__ import annotations

import io
import json
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from django.db.models import Count

from annotator.models import Judgment, Study
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from annotator.services.study_templates import study_create_from_template
from tests.bot import Bot
from tests.evaluation.reports.studies import cells_of, computed
from tests.factories import make_user

pytestmark = pytest.mark.django_db
METHODS = {"cot": 2, "post_hoc": 3}


def launched(**settings: Any) -> Study:
    """Two articles with an explanation by each method and three counterfactuals of each, as in the paper's Appendix A."""
    rows = []
    for article in ("flood", "bridge"):
        for method, units in METHODS.items():
            for number in range(3):
                rows.append(
                    {
                        "key": f"{article}-{method}-{number}", "instance": article, "original": f"The {article}.", "domain": "news",
                        "system": f"m · {method}", "model": "m", "method": method, "generator": "writer",
                        "explanation": f"Tell {units} things of the {article}.", "units": [f"thing {n}" for n in range(units)],
                        "input": f"A {article} of kind {number}.", "output": f"There was a {article}.",
                        "ask": ["parse", "input", "output"] if number == 0 else ["input", "output"],
                    }
                )  # fmt: skip
    study = study_create_from_template(
        by=make_user("boss", staff=True), template="atomic_units", slug="p2", title="P2",
        exam_required=False, practice_required=False, consent_text="", min_seconds=0, **settings,
    )  # fmt: skip
    material_import(
        study=study, file=io.BytesIO("\n".join(map(json.dumps, rows)).encode()), name="articles.jsonl"
    )
    study_launch(study=study)
    study.refresh_from_db()
    return study


def units_judged() -> pd.DataFrame:
    """One row for each unit, side and rater."""
    rows = []
    for judgment in Judgment.objects.select_related("item__explanation__system", "rater").order_by("pk"):
        system = judgment.item.explanation.system  # type: ignore[union-attr]
        for name, label in judgment.response.items():
            side, _, number = name.rpartition("_")
            if side in ("input", "output"):
                rows.append(
                    (judgment.item.key, judgment.item.explanation_id, system.method, side, number, judgment.rater.name, label)
                )  # fmt: skip
    return pd.DataFrame(rows, columns=["item", "explanation", "method", "side", "unit", "rater", "label"])


def test_three_people_judge_every_item_and_fill_the_papers_tables() -> None:
    study = launched()
    for seed in range(3):
        bot = Bot(study)
        bot.rng.seed(seed)
        bot.whole_way(most=12)
    judged = Judgment.objects.filter(study=study)
    assert judged.count() == 36, "three people could do all twelve items, four of each article's conditions"
    assert judged.values("rater").distinct().count() == 3

    content, rows = computed(study, replicates=100).content, units_judged()
    yes = (rows.assign(yes=rows.label == "yes").groupby(["method", "explanation", "item", "side", "unit"]).yes.mean() > 0.5)  # fmt: skip
    by_item = yes.unstack("side").groupby(["method", "explanation", "item"])
    simulatable = by_item.input.all()
    precision = by_item.output.mean()[simulatable]
    cells = cells_of(content, "p2-table-1")
    for method, title in (("cot", "Chain of thought"), ("post_hoc", "Post-hoc")):
        shown = cells[f"P2 {title}", "Simulatable"]
        assert (shown["value"], shown["n"]) == (pytest.approx(simulatable[method].mean()), 6)
        own = precision[precision.index.get_level_values("method") == method]
        if len(own):
            expected = own.groupby("explanation").mean().mean()
            assert cells[f"P2 {title}", "Precision"]["value"] == pytest.approx(expected)

    # Table 2: kappa of every two of the three people, over units in input and output.
    wide = rows.pivot(index=["item", "side", "unit"], columns="rater", values="label")
    kappas = []
    for one, other in combinations(wide, 2):
        table = pd.crosstab(wide[one], wide[other], normalize=True).reindex(
            index=["yes", "no"], columns=["yes", "no"], fill_value=0
        )
        by_chance = table.sum(axis=1) @ table.sum(axis=0)
        kappas.append((np.trace(table) - by_chance) / (1 - by_chance))
    pairs = cells_of(content, "p2-table-2-means")
    (mean,) = [cell for (row, label), cell in pairs.items() if label.endswith("Unweighted")]
    assert mean["value"] == pytest.approx(np.mean(kappas), abs=1e-12)
    assert mean["n"] == 3
    assert len(wide) == 60  # 5 units of a pair of explanations, 3 counterfactuals, 2 articles, 2 sides

    # Table 4 rests on four explanations, Table 5 on twelve follow-ups by the share of their units in the input.
    assert cells_of(content, "p2-table-4")["Accuracy", "P2 n = 4"]["n"] == 4
    buckets = cells_of(content, "p2-table-5")
    assert buckets["Total", "P2 Follow-ups"]["value"] == 12
    assert buckets["1.00", "P2 Follow-ups"]["value"] == simulatable.sum()
    growth = cells_of(content, "p2-table-6")
    filled = {label: cell["kind"] for (row, label), cell in growth.items() if row == "P2 All follow-ups"}
    assert list(filled.values()) == ["number", "text", "text"], "no explanation has more than three"


def test_three_people_share_some_items_and_divide_the_rest() -> None:
    """Appendix A: each annotator has the same samples, and others of their own. All tables come from that one study."""
    study = launched(shared_items=6, max_items_per_rater=8)
    for seed in range(3):
        bot = Bot(study)
        bot.rng.seed(seed)
        bot.whole_way(most=8)
    raters = Judgment.objects.values("item__key", "item__explanation__system__method").annotate(
        n=Count("rater")
    )
    shared = {row["item__key"] for row in raters if row["n"] == 3}
    assert sorted(row["n"] for row in raters) == [1] * 6 + [3] * 6
    by_method = [row["item__explanation__system__method"] for row in raters if row["n"] == 3]
    assert sorted(by_method) == ["cot"] * 3 + ["post_hoc"] * 3, "evenly over the methods"
    assert len({key.rpartition("-")[0] for key in shared}) == 2, (
        "whole explanations with all their counterfactuals"
    )

    content, rows = computed(study, replicates=100).content, units_judged()
    pairs = cells_of(content, "p2-table-2-means")
    (mean,) = [cell for (row, label), cell in pairs.items() if label.endswith("Unweighted")]
    wide = rows[rows["item"].isin(shared)].pivot(
        index=["item", "side", "unit"], columns="rater", values="label"
    )
    assert mean["n"] == 3
    kappas = []
    for one, other in combinations(wide, 2):
        table = pd.crosstab(wide[one], wide[other], normalize=True).reindex(
            index=["yes", "no"], columns=["yes", "no"], fill_value=0
        )
        by_chance = table.sum(axis=1) @ table.sum(axis=0)
        kappas.append((np.trace(table) - by_chance) / (1 - by_chance))
    assert mean["value"] == pytest.approx(np.mean(kappas), abs=1e-12)
    cells = cells_of(content, "p2-table-1")
    for title in ("Chain of thought", "Post-hoc"):
        assert cells[f"P2 {title}", "Simulatable"]["n"] == 6, "divided items count too"
    said = next(section for section in content["sections"] if section["id"] == "data")["prose"]
    assert any("the study asks for 3 for 6 items, 1 for each other item." in text for text in said)

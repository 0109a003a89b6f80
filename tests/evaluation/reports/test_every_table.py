"""Every table and figure of the papers, by its number, with numbers worked out on paper, in every form a report has."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from annotator.models import FollowUp, Instance, Membership, Study
from evaluation.metrics import BertScores, property_model
from evaluation.models import Report
from evaluation.reports import helping
from evaluation.reports.exports import export
from evaluation.reports.terms import TERMS
from evaluation.reports.words import number
from evaluation.services.report import report_compute, report_create
from tests.evaluation.reports import tex
from tests.evaluation.reports.paper_studies import (
    P3_QUESTIONS,
    P3_ROWS,
    p1_study,
    p2_study,
    p3_generalization_study,
    p3_properties_study,
    p3_utility_study,
    system_is,
    typed,
)
from tests.evaluation.reports.studies import cells_of, computed, judged, table_of
from tests.factories import make_item, make_study, make_user

pytestmark = pytest.mark.django_db

#: table's id, its paper and number, the row's head (without the dataset), the column, the value by hand
Expected = list[tuple[str, str, str, str, float]]


def in_every_form(expected: Expected, *studies: Study) -> Report:
    """Compute and store a report; find each value in its page, CSV, JSON, LaTeX and HTML."""
    report = report_create(
        study=studies[0], others=studies[1:], choices={"min_overlap": 1, "replicates": 0}, send=False
    )
    report_compute(report_pk=report.pk)
    report.refresh_from_db()
    assert report.state == "done", report.error
    content = report.content or {}
    files = {f.name: (f.media_type, bytes(f.body)) for f in report.files.all()}
    texts = {name: export(content, files, name) for name in ("csv", "json", "latex", "html")}
    assert texts["latex"].isascii()
    if tex.INSTALLED:
        assert tex.tex_problems(texts["latex"]) == []
    user = make_user(staff=True)
    for study in studies:
        Membership.objects.create(study=study, user=user, role="viewer")
    client = Client()
    client.force_login(user)
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    lines = list(csv.DictReader(io.StringIO(texts["csv"])))
    told = json.loads(texts["json"])
    for table, paper, row, column, value in expected:
        where = (table, row, column)
        blocks = [b for s in told["sections"] for b in s["blocks"] if b["id"] == table]
        assert len(blocks) == 1, where
        assert paper in blocks[0]["number"], where
        cells = {
            key: cell for key, cell in cells_of(told, table).items() if f" {key[1]}".endswith(f" {column}")
        }
        found = [cell for (head, _), cell in cells.items() if head == row or head.endswith(f" {row}")]
        assert found, (where, list(cells))
        assert found[0]["value"] == pytest.approx(value), where
        assert found[0]["inputs"] == report.inputs_hash
        assert found[0]["software"] == report.software
        of_table = [line for line in lines if line["table"] == table]
        assert paper in of_table[0]["number"]
        assert any(
            line["value"] and float(line["value"]) == pytest.approx(value)
            for line in of_table
            if line["column"] == column or f"{line['column_group']} {line['column']}".endswith(column)
        ), where
        shown = number(found[0]["value"], found[0]["shape"])
        for text in (page, texts["html"]):
            part = text.partition(f'id="{table}-table"')[2].partition("</table>")[0]
            assert f"<b>{blocks[0]['number']}.</b>" in part, where
            assert f">{shown}<" in re.sub(r"\s+<", "<", part), (where, shown)
        latex = (
            texts["latex"].partition(f"\\caption{{{blocks[0]['number']}.")[2].partition(r"\end{tabular}")[0]
        )
        assert shown.replace("−", "$-$") in latex, (where, shown, latex)
    return report


def test_p1_tables_1_to_6():
    report = in_every_form(
        [
            # one minus Jaccard of each explanation's two follow-ups: 2/3, 1, 2/3, 1/3
            ("p1-table-1", "P1 Table 1", "g1", "Jaccard", 2 / 3),
            ("p1-table-1", "P1 Table 1", "g1", "Simulatable", 1.0),
            # normal: x 2 of 2, y 1 of 2; forced: x 1 of 2, y 0 of 2; both instances are answered correctly
            ("p1-table-2", "P1 Table 2", "normal", "Normal", 0.75),
            ("p1-table-2", "P1 Table 2", "normal", "Forced", 0.25),
            ("p1-table-2", "P1 Table 2", "normal", "Δ", 0.5),
            # people agree throughout; gpt with each: Po 10/12, Pe (6*8 + 6*4)/144 = 1/2, kappa 2/3
            ("p1-table-3", "P1 Table 3", "All labels", "H–H", 1.0),
            ("p1-table-3", "P1 Table 3", "All labels", "H–gpt", 2 / 3),
            ("p1-table-4", "P1 Table 4", "People", "m Post-hoc", 0.75),
            ("p1-table-4", "P1 Table 4", "People", "m Chain of thought", 0.25),
            # gpt: normal x 1 of 2, y 2 of 2; the other as people. Forced explanations are in Table 2 alone.
            ("p1-table-4", "P1 Table 4", "gpt", "m Post-hoc", 0.75),
            # x: generality is 2/3 in both systems, left out; y: (1, 1/3) against precision (1/2, 0)
            ("p1-table-5", "P1 Table 5", "Pearson", "Jaccard", 1.0),
            ("p1-table-6", "P1 Table 6", "normal", "Task accuracy", 1.0),
            ("p1-table-6", "P1 Table 6", "normal", "Simulation precision", 0.75),
            ("p1-table-6", "P1 Table 6", "Mean over systems", "Simulation precision", 0.5),
        ],
        p1_study(),
    )
    for table in ("p1-table-4", "p1-table-5", "p1-table-6", "systems-compared"):
        assert not any(
            "forced" in f"{head} {column}" for head, column in cells_of(report.content or {}, table)
        )
    assert (
        cells_of(report.content or {}, "p1-table-5")[
            next(
                k
                for k in cells_of(report.content or {}, "p1-table-5")
                if "Pearson" in k[0] and k[1] == "Jaccard"
            )
        ]["n"]
        == 1
    )


def test_p2_tables_1_to_6():
    # 14 units. ann 10 yes, bob 9, gpt 11. ann-bob: Po 13/14, Pe (90 + 20)/196; ann-gpt: Po 13/14, Pe (110 + 12)/196;
    # bob-gpt: Po 12/14, Pe (99 + 15)/196
    ann_bob, ann_gpt, bob_gpt = 72 / 86, 60 / 74, 54 / 82
    in_every_form(
        [
            # simulatable: c1 and c3 of four; their precision 1/2 and 1; their texts share no word
            ("p2-table-1", "P2 Table 1", "Chain of thought", "Precision", 0.75),
            ("p2-table-1", "P2 Table 1", "Chain of thought", "Simulatable", 0.5),
            ("p2-table-1", "P2 Table 1", "Chain of thought", "Generality", 1.0),
            ("p2-table-2", "P2 Table 2", "ann", "bob", ann_bob),
            ("p2-table-2", "P2 Table 2", "ann", "gpt", ann_gpt),
            ("p2-table-2", "P2 Table 2", "bob", "gpt", bob_gpt),
            ("p2-table-2", "P2 Table 2", "bob", "n", 14),
            ("p2-table-3", "P2 Table 3", "m", "Chain of thought # Expl", 1),
            ("p2-table-3", "P2 Table 3", "m", "Chain of thought # Samples", 2),
            ("p2-table-3", "P2 Table 3", "m", "Chain of thought Precision", 0.75),
            # two explanations; the second lacks a unit and has a wrong one
            ("p2-table-4", "P2 Table 4", "Accuracy", "n = 2", 0.5),
            ("p2-table-4", "P2 Table 4", "Missing and incorrect extraction", "n = 2", 1),
            ("p2-table-5", "P2 Table 5", "1.00", "Follow-ups", 2),
            ("p2-table-5", "P2 Table 5", ".40-.59", "Follow-ups", 1),
            ("p2-table-5", "P2 Table 5", "0-.19", "Follow-ups", 1),
            ("p2-table-5", "P2 Table 5", "Total", "Follow-ups", 4),
            ("p2-table-6", "P2 Table 6", "Generality", "3", 1.0),
            ("p2-table-6", "P2 Table 6", "Simulatable follow-ups", "3", 2),
            ("p2-table-6", "P2 Table 6", "All follow-ups", "3", 4),
        ],
        p2_study(),
    )


def test_p2_table_3_by_the_simulator_and_means_of_table_2():
    content = computed(p2_study()).content
    cells = cells_of(content, "p2-table-3")
    row = next(row for row, _ in cells if row.startswith("Annotated by gpt"))
    assert (
        cells[row, "Chain of thought Precision"]["value"] == 1.0
    )  # c1 and c3 hold all that the explanation promises
    means = cells_of(content, "p2-table-2-means")
    with_gpt = next(cell for (row, c), cell in means.items() if "gpt" in row and c.endswith("Unweighted"))
    assert with_gpt["value"] == pytest.approx((60 / 74 + 54 / 82) / 2)


def test_p3_tables_3_4_6_and_18():
    # classes: x/s useful, y/s unsure, x/t not useful, y/t unsure: H = 1.5 bits; right: n y y y:
    # H(utility | right) = 3/4 * H(1/3, 2/3) = .688722 bits. GEN-U: 1, 0, -1, 0: tells all.
    right = (1.5 - 0.75 * 0.9182958340544896) / 1.5
    report = in_every_form(
        [
            ("p3-table-3", "P3 Table 3", "Useful", "All %", 0.25),
            ("p3-table-3", "P3 Table 3", "Unsure", "All Count", 2),
            ("p3-table-3", "P3 Table 3", "Not useful", "t %", 0.5),
            ("p3-table-2", "P3 Table 2", "Test accuracy", "s", 0.5),
            ("p3-table-2", "P3 Table 2", "Test accuracy", "t", 1.0),
            ("p3-table-4", "P3 Table 4", "Task accuracy", "Overall", right),
            ("p3-table-6", "P3 Table 6", "Correlation", "GEN-U (m)", 1.0),
            ("p3-table-6", "P3 Table 6", "Correlation", "Task accuracy", right),
            # after, system s: 5 yes and 1 no in two units of three: Do = De = 1/3
            ("p3-table-18", "P3 Table 18", "After the rationale", "s", 0.0),
        ],
        p3_utility_study(),
    )
    # every annotator alone: n>y n>y y>y, y>y y>y y>n, three y>n, three y>y: useful 2, not useful 4, unsure 6 of 12
    own = cells_of(report.content or {}, "p3-table-3-annotators")
    shares = {row.split(" ", 1)[1]: cell["value"] for (row, column), cell in own.items() if column == "All"}
    assert shares == pytest.approx({"Useful": 2 / 12, "Not useful": 4 / 12, "Unsure": 6 / 12})
    means = cells_of(report.content or {}, "p3-gen-u-1")
    assert means["s", "Mean GEN-U"]["value"] == 0.5
    assert means["t", "Mean GEN-U"]["value"] == -0.5
    bert = cells_of(report.content or {}, "p3-table-4")
    reasons = {cell["reason"] for (row, _), cell in bert.items() if row.endswith("BERTScore")}
    assert reasons == {"no instance has a gold rationale to compare the rationale with"}


def test_bertscore_needs_its_extra_and_equals_the_value_by_hand(monkeypatch):
    study = p3_utility_study()
    Instance.objects.filter(items__study=study).update(gold_rationale="Because it is so.")

    def absent(*_: Any, **__: Any) -> BertScores:
        raise ImportError

    monkeypatch.setattr(helping, "bertscore", absent)
    cells = cells_of(computed(study).content, "p3-table-4")
    cell = next(
        cell for (row, column), cell in cells.items() if row.endswith("BERTScore") and "Overall" in column
    )
    assert cell["value"] is None
    assert cell["reason"] == "not computed: install the optional extra, pip install 'foretell[bertscore]'"

    import numpy as np

    def scored(texts: list[str], gold: list[str]) -> BertScores:
        assert set(gold) == {"Because it is so."}
        values = np.array([1.0, 0.5, 0.0, 0.5])  # useful 1, unsure .5 and .5, not useful 0: eta = 1
        return BertScores(values, values, values, "fake")

    monkeypatch.setattr(helping, "bertscore", scored)
    cells = cells_of(computed(study).content, "p3-table-4")
    cell = next(
        cell for (row, column), cell in cells.items() if row.endswith("BERTScore") and "Overall" in column
    )
    assert cell["value"] == pytest.approx(1.0)
    assert cell["n"] == 4


def test_p3_table_20_and_figure_4():
    report = in_every_form(
        [
            ("p3-table-20", "P3 Table 20", "Rephrase s", "Useful", 0.5),
            ("p3-table-20", "P3 Table 20", "Counterfactual s", "Unsure", 1.0),
            ("p3-table-20", "P3 Table 20", "Similar reasoning s", "Not useful", 0.0),
        ],
        p3_generalization_study(),
    )
    rows = table_of(report.content or {}, "p3-table-20")["rows"]
    assert [row["head"][0] for row in rows] == ["Rephrase", "Counterfactual", "Similar reasoning"], (
        "the paper's"
    )
    cells = cells_of(report.content or {}, "p3-table-20-details")
    assert cells["Rephrase s useful", "Difference"]["value"] == 0.5
    assert cells["Similar reasoning s not useful", "Difference"]["value"] == -1.0
    figure = next(
        b for s in (report.content or {})["sections"] for b in s["blocks"] if b["id"] == "p3-figure-4"
    )
    assert [p["value"] for p in figure["data"]["points"]] == [0.5, 1.0, -1.0]
    assert {f.name for f in report.files.all()} >= {
        f"p3-figure-4.{end}" for end in ("light.svg", "dark.svg", "png")
    }


def test_p3_table_20_has_gold_rationales_first_and_the_models_together_last():
    study = make_study()
    fields = ("before", "after", "follow_up_before", "follow_up_after")
    for system in ("zeta", "alpha", "people"):
        for instance, kind, *given in P3_QUESTIONS:
            item = make_item(study, key=f"{system}{instance}{kind}{given}", instance=instance, system=system)
            FollowUp.objects.filter(pk=item.follow_up_id).update(kind=kind, gold_label="yes")
            judged(item, "a", dict(zip(fields, given, strict=True)))
    for name in ("zeta", "alpha"):
        system_is(name, name, "cot")
    system_is("people", "", "gold")
    content = computed(typed(study, "generalization_utility")).content
    heads = [tuple(row["head"]) for row in table_of(content, "p3-table-20")["rows"]]
    systems = ("people", "alpha", "zeta", "Combined (models)")
    kinds = ("Rephrase", "Counterfactual", "Similar reasoning")
    assert heads == [(kind, system) for kind in kinds for system in systems]


def test_p3_table_13_and_figure_7():
    # association of s: x y y n, y y n n: Do = 2/3, De = 3*3*2/30 = 3/5: alpha = -1/9; contrast of s: all yes
    report = in_every_form(
        [
            ("p3-table-13", "P3 Table 13", "s", "Association", -1 / 9),
            ("p3-table-13", "P3 Table 13", "All", "Leakage", 1.0),
            # the mean of association -1/9, novelty (not defined: all yes) and leakage 1, contrast not defined
            ("p3-table-13", "P3 Table 13", "s", "Average", (-1 / 9 + 1) / 2),
        ],
        p3_properties_study(),
    )
    seen = cells_of(report.content or {}, "p3-figure-7")
    assert seen["Association", "s"]["value"] == pytest.approx(0.5)
    assert seen["Leakage", "t"]["value"] == pytest.approx(0.5)
    assert any(f.name == "p3-figure-7-prevalence.light.svg" for f in report.files.all())


def test_p3_tables_14_and_15_across_two_studies():
    """The model's rows are every person's answers; the properties are those of the rationale, by majority."""
    held = {  # association, contrast, novelty, leakage by majority of P3_PROPERTIES
        ("x", "s"): (True, True, True, False), ("y", "s"): (False, True, True, True),
        ("x", "t"): (False, False, False, True), ("y", "t"): (True, False, False, False),
    }  # fmt: skip
    answers = sorted(
        (instance, system, before == "yes", after == "yes")
        for instance, system, _, given, _ in P3_ROWS
        for before, after in given
    )
    order = ("leakage", "novelty", "association", "contrast")
    place = {"association": 0, "contrast": 1, "novelty": 2, "leakage": 3}
    of_model = (
        [row[3] for row in answers],
        {name: [held[row[0], row[1]][place[name]] for row in answers] for name in order},
        {
            "question": [row[0] for row in answers],
            "system": [row[1] for row in answers],
            "human prior": [str(row[2]) for row in answers],
        },
    )
    by_hand = property_model(*of_model)
    assert not by_hand.reason
    (first, second), top = next(iter(by_hand.pairs.items()))
    report = in_every_form(
        [
            ("p3-table-14", "P3 Table 14", "Leakage", "Present", by_hand.present["leakage"].value),
            ("p3-table-14", "P3 Table 14", "Contrast", "Absent", by_hand.absent["contrast"].value),
            (
                "p3-table-15",
                "P3 Table 15",
                "(Intercept)",
                "Increase over the base Log odds",
                by_hand.intercept.value,
            ),
            (
                "p3-table-15",
                "P3 Table 15",
                f"+ {first} + {second}",
                "Increase over the base Log odds",
                top.value,
            ),
            (
                "p3-table-15",
                "P3 Table 15",
                f"+ {first} + {second}",
                "Interaction term Coefficient",
                by_hand.interactions[first, second].value,
            ),
        ],
        p3_utility_study(title="Utility", gen_u=False),
        p3_properties_study(title="Properties"),
    )
    cells = cells_of(report.content or {}, "p3-table-15")
    assert cells["(Intercept)", "Increase over the base SD"]["value"] == pytest.approx(
        (by_hand.intercept.high - by_hand.intercept.value) / 1.959963984540054
    )
    section = next(s for s in (report.content or {})["sections"] if s["id"] == "p3-table-14")
    assert any("grammaticality" in note for note in section["notes"])  # nobody judged it
    assert cells["(Intercept)", "Increase over the base Log odds"]["n"] == 12
    by_laplace = property_model(*of_model, method="laplace")
    assert not by_laplace.reason
    content = report.content or {}
    cells = cells_of(content, "p3-table-14-laplace")
    for name in order:
        for column, side in (("Present", by_laplace.present), ("Absent", by_laplace.absent)):
            found = cells[name.capitalize(), column]
            assert found["value"] == pytest.approx(side[name].value, abs=1e-8)
            assert found["n"] == 12
    cells = cells_of(content, "p3-table-15-laplace")
    pairs = list(by_hand.pairs)[:10]  # in the order of Table 15, though the values are Laplace's
    expected = {"(Intercept)": by_laplace.intercept} | {
        f"+ {a} + {b}": by_laplace.pairs[a, b] for a, b in pairs
    }
    assert list(dict.fromkeys(head for head, _ in cells)) == list(expected)
    for head, value in expected.items():
        assert cells[head, "Log odds"]["value"] == pytest.approx(value.value, abs=1e-8)
        sd = (value.high - value.value) / 1.959963984540054
        assert cells[head, "SD"]["value"] == pytest.approx(sd, abs=1e-8)
    random = cells_of(content, "p3-table-14-random")
    for name, sd in by_laplace.random_sd.items():
        assert random[name, "By Laplace’s approximation"]["value"] == pytest.approx(sd, abs=1e-8)


def test_the_documentation_maps_every_number():
    text = (Path(settings.BASE_DIR) / "docs" / "reports.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (P\d (?:Table|Figure|Section) [\d.]+) \|.*?`([a-z0-9-]+)`", text, re.M))
    wanted = [f"P1 Table {n}" for n in range(1, 7)] + [f"P2 Table {n}" for n in range(1, 7)]
    wanted += [f"P3 Table {n}" for n in (3, 4, 6, 13, 14, 15, 17, 18, 20)]
    wanted += ["P3 Figure 4", "P3 Figure 7", "P1 Section 5.2.2"]
    assert [name for name in wanted if name not in rows] == []
    source = "".join(
        path.read_text("utf-8") for path in (Path(settings.BASE_DIR) / "evaluation" / "reports").rglob("*.py")
    )
    for name, block in rows.items():
        assert f'id="{block}"' in source, (name, block)


def test_the_documentation_explains_every_statistic():
    text = (Path(settings.BASE_DIR) / "docs" / "reports.md").read_text(encoding="utf-8")
    assert [term for term, said in TERMS.items() if f"| {term} | {said} |" not in text] == []

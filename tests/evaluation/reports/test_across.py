"""Reports across studies, worked out by hand: what is joined, what needs several studies, and who may see them."""

import io
import json
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.models import Explanation, Instance, Item, Membership, Rater, Study, System
from evaluation.models import Report
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from evaluation.services import report as service
from tests.evaluation.reports.paper_studies import p3_properties_study, p3_utility_study
from tests.evaluation.reports.studies import cells_of, of_type, small_study, stored, table_of
from tests.evaluation.reports.test_tables import judged
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sent(monkeypatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(service, "_send", found.append)
    return found


def across(*studies: Study, **choices: Any) -> dict[str, Any]:
    parsed = Choices.parse({"min_overlap": 1, "replicates": 0} | choices)
    return compute_across(studies=studies, choices=parsed, figures=False).content


def same_inputs(*studies: Study) -> None:
    """The factory writes the item's key into the question; here an instance of one name is one question."""
    for instance in Instance.objects.filter(items__study__in=studies).distinct():
        Instance.objects.filter(pk=instance.pk).update(input=f"Question {instance.key}?")


def simulated(precision: dict[tuple[str, str], tuple[int, int]], **fields: Any) -> Study:
    """(instance, system) -> (right, follow-ups): one person foretells yes; the system says yes where it is right."""
    study = make_study(**fields)
    ann = make_rater("ann")
    for (instance, system), (right, total) in precision.items():
        for number in range(total):
            real = "yes" if number < right else "no"
            key = f"{instance}{system}{number}"
            make_judgment(
                make_item(study, key=key, instance=instance, system=system, real_output=real), ann, "yes"
            )
    return study


def judged_plausible(scores: dict[tuple[str, str], str]) -> Study:
    """(instance, system) -> one person's answer; an item shows all systems' explanations of an instance."""
    study = make_study()
    for instance in sorted({name for name, _ in scores}):
        item = make_item(study, key=instance, instance=instance)
        parts, shown, response = {}, [], {}
        for number, (name, system) in enumerate(sorted(k for k in scores if k[0] == instance), start=1):
            maker, _ = System.objects.get_or_create(name=system)
            explanation, _ = Explanation.objects.get_or_create(
                instance=item.instance, system=maker, digest=system, defaults={"text": "Because."}
            )
            parts[str(number)] = explanation.pk
            shown.append({"key": str(number), "text": "Because."})
            response[f"justifies_{number}"] = scores[name, system]
        judged(study, item, "ann", response)
        Item.objects.filter(pk=item.pk).update(payload=item.payload | {"explanations": shown}, parts=parts)
    return of_type(study, "plausibility")


def test_plausibility_against_precision_by_hand():
    # x: precision 1, 1/2, 0 and plausibility 1, 1/2, 0: Pearson and Spearman 1
    # y: precision 0, 1/2, 1 and plausibility 1, 1, 0: ranks 1 2 3 against 2.5 2.5 1; Pearson of (0, .5, 1) with
    # (1, 1, 0): cov = -1/6 ... = -(1/2)/sqrt(1/2 * 2/3) = -0.8660
    precision = simulated(
        {
            ("x", "a"): (2, 2), ("x", "b"): (1, 2), ("x", "c"): (0, 2),
            ("y", "a"): (0, 2), ("y", "b"): (1, 2), ("y", "c"): (2, 2),
            ("z", "a"): (2, 2),
        },
        title="Simulated",
    )  # fmt: skip
    plausible = judged_plausible(
        {
            ("x", "a"): "yes", ("x", "b"): "moderate", ("x", "c"): "no",
            ("y", "a"): "yes", ("y", "b"): "yes", ("y", "c"): "no",
        }
    )  # fmt: skip
    same_inputs(precision, plausible)
    content = across(precision, plausible)
    cells = cells_of(content, "p1-precision-plausibility")
    assert cells["Pearson", "Value"]["value"] == pytest.approx((1 - np.sqrt(3) / 2) / 2)
    assert cells["Spearman", "Value"]["value"] == pytest.approx((1 - np.sqrt(3) / 2) / 2)
    assert cells["Pearson", "Instances"]["value"] == 2
    assert cells["Pearson", "Between annotators"]["value"] is None  # there is one annotator of plausibility
    assert cells["Pearson", "Between annotators"]["reason"]
    means = cells_of(content, "p1-precision-plausibility-systems")
    assert means["a", "Plausibility"]["value"] == 1.0
    assert means["a", "Precision"]["value"] == 0.5  # z has no plausibility
    assert means["a", "Explanations"]["value"] == 2


def test_questions_that_only_share_a_name_are_not_matched():
    precision = simulated({("x", "a"): (2, 2), ("x", "b"): (1, 2)})
    plausible = judged_plausible({("x", "a"): "yes", ("x", "b"): "no"})
    cells = cells_of(across(precision, plausible), "p1-precision-plausibility")
    assert cells["Pearson", "Value"]["value"] is None
    assert cells["Pearson", "Value"]["reason"]


def test_tables_of_one_id_get_a_row_a_dataset():
    one, two = small_study(title="One"), small_study(title="Two")
    content = across(one, two)
    cells = cells_of(content, "p1-table-4")
    # the same judgments in both: each dataset's row has the values of a report on the study alone
    assert cells[f"{one.slug} People", "robot-b"]["value"] == 1.0
    assert cells[f"{two.slug} People", "robot-b"]["value"] == 1.0
    agreement = cells_of(content, "agreement-simulation")
    for title in ("One", "Two"):
        found = agreement[f"{title} Cohen’s κ, people with each other", "All labels Value"]
        assert found["value"] == pytest.approx(17 / 23)
    assert [fact[0] for fact in content["facts"]].count("Study") == 2
    ids = [block["id"] for section in content["sections"] for block in section["blocks"]]
    assert len(ids) == len(set(ids))


def test_systems_of_several_studies_on_one_dataset_are_compared_on_common_instances():
    one = simulated({("x", "a"): (2, 2), ("y", "a"): (0, 2)}, title="One")
    two = simulated({("x", "b"): (1, 2), ("z", "b"): (2, 2), ("x", "a"): (0, 1)}, title="Two")
    same_inputs(one, two)
    content = across(one, two, replicates=100)
    cells = cells_of(content, "p1-systems-across-0")
    # x alone is common to a (One), a (Two) and b
    assert cells["a (One)", "Macro precision Common instances"]["value"] == 1.0
    assert cells["a (One)", "Macro precision All instances"]["value"] == 0.5
    assert cells["a (Two)", "Macro precision Common instances"]["value"] == 0.0
    assert cells["b", "Macro precision Common instances"]["value"] == 0.5
    assert cells["b", "Macro precision All instances"]["value"] == 0.75
    pairs = cells_of(content, "p1-systems-across-1")
    assert pairs["a (One) b", "Difference"]["value"] == 0.5
    assert pairs["a (One) b", "Instances"]["value"] == 1


def test_two_tasks_stand_beside_each_other_as_in_p2():
    def atomic(answers: dict[str, str], title: str) -> Study:
        study = make_study(title=title)
        item = make_item(study, key="k", instance="x")
        payload = item.payload | {"domain": "news", "units": [], "input": "I.", "output": "O."}
        judged(study, item, "ann", answers | {"parsed_1": "yes", "complete": "yes"})
        Item.objects.filter(pk=item.pk).update(payload=payload)
        return of_type(study, "atomic_units")

    news = atomic({"input_1": "yes", "output_1": "yes"}, "News")
    medical = atomic({"input_1": "no", "output_1": "yes"}, "Medical")
    content = across(news, medical)
    cells = cells_of(content, "p2-table-5")
    assert cells["1.00", f"{news.slug} Follow-ups"]["value"] == 1
    assert cells["1.00", f"{medical.slug} Follow-ups"]["value"] == 0
    assert cells["0-.19", f"{medical.slug} Follow-ups"]["value"] == 1
    columns = [column["group"] for column in table_of(content, "p2-table-2")["columns"]]
    assert columns == [news.slug, news.slug, medical.slug, medical.slug]


def test_properties_of_several_studies_are_one_table():
    """Association of s is -1/9 and its leakage 1 (see the test of P3 Table 13); the average is over both studies."""
    one, two = p3_properties_study(only="association"), p3_properties_study(only="novelty")
    content = across(one, two)
    columns = [column["label"] for column in table_of(content, "p3-table-13")["columns"]]
    assert sorted(columns) == ["Association", "Average", "Contrast", "Leakage", "Novelty"]
    cells = cells_of(content, "p3-table-13")
    assert cells["s", "Association"]["value"] == pytest.approx(-1 / 9)
    assert cells["s", "Average"]["value"] == pytest.approx((-1 / 9 + 1) / 2)
    assert [section["id"] for section in content["sections"]].count("p3-table-13") == 1


def test_one_study_is_its_own_report_and_order_does_not_matter():
    one, two = small_study(), small_study()
    choices = Choices.parse({"min_overlap": 1, "replicates": 0})
    alone = compute_across(studies=[one], choices=choices, figures=False)
    assert alone.content["title"] == f"Report on {one.title}"
    first = compute_across(studies=[one, two], choices=choices, figures=False)
    second = compute_across(studies=[two, one], choices=choices, figures=False)
    assert first == second
    assert first.inputs_hash != alone.inputs_hash


def client_of(*studies: Study, role: str = "reviewer") -> Client:
    user = make_user(staff=True)
    for study in studies:
        Membership.objects.create(study=study, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


def test_a_report_across_studies_is_asked_for_and_seen_only_with_all_of_them():
    one, two, hidden = small_study(), small_study(), small_study()
    client = client_of(one, two)
    address = reverse("evaluation:reports", args=[one.pk])
    assert f'value="{two.pk}"' in client.get(address).content.decode()
    assert f'id="join-{hidden.pk}"' not in client.get(address).content.decode()
    assert client.post(address, {"others": [hidden.pk]}).status_code == 404
    assert not Report.objects.exists()
    client.post(address, {"others": [two.pk], "replicates": "0", "min_overlap": "1"})
    report = Report.objects.get()
    assert report.studies == [one, two]
    service.report_compute(report_pk=report.pk)
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert "Report across 2 studies" in page
    for study in (one, two):  # it is listed under both
        assert (
            f"Report {report.pk}"
            in client.get(reverse("evaluation:reports", args=[study.pk])).content.decode()
        )
    half = client_of(one)
    assert half.get(reverse("evaluation:report", args=[report.pk])).status_code == 404
    assert half.get(reverse("evaluation:report_export", args=[report.pk, "json"])).status_code == 404
    assert f"Report {report.pk}" not in half.get(address).content.decode()
    assert (
        f"Report {report.pk}" not in half.get(reverse("admin:evaluation_report_changelist")).content.decode()
    )


def test_studies_are_chosen_in_the_admin(sent, django_capture_on_commit_callbacks):
    one, two, hidden = small_study(), small_study(), small_study()
    client = client_of(one, two)
    address = reverse("admin:evaluation_report_add")
    page = client.get(address).content.decode()
    assert one.title in page
    assert hidden.title not in page
    form = {
        "rule": "majority", "exclusions": "on", "labels": "all", "restriction": "common",
        "min_overlap": "1", "replicates": "0", "seed": "1", "encoder": "tfidf",
    }  # fmt: skip
    assert client.post(address, form | {"studies": [hidden.pk]}).status_code == 200
    assert client.post(address, form | {"studies": [one.pk], "rule": "best"}).status_code == 200
    assert not Report.objects.exists()
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(address, form | {"studies": [one.pk, two.pk]})
    report = Report.objects.get()
    assert answer["Location"] == reverse("evaluation:report", args=[report.pk])
    assert sent == [report.pk]
    service.report_compute(report_pk=report.pk)
    report.refresh_from_db()
    page = client.get(reverse("admin:evaluation_report_changelist")).content.decode()
    assert report.inputs_hash[:12] in page
    assert f"{one.title}, {two.title}" in page


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_the_command_takes_several_studies_and_can_keep_the_report():
    one, two = small_study(), small_study()
    options = ["--bootstrap", "0", "--min-overlap", "1"]
    content = json.loads(run("report", one.slug, two.slug, *options, "--format", "json"))
    assert content["title"] == "Report across 2 studies"
    assert "data" not in {
        s["id"]
        for s in json.loads(run("metrics", one.slug, two.slug, *options, "--format", "json"))["sections"]
    }
    assert not Report.objects.exists()
    said = run("report", two.slug, one.slug, *options, "--store")
    report = Report.objects.get()
    assert said == f"report {report.pk}: /reports/{report.pk}/\n"
    assert (report.state, report.studies) == ("done", [two, one])
    again = json.loads(run("report", one.slug, two.slug, *options, "--format", "json"))
    assert content == again
    assert report.content is not None
    assert cells_of(report.content, "p1-table-4").keys() == cells_of(content, "p1-table-4").keys()
    with pytest.raises(CommandError, match="no study has the slug 'nowhere'"):
        run("report", one.slug, "nowhere")


def test_stored_reports_of_one_study_are_not_across():
    report = stored(small_study())
    assert len(report.studies) == 1


def _parts(of: str, *studies: Study) -> str:
    """Put every other item (or rater) of each study into part a, the others into part b; returns the attribute's name."""
    for study in studies:
        rows = study.items.order_by("pk") if of == "items" else Rater.objects.filter(judgments__study=study)
        for number, row in enumerate(rows.order_by("pk").distinct()):
            row.attributes = row.attributes | {"part": "ab"[number % 2]}
            row.save(update_fields=["attributes"])
    return "part" if of == "items" else "rater:part"


def _plausibility_and_precision() -> list[Study]:
    keys = [(instance, system) for instance in "wxyz" for system in "abc"]
    right = {key: (number % 3, 2) for number, key in enumerate(keys)}
    scores = {key: ("yes", "moderate", "no")[number % 4 % 3] for number, key in enumerate(keys)}
    return [simulated(right, title="Simulated"), judged_plausible(scores)]


def _one_dataset() -> list[Study]:
    keys = [(instance, system) for instance in "wxyz" for system in "ab"]
    first = {key: (1 + number % 2, 3) for number, key in enumerate(keys)}
    second = {(instance, system): (2, 2) for instance, system in keys if system == "a"}
    return [simulated(first, title="One"), simulated(second, title="Two")]


def _judged_again(study: Study, rater: Rater) -> None:
    """The rater judges all items of the first rater, in the same way."""
    if study.judgments.filter(rater=rater).exists():
        return
    first = study.judgments.order_by("pk").values_list("rater", flat=True)[0]
    for judgment in list(study.judgments.filter(rater=first)):
        judgment.pk, judgment.rater = None, rater
        judgment._state.adding = True
        judgment.save()


JOINED = {
    "p1-precision-plausibility": _plausibility_and_precision,
    "p1-systems-across": _one_dataset,
    "p3-table-13": lambda: [p3_properties_study(only="association"), p3_properties_study(only="novelty")],
    "p3-table-14": lambda: [p3_utility_study(), p3_properties_study()],
}


@pytest.mark.parametrize("section", JOINED)
@pytest.mark.parametrize("of", ["items", "raters"])
def test_sections_across_studies_have_columns_for_each_group(section: str, of: str):
    """Each group's columns have the values of a report across the same studies on that group alone."""
    studies = JOINED[section]()
    same_inputs(*studies)
    if of == "raters":  # a second rater who agrees with the first, so that there are two groups
        for study in studies:
            _judged_again(study, make_rater("bob"))
    by = _parts(of, *studies)
    cut = across(*studies, by=by)
    whole = across(*studies)
    compared = 0
    for group in "ab":
        alone = across(*studies, only=f"{by}={group}")
        tables = [
            b for s in alone["sections"] if s["id"] == section for b in s["blocks"] if b["kind"] == "table"
        ]
        for table in tables:
            cells = cells_of(cut, table["id"])
            for key, cell in cells_of(whole, table["id"]).items():
                assert cells[key].get("value") == cell.get("value"), (table["id"], key)
            for (head, column), cell in cells_of(alone, table["id"]).items():
                found = cells.get((head, f"part {group} {column}")) or cells.get(
                    (head, f"part {group} \u00b7 {column}")
                )
                if found is None:  # a system of two studies is named after its study in every group
                    continue
                assert [found.get(k) for k in ("value", "text")] == [cell.get(k) for k in ("value", "text")]
                compared += 1
    assert compared >= 4


def test_groups_of_several_studies_are_cut_at_the_same_numbers():
    studies = [small_study(title=title) for title in ("One", "Two", "Three")]
    number = 0
    for study in studies:
        for item in study.items.order_by("pk"):
            item.attributes = {"length": str(number)}
            item.save(update_fields=["attributes"])
            number += 1
    content = across(*studies, by="length")
    named = {column["group"] for column in table_of(content, "groups-simulation")["columns"]}
    heads = [row["head"][0] for row in table_of(content, "groups-simulation")["rows"]]
    assert named == {""}
    assert len(set(heads)) <= 4
    assert all(head.startswith(("0 to", "above")) for head in heads), heads


def test_a_study_without_the_attribute_is_named():
    one, two = small_study(title="One"), small_study(title="Two")
    _parts("items", one)
    with pytest.raises(ValueError, match=f"{two.slug}: no item or rater of the study has a value of 'part'"):
        across(one, two, by="part")


def test_studies_of_one_dataset_that_share_no_question_keep_the_others_together():
    """Two studies of different questions of one dataset, each with another study of its questions."""
    first = [simulated({("x", "a"): (2, 2)}, title="A"), simulated({("x", "b"): (1, 2)}, title="B")]
    second = [simulated({("y", "c"): (2, 2)}, title="C"), simulated({("y", "d"): (0, 2)}, title="D")]
    mixed = [first[0], second[0], first[1], second[1]]
    same_inputs(*mixed)
    dataset = first[0].items.first().instance.dataset
    Instance.objects.filter(items__study=second[0]).update(dataset=dataset)
    content = across(*mixed)
    systems = {
        row["head"][0]
        for section in content["sections"]
        if section["id"] == "p1-systems-across"
        for block in section["blocks"]
        for row in block["rows"]
        if len(row["head"]) == 1
    }
    assert systems == {"a", "b", "c", "d"}

"""A release contains everything that a report is computed from, and nothing that tells who somebody is."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from annotator.models import FollowUp, Item, Judgment, Message, Participation, Rater, Study
from annotator.services.exclusion import exclusion_make
from annotator.services.message import message_send
from evaluation.models import Report
from evaluation.releases.build import ReleaseError
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.services.report import report_compute
from tests.evaluation.releases.releases import PRIVATE, built, everything, listed_again, rebuilt, rows_of
from tests.evaluation.reports import paper_studies
from tests.evaluation.reports.studies import paid_study, small_study, stored
from tests.factories import (
    make_item,
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db


def properties() -> Study:
    return paper_studies.p3_properties_study()


@pytest.mark.parametrize(
    "make",
    [
        lambda: small_study(simulator=True),
        paid_study,
        paper_studies.p1_study,
        paper_studies.p2_study,
        paper_studies.p3_utility_study,
        paper_studies.p3_generalization_study,
        properties,
    ],
    ids=["small", "paid", "p1", "p2", "p3 utility", "p3 generalization", "p3 properties"],
)
def test_every_value_is_the_reports_own_and_is_reproduced(make: Callable[[], Study]) -> None:
    report = stored(make(), replicates=100)
    found, file = built(report)
    assert found.comparison.differing == 0, "\n".join(found.comparison.sentences)
    assert found.comparison.values > 20
    again = release_reproduce(release_open(file))
    assert again.exact
    assert again.values == found.comparison.values


def test_a_report_across_studies_is_reproduced() -> None:
    report = stored(paper_studies.p3_utility_study(), replicates=100)
    report.others.add(properties())
    Report.objects.filter(pk=report.pk).update(state="queued", content=None, finished_at=None)
    report_compute(report_pk=report.pk)
    report.refresh_from_db()
    found, file = built(report)
    assert found.comparison.differing == 0, "\n".join(found.comparison.sentences)
    assert release_reproduce(release_open(file)).exact
    assert len(rows_of(file, "study")) == 2


def with_lines(
    file: io.BytesIO, table: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> io.BytesIO:
    """The release with the rows of a table changed, and everything else made to fit."""

    def changed(files: dict[str, bytes]) -> None:
        name = f"tables/{table}.jsonl"
        lines = [json.dumps(change(json.loads(line))) for line in files[name].splitlines()]
        files[name] = "".join(f"{line}\n" for line in lines).encode()
        listed_again(files, name)

    return rebuilt(file, changed, manifest=True, private=PRIVATE)


def test_a_changed_answer_is_found() -> None:
    """The comparison can fail: one answer is changed, and the manifest with it."""
    _, file = built(stored(small_study()))

    def other(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"response": {"helpful": "yes", "answer": "no"}} if row["id"] == 1 else row

    again = release_reproduce(release_open(with_lines(file, "judgment", other)))
    assert not again.exact
    assert again.differing > 3
    assert f"{again.differing:,} of" in again.sentences[0]
    assert len(again.sentences) == again.differing + 1, "each of them is named"
    assert again.sentences[1].startswith("P1 Table 4, "), "the headline comes first"


def test_the_card_states_every_filter_of_a_table() -> None:
    study = small_study()
    for number in range(3):
        item = make_item(study, key=f"base{number}", instance="x", system="robot-a")
        FollowUp.objects.filter(pk=item.follow_up_id).update(kind="baseline")
        make_judgment(item, make_rater("ann"), "yes")
    report = stored(study, only="")
    _, file = built(report)
    card = zipfile.ZipFile(file).read("README.md").decode()
    filters = card.partition("## What the tables count")[2].partition("## Files")[0]
    assert "Left out: 3 follow-ups written without the explanation (baseline)." in filters
    notes = [
        note
        for section in (report.content or {})["sections"]
        for block in section["blocks"]
        if block["kind"] == "table"
        for note in block["notes"]
    ]
    assert notes
    assert all(note in filters for note in notes)
    assert "Minimum shared units per pair: 1" in filters


def test_an_archive_older_than_a_setting_is_reproduced_with_its_default() -> None:
    _, file = built(stored(small_study()))
    older = with_lines(file, "study", lambda row: {n: v for n, v in row.items() if n != "undo_seconds"})
    found = release_reproduce(release_open(older))
    assert found.exact
    assert found.problems == []


def private_study() -> Study:
    """A participant with everything by which people are known, planted where researchers and participants can put it."""
    study = make_study(items=3, launched=True, completion_code="C0DE-SECRET", contact="pi.name@lab.example")
    Study.objects.filter(pk=study.pk).update(
        screened_out_code="C0DE-FAILED", nothing_left_code="C0DE-NOTHING", panel_study_ids="panel-study-7"
    )
    user = make_user("wanda_1970", email="wanda@home.example", first_name="Wanda", last_name="Kowalski")
    participation = make_participation(study, user)
    Participation.objects.filter(pk=participation.pk).update(
        recruiter="prolific",
        recruiter_id="5f1c2b3a4d5e6f7a8b9c0d1e",
        recruiter_session="subm-x91k",
        join_parameters={"PROLIFIC_PID": "5f1c2b3a4d5e6f7a8b9c0d1e", "age": "34"},
    )
    Rater.objects.filter(pk=participation.rater_id).update(attributes={"native": "pl"})
    for item in study.items.all():
        words = "Ask me at wanda@home.example or +48 22 123 45 67, from 10.20.30.40. Wanda Kowalski (A2SUAM1J3GNN3B), subm-x91k"
        Judgment.objects.create(
            study=study, item=item, rater=participation.rater, source="web", snapshot=study.snapshot, seconds=12.5,
            place=item.places.get(number=1),
            response={"helpful": "yes", "answer": "yes", "comment": words}, digest="d",
            signals={"keys": 771_177, "left": 3},
        )  # fmt: skip
    message_send(participation=participation, kind="question", text="my private message")
    exclusion_make(study=study, by=None, reason="wanda_1970 asked for it", rater=participation.rater)
    return study


PLANTED = [
    "wanda", "Wanda", "Kowalski", "home.example", "5f1c2b3a4d5e6f7a8b9c0d1e", "123 45 67", "10.20.30.40", "A2SUAM1J3GNN3B",
    "private message", "subm-x91k", "C0DE-", "panel-study-7", "lab.example", "771177",
]  # fmt: skip


def test_nothing_that_tells_who_somebody_is_is_released() -> None:
    study = private_study()
    found, file = built(stored(study, exclusions=False))
    text = everything(file)
    assert [word for word in PLANTED if word in text] == []
    assert study.join_token not in text
    assert "34" not in {str(row["join_parameters"]) for row in rows_of(file, "participation")}
    assert str(Message.objects.get().created_at.date()) not in text, "no date of anybody's work"
    assert found.removed["email address"] == 3
    assert found.removed["network address"] == 3
    assert "[name removed] asked for it" in text
    assert all(row["signals"] == {} for row in rows_of(file, "judgment"))


def test_two_releases_cannot_be_joined() -> None:
    report = stored(small_study(simulator=True))
    first, second = built(report)[1], built(report, key="another key")[1]

    def people(file: io.BytesIO) -> set[str]:
        return {row["name"] for row in rows_of(file, "rater") if row["kind"] == "human"}

    assert len(people(first)) == 2
    assert people(first).isdisjoint(people(second))
    assert not {"ann", "bob"} & (people(first) | people(second))


def test_the_number_of_a_rater_does_not_follow_the_order_of_joining() -> None:
    study = make_study(items=1, launched=True, redundancy=30)
    for number in range(30):
        make_participation(study, make_user(f"person {number:02}"))
    item = study.items.get()
    for participation, place in zip(study.participations.all(), item.places.all(), strict=True):
        Judgment.objects.create(
            study=study, item=item, rater=participation.rater, source="web", digest="d", place=place,
            snapshot=study.snapshot,
            response={"helpful": "no"} if participation.pk % 2 else {"helpful": "yes", "answer": "no"},
        )  # fmt: skip
    _, file = built(stored(study))
    answers = [row["response"] for row in rows_of(file, "judgment")]
    given = list(study.judgments.order_by("pk").values_list("response", flat=True))
    assert sorted(map(str, answers)) == sorted(map(str, given))
    assert answers != given
    names = [row["name"] for row in rows_of(file, "rater")]
    assert names == sorted(names)


def test_attributes_are_released_only_on_request() -> None:
    study = private_study()
    report = stored(study, exclusions=False)
    file = built(report, attributes=frozenset({"age"}))[1]
    assert [row["join_parameters"] for row in rows_of(file, "participation")] == [{"age": "34"}]
    found, file = built(report, attributes=frozenset({"native"}))
    assert [row["attributes"] for row in rows_of(file, "rater")] == [{"native": "pl"}]
    assert found.alone == 1, "one person alone has these attributes"
    assert "Attributes of raters that are released: native." in everything(file)


def test_the_attributes_that_a_report_needs_are_released() -> None:
    report = stored(private_study(), exclusions=False, by="rater:native", only="rater:age=34")
    found, file = built(report)
    assert found.comparison.differing == 0, "\n".join(found.comparison.sentences)
    assert release_reproduce(release_open(file)).exact


def test_a_participants_name_in_the_material_stops_the_release() -> None:
    study = private_study()
    item = study.items.first()
    assert item is not None
    Item.objects.filter(pk=item.pk).update(payload=item.payload | {"question": "Is wanda_1970 right?"})
    with pytest.raises(ReleaseError, match=rf"released table item \(key {item.key}\)"):
        built(stored(study, exclusions=False))


def test_embeddings_of_a_model_server_cannot_be_released() -> None:
    report = stored(small_study())
    assert report.content is not None
    report.content["choices"]["encoder"] = "endpoint:ours"
    with pytest.raises(ReleaseError, match="Compute a report with another encoder"):
        built(report)


def test_a_report_by_one_raters_labels() -> None:
    found, file = built(stored(small_study(), rule="single:ann"))
    assert found.comparison.differing == 0, "\n".join(found.comparison.sentences)
    assert "single:ann" not in everything(file)
    assert release_reproduce(release_open(file)).exact


def test_the_table_of_ratings_has_every_rating() -> None:
    study = small_study()
    exclusion_make(study=study, by=None, reason="=1+1", rater=make_rater("bob"))
    _, file = built(stored(study))
    rows = list(csv.DictReader(io.StringIO(zipfile.ZipFile(file).read("ratings.csv").decode())))
    assert len(rows) == study.judgments.count() == 12
    assert {row["excluded"] for row in rows} == {"", "'=1+1"}
    assert {row["value"] for row in rows} == {"yes", "no", "cannot_guess"}


def test_the_same_release_is_the_same_file() -> None:
    report = stored(small_study(), replicates=100)
    assert built(report)[1].getvalue() == built(report)[1].getvalue()

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core import jobs
from annotator.core.csv_cells import cell_neutral
from annotator.models import Export, Judgment, Study, User
from annotator.selectors.judgment import UnknownFilter, judgments_filter
from annotator.services.exclusion import exclusion_lift, exclusion_make
from annotator.services.exports import (
    export_build,
    export_request,
    exports_sweep,
    judgments_export,
)
from annotator.services.study import study_launch, study_update
from annotator.tasks import export_build_task
from tests.factories import make_item, make_judgment, make_rater, make_study, record_judgment

pytestmark = pytest.mark.django_db


@pytest.fixture
def full(researcher: User, simulation: str) -> Study:
    """Two people and a simulator on two items: six judgments."""
    study = make_study(by=researcher, hit_type=simulation)
    for key in ("one", "two"):
        item = make_item(study, key=key, condition="long" if key == "two" else "")
        for name, kind in (("ann", "human"), ("=bob", "human"), ("gpt", "simulator")):
            make_judgment(item, make_rater(name, kind=kind), "yes" if name == "ann" else "cannot_guess")
    return study


def table(study: Study, **options: Any) -> list[dict[str, str]]:
    text = b"".join(judgments_export(study=study, **options)).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def lines(study: Study, **options: Any) -> list[dict[str, Any]]:
    text = b"".join(judgments_export(study=study, format="jsonl", **options)).decode()
    return [json.loads(line) for line in text.splitlines()]


def test_the_judgments_form_has_one_row_per_judgment(full: Study) -> None:
    rows = table(full)
    assert len(rows) == 6
    first = rows[0]
    assert (first["item"], first["rater"], first["rater_kind"], first["standing"]) == (
        "one",
        "ann",
        "human",
        "counted",
    )
    assert (first["response.helpful"], first["response.answer"]) == ("yes", "yes")
    assert (rows[1]["response.helpful"], rows[1]["response.answer"]) == ("no", "")
    assert lines(full)[0]["response"] == {"answer": "yes", "helpful": "yes"}
    assert [row["judgment"] for row in lines(full)] == [int(row["judgment"]) for row in rows]


@pytest.mark.parametrize("form", ["judgments", "ratings"])
def test_every_form_says_under_which_version_a_judgment_was_made(
    researcher: User, full: Study, form: str
) -> None:
    assert {row["version"] for row in table(full, form=form)} == {""}, "drafts have no version"
    study_launch(study=full)
    full.refresh_from_db()
    study_update(study=full, by=researcher, title="Owls by night")
    full.refresh_from_db()
    make_judgment(full.items.order_by("id")[0], make_rater("cam"), "yes")
    made_under = {row["rater"]: row["version"] for row in table(full, form=form)}
    assert made_under["cam"] == "2"


def test_the_ratings_form_has_one_row_per_rating(full: Study) -> None:
    rows = table(full, form="ratings")
    assert [(r["rater"], r["unit"], r["variable"], r["value"]) for r in rows[:2]] == [
        ("ann", "one", "simulation", "yes"),
        ("'=bob", "one", "simulation", "cannot_guess"),
    ]
    assert lines(full, form="ratings")[1]["rater"] == "=bob"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_neutralised_in_csv_and_exact_in_json(full: Study, start: str) -> None:
    study = make_study(hit_type="toy")
    item = make_item(study, key="k", payload={"question": "Q"})
    text = f"{start}HYPERLINK(1)"
    record_judgment(item, make_rater("r"), {"guess": "yes", "why": f"x{text}"})
    Judgment.objects.filter(item=item).update(response={"guess": "yes", "why": text})
    assert table(study)[0]["response.why"] == f"'{text}"
    assert lines(study)[0]["response"]["why"] == text
    assert cell_neutral(text) == f"'{text}"


def test_exclusions_are_exported_with_their_reason_until_lifted(full: Study, researcher: User) -> None:
    rater = full.judgments.get(item__key="one", rater__name="ann").rater
    exclusion = exclusion_make(study=full, by=researcher, rater=rater, reason="Clicked through.")
    assert [row["excluded"] for row in table(full)] == [
        "Clicked through.",
        "",
        "",
        "Clicked through.",
        "",
        "",
    ]
    assert len(table(full, filters={"excluded": "no"})) == 4
    exclusion_lift(exclusion=exclusion)
    assert not any(row["excluded"] for row in table(full))


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({}, 6),
        ({"rater": "ann"}, 2),
        ({"rater_kind": "simulator"}, 2),
        ({"item": "one", "rater_kind": "human"}, 2),
        ({"condition": "long"}, 3),
        ({"source": "web"}, 0),
        ({"standing": "counted"}, 6),
        ({"rehearsal": "yes"}, 0),
        ({"excluded": "no"}, 6),
        ({"system": "robot-a", "role": "ordinary"}, 6),
    ],
)
def test_filters(full: Study, filters: dict[str, str], count: int) -> None:
    assert len(lines(full, filters=filters)) == count


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user__password__startswith", "x"),
        ("rater__user__password", "x"),
        ("_connector", "OR"),
        ("pk__in", "1"),
        ("study", "1"),
        ("rater_kind", "human' OR 1=1"),
        ("excluded", "perhaps"),
        ("rater", "\x00"),
    ],
)
def test_unknown_filters_are_refused(full: Study, name: str, value: str) -> None:
    with pytest.raises(UnknownFilter) as refused:
        judgments_filter(study=full, filters={name: value})
    assert list(refused.value.errors) == [name]
    with pytest.raises(UnknownFilter):
        judgments_export(study=full, filters={name: value})


def test_exports_contain_no_other_study(full: Study) -> None:
    other = make_study()
    make_judgment(make_item(other, key="one"), make_rater("ann"))
    assert len(table(other)) == 1


def test_the_export_of_an_empty_study_is_only_a_header(db: None) -> None:
    study = make_study()
    assert table(study) == []
    assert b"".join(judgments_export(study=study)).startswith(b"judgment,item,")
    assert b"".join(judgments_export(study=study, format="jsonl")) == b""


@pytest.mark.parametrize("options", [{"format": "xlsx"}, {"form": "all"}])
def test_unknown_forms_and_formats_are_refused(full: Study, options: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        judgments_export(study=full, **options)


def test_the_number_of_queries_is_independent_of_the_rows(full: Study) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            table(full)
        return len(queries)

    before = count()
    for number in range(20):
        make_judgment(make_item(full, key=f"more-{number}"), make_rater("ann"))
    assert count() == before


# -- by a job ------------------------------------------------------------------------------------------


def test_a_job_builds_the_same_file_as_the_stream(
    full: Study,
    researcher: User,
    stored_files: Path,
    queued: list[Any],
    django_capture_on_commit_callbacks: Any,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        export = export_request(study=full, by=researcher, filters={"rater": "ann"})
    assert queued == [("annotator.export_build", {"export_pk": export.pk})]
    assert export_build_task(export_pk=export.pk)
    export.refresh_from_db()
    assert (export.state, export.rows) == ("done", 2)
    with default_storage.open(export.file) as file:
        content = file.read()
    assert export.bytes == len(content)
    assert gzip.decompress(content) == b"".join(judgments_export(study=full, filters={"rater": "ann"}))


def test_building_an_export_twice_has_no_further_effect(
    full: Study, researcher: User, stored_files: Path
) -> None:
    export = export_request(study=full, by=researcher)
    assert export_build(export_pk=export.pk)
    before = Export.objects.values().get()
    assert not export_build(export_pk=export.pk)
    assert Export.objects.values().get() == before
    assert not export_build(export_pk=10**9)


def test_a_killed_build_is_repeated(
    full: Study, researcher: User, stored_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = export_request(study=full, by=researcher)

    def killed(*args: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(FileSystemStorage, "save", killed)
        with pytest.raises(SystemExit):
            export_build(export_pk=export.pk)
    export.refresh_from_db()
    assert export.state == "queued"
    assert export_build(export_pk=export.pk)


def test_only_one_worker_builds_and_no_transaction_is_open_meanwhile(
    full: Study, researcher: User, stored_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = export_request(study=full, by=researcher)
    seen: list[tuple[bool, int]] = []
    save = FileSystemStorage.save
    depth = len(connection.savepoint_ids)  # a test runs in a transaction of its own

    def watched(self: Any, *args: Any, **rest: Any) -> Any:
        other: list[bool] = []
        thread = Thread(
            target=lambda: (other.append(jobs.lock_take("export", export.pk)), connection.close())
        )
        thread.start()
        thread.join()
        seen.append((other[0], len(connection.savepoint_ids)))
        return save(self, *args, **rest)

    monkeypatch.setattr(FileSystemStorage, "save", watched)
    assert export_build(export_pk=export.pk)
    assert seen == [(False, depth)]


def test_a_failed_build_reports_its_error(
    full: Study,
    researcher: User,
    stored_files: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    export = export_request(study=full, by=researcher)

    def full_disk(*args: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(FileSystemStorage, "save", full_disk)
    assert export_build(export_pk=export.pk)
    export.refresh_from_db()
    assert (export.state, export.error) == ("failed", "OSError: No space left on device")
    [logged] = [one for one in caplog.records if one.exc_info]
    assert logged.getMessage() == f"export {export.pk} failed"


def test_the_sweeper_queues_lost_exports_and_deletes_expired_files(
    full: Study, researcher: User, stored_files: Path, queued: list[Any]
) -> None:
    old = export_request(study=full, by=researcher)
    export_build(export_pk=old.pk)
    forgotten = export_request(study=full, by=researcher)
    export_request(study=full, by=researcher)
    Export.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=15))
    Export.objects.filter(pk=forgotten.pk).update(created_at=timezone.now() - timedelta(minutes=2))
    assert exports_sweep() == 1
    assert queued == [("annotator.export_build", {"export_pk": forgotten.pk})]
    assert not Export.objects.filter(pk=old.pk).exists()
    assert list((stored_files / "exports").iterdir()) == []


def test_an_export_with_an_unknown_filter_is_not_stored(full: Study, researcher: User) -> None:
    with pytest.raises(UnknownFilter):
        export_request(study=full, by=researcher, filters={"x": "y"})
    assert not Export.objects.exists()


# -- the command ---------------------------------------------------------------------------------------


def test_the_export_command_writes_the_file_and_reports_errors(
    full: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("export_judgments", full.slug, "--format", "jsonl", "--filter", "rater=ann")
    assert len(capsys.readouterr().out.splitlines()) == 2
    call_command("export_judgments", full.slug, "--output", str(tmp_path / "o.csv"))
    assert (tmp_path / "o.csv").read_bytes() == b"".join(judgments_export(study=full))
    with pytest.raises(CommandError, match="no such filter"):
        call_command("export_judgments", full.slug, "--filter", "user__password=x")
    with pytest.raises(CommandError, match="no study 'nothing'"):
        call_command("export_judgments", "nothing")
    with pytest.raises(CommandError, match="No such file"):
        call_command("export_judgments", full.slug, "--output", str(tmp_path / "no" / "o.csv"))


def test_an_export_can_be_imported_again(full: Study, tmp_path: Path) -> None:
    call_command("export_judgments", full.slug, "--format", "jsonl", "--output", str(tmp_path / "o.jsonl"))
    responses = list(full.judgments.order_by("id").values_list("response", flat=True))
    full.judgments.all().delete()
    call_command(
        "import_judgments", full.slug, str(tmp_path / "o.jsonl"), "--item", "item", "--rater", "rater",
        "--value", "response", "--simulators", "gpt",
    )  # fmt: skip
    assert list(full.judgments.order_by("id").values_list("response", flat=True)) == responses
    assert full.judgments.filter(rater__kind="simulator").count() == 2

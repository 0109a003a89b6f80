"""Runs as logs of Inspect, logs as material, and what people said in the form of its ``precomputed_scores()``.

Inspect's own package reads and scores them in the last two tests, where it is installed. It's no development dependency, because it
needs an older fsspec than the lock file of the product has. In an environment of its own that also sees this one's packages:

    python -m venv /tmp/inspect && /tmp/inspect/bin/pip install inspect_ai
    echo "$PWD/.venv/lib/python3.11/site-packages" > /tmp/inspect/lib/python3.11/site-packages/ours.pth
    /tmp/inspect/bin/python -m pytest -n 0 tests/evaluation/services/test_inspect_logs.py

All passed with inspect_ai 0.3.285.
"""

from __future__ import annotations

import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotator.models import AuditAction, AuditEntry, Item, Study
from evaluation.models import Run
from evaluation.services.human_scores import human_scores
from evaluation.services.inspect_logs import run_log
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_judgment, make_rater, make_study, make_user

pytestmark = SCRIPTED_MARKS
LOG = Path(__file__).parents[2] / "annotator/core/tables/owls.eval"
needs_inspect = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai is not installed")


def judged_run(scripted: ScriptedProcess, **fields: Any) -> Run:
    """Four items that two or three people have judged, and a simulator's run on them."""
    study = make_material(4, slug="owls")
    for name, answers in (("ada", "yyny"), ("ben", "yyyn"), ("cem", "nyy")):
        for n, answer in enumerate(answers):
            item = study.items.get(key=f"item-{n}")
            make_judgment(item, make_rater(name), "yes" if answer == "y" else "no")
    run = make_run(make_endpoint(scripted), study, **fields)
    work(run)
    return run


def members(run: Run) -> dict[str, Any]:
    with run_log(run=run) as file, zipfile.ZipFile(file) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_a_run_is_a_log_with_a_sample_for_each_item_and_epoch(scripted: ScriptedProcess) -> None:
    run = judged_run(scripted, samples=2)
    found = members(run)
    samples = [content for name, content in found.items() if name.startswith("samples/")]
    assert {(one["id"], one["epoch"]) for one in samples} == {
        (f"item-{n}", e) for n in range(4) for e in (1, 2)
    }
    first = found["samples/item-1_epoch_1.json"]
    calls = run.calls.filter(key="item-1", sample=0).order_by("stage")
    replies = [one["content"] for one in first["messages"] if one.get("source") == "generate"]
    assert replies == [call.text for call in calls]
    assert first["target"] == "yes", "what all three said"
    agrees = first["metadata"]["labels"] == {"simulation": "yes"}
    assert first["scores"]["people"]["value"] == ("C" if agrees else "I")
    assert "3 people" in first["scores"]["people"]["explanation"]
    tied = found["samples/item-3_epoch_1.json"]
    assert tied["target"] == ""
    header = found["header.json"]
    assert (header["status"], header["eval"]["model"], header["eval"]["task"]) == (
        "success",
        "scripted",
        "owls",
    )
    usage = header["stats"]["model_usage"]["scripted"]
    assert usage["input_tokens"] == sum(call.tokens_in or 0 for call in run.calls.all())
    assert scripted.base_url not in json.dumps(found)


def test_a_failed_call_is_a_sample_with_an_error(scripted: ScriptedProcess) -> None:
    run = judged_run(scripted, model="scripted?faults=1&kinds=nonsense", max_unparsable=1, max_failed_share=1)
    found = members(run)
    sample = found["samples/item-0_epoch_1.json"]
    assert sample["error"]["message"]
    assert sample["scores"] == {}
    assert found["header.json"]["results"]["completed_samples"] == 0
    assert found["header.json"]["results"]["total_samples"] == 4


def test_what_most_people_said_is_a_score_for_each_item(scripted: ScriptedProcess) -> None:
    study = judged_run(scripted).study
    assert study is not None
    scores = {one["id"]: one for one in map(json.loads, human_scores(study=study))}
    assert (scores["item-0"]["value"], scores["item-2"]["value"]) == ("yes", "yes")
    assert scores["item-0"]["metadata"] == {"people": 3, "counts": {"simulation": {"yes": 2, "no": 1}}}
    assert "item-3" not in scores, "a tie has no label"
    assert all("epoch" not in one for one in scores.values())


def test_logs_and_scores_are_downloaded_by_command_page_and_api(
    scripted: ScriptedProcess, tmp_path: Path, client: Client
) -> None:
    run = judged_run(scripted)
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    call_command(
        "run_calls",
        "export",
        str(run.pk),
        "--format",
        "eval",
        "--output",
        tmp_path / "r.eval",
        stdout=StringIO(),
    )
    call_command("human_scores", "owls", "--output", tmp_path / "s.jsonl", stdout=StringIO())
    for address in (f"/admin/evaluation/run/{run.pk}/run.eval", f"/api/v1/runs/{run.pk}/calls/?as=eval"):
        got = b"".join(client.get(address).streaming_content)  # type: ignore[attr-defined]
        with zipfile.ZipFile(BytesIO(got)) as one, zipfile.ZipFile(tmp_path / "r.eval") as other:
            assert one.read("header.json") == other.read("header.json")
    for address in (f"/admin/evaluation/run/{run.pk}/scores.jsonl", "/api/v1/studies/owls/human-scores/"):
        got = b"".join(client.get(address).streaming_content)  # type: ignore[attr-defined]
        assert got == (tmp_path / "s.jsonl").read_bytes()
    lines = b"".join(client.get(f"/api/v1/runs/{run.pk}/calls/").streaming_content)  # type: ignore[attr-defined]
    assert lines.count(b"\n") == run.calls.count()
    assert client.get(f"/api/v1/runs/{run.pk}/calls/?as=xml").status_code == 400
    assert AuditEntry.objects.filter(action=AuditAction.EXPORTED, target="people's scores").count() == 3
    with pytest.raises(CommandError, match="There is no study 'none'"):
        call_command("human_scores", "none", "--output", "x")


def imported(tmp_path: Path) -> Study:
    """A study of simulation whose items were made from a recorded log, and judged by two people."""
    make_study(slug="from-log")
    call_command(
        "import_material", "from-log", str(LOG), "--map", "question=input", "explanation=completion",
        "answer=target", "follow_up=input", "--set", "system=mock", "--attribute", "sample_id", "epoch", stdout=StringIO(),
    )  # fmt: skip
    study = Study.objects.get(slug="from-log")
    for name in ("ada", "ben"):
        for item in study.items.all():
            make_judgment(item, make_rater(name), "no" if item.attributes["epoch"] == "1" else "yes")
    return study


def test_a_log_becomes_material_and_its_scores_name_its_samples(tmp_path: Path) -> None:
    study = imported(tmp_path)
    assert study.items.count() == 6
    item = Item.objects.get(study=study, key="q1 (epoch 2)")
    assert item.attributes == {"sample_id": "q1", "epoch": "2"}
    assert item.payload["explanation"].startswith("Owls have feathers")
    scores = {(one["id"], one["epoch"]): one["value"] for one in map(json.loads, human_scores(study=study))}
    assert (scores["q1", 1], scores["q1", 2]) == ("no", "yes")


@needs_inspect
def test_inspect_reads_the_log_of_a_run(scripted: ScriptedProcess, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    file = tmp_path / "run.eval"
    run = judged_run(scripted, samples=2)
    with run_log(run=run) as log:
        file.write_bytes(log.read())

    def read() -> Any:
        return read_eval_log(str(file)), read_eval_log_sample_summaries(str(file))

    with ThreadPoolExecutor(1) as pool:
        log, summaries = pool.submit(read).result()
    assert (log.status, log.eval.model, len(log.samples)) == ("success", "scripted", 8)
    assert len(summaries) == 8
    assert all(sample.output.completion for sample in log.samples)
    assert log.results.scores[0].metrics["accuracy"].value <= 1


@needs_inspect
def test_inspect_scores_a_log_with_what_people_said(tmp_path: Path) -> None:
    from inspect_ai import score
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import accuracy, precomputed_scores

    study = imported(tmp_path)
    file = tmp_path / "scores.jsonl"
    file.write_text("".join(human_scores(study=study)), encoding="utf-8")

    def scored() -> Any:
        people = precomputed_scores(str(file), on_missing="error", metrics=[accuracy()])
        return score(read_eval_log(str(LOG)), people, action="append")

    with ThreadPoolExecutor(1) as pool:
        log = pool.submit(scored).result()
    values = {(one.id, one.epoch): one.scores["precomputed_scores"].value for one in log.samples}
    assert (values["q1", 1], values["q1", 2]) == ("no", "yes")
    assert log.results.scores[-1].metrics["accuracy"].value == 0.5

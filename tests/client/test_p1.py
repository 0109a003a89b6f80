"""The client carries out the study of Chen et al. 2024 on a running installation, from its questions to its report."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from foretell_client import BadRequest, NotFound, Progress

from foretell import env
from tests.client.lab import Lab

#: Two questions and few follow-ups: as good a test as the paper's hundreds of calls, and quicker.
QUESTIONS = [
    '{"qid": "a", "question": "Would a raft of balsa carry a grand piano?", "answer": true}',
    '{"qid": "b", "question": "Can a glacier bury a lighthouse?", "answer": false}',
]
FEW = {
    "counterfactuals-first": {"n": 2},
    "counterfactuals-baseline": {"n": 1},
    "*": {"allow_own_model": True},  # one model plays all parts
}


@pytest.mark.fault
def test_p1_from_its_questions_to_its_report(
    lab: Lab, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG, "httpx2")
    seen: list[Progress] = []
    with lab.client() as client:
        with pytest.raises(NotFound) as absent:
            client.studies.get("absent")
        assert (absent.value.status, absent.value.title) == (404, "Not Found")

        monkeypatch.setattr("foretell_client.material.AT_ONCE", 1000)  # as if the file were large
        draft = client.studies.create(template="simulation", slug="pieces", title="In pieces")
        stored = draft.items.upload(env.ROOT / "annotator/demo/simulation.jsonl", progress=seen.append)
        assert stored["items"] == 336
        assert seen.pop(0).state == "sending"
        seen.clear()

        sent = ("questions.jsonl", "\n".join(QUESTIONS).encode())
        with pytest.raises(BadRequest) as refused:
            client.operations.pipelines.datasets_create(file=("q.jsonl", b'{"qid": "a"}\n'), task="yes_no")
        assert refused.value.faults[0].line == 1
        dataset = client.operations.pipelines.datasets_create(file=sent, task="yes_no")
        assert dataset["instances"] == 2
        assert "scripted" in [one["name"] for one in client.operations.pipelines.endpoints()]

        pipeline = client.pipelines.create(
            recipe="p1-yes-no", dataset=dataset["id"], endpoint="scripted", overrides=FEW
        )
        pipeline.wait(progress=seen.append, seconds=500)
        assert seen[-1].state == "done"
        assert len(seen) > 1

        study = client.studies[pipeline.results["study"]["study"]]
        items = list(study.items)
        assert len(items) == pipeline.results["study"]["items"] > 4
        simulated = study.judgments.rows(rater_kind="simulator")
        assert len(simulated) == len(items)
        assert {row["item"] for row in simulated} == {item["key"] for item in items}
        assert set(study.judgments.frame()["response.answer"]) <= {"yes", "no", "cannot_guess", None}

        rehearsal = study.rehearse(raters=6).wait(seconds=500)
        assert rehearsal.progress.done == rehearsal.progress.total
        report = study.reports.create(count="rehearsal").wait(progress=seen.append, seconds=500)
        cells = [cell for cell in report.cells() if cell["table"] == "p1-table-4"]
        assert any(cell["value"] is not None and cell["n"] for cell in cells)
        saved = report.save(tmp_path / "p1.html")
        assert "simulatab" in saved.read_text().lower()
        assert pipeline.report().state == "done"
        assert lab.token not in repr([client, client.operations, study, report]) + caplog.text
        assert "GET" in caplog.text, "requests are logged, without the token"

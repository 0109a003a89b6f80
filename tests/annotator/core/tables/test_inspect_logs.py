"""Logs of Inspect as rows. ``owls.eval`` and ``birds.eval`` were recorded with inspect_ai 0.3.285 and its mock model:
three questions with two epochs each, and two multiple-choice questions.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from annotator.core.tables import inspect_log
from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.tables.plain_file import Limits
from annotator.core.tables.rows import table_open

HERE = Path(__file__).parent
SAMPLE = {"id": "a", "epoch": 1, "input": "Can owls swim?", "target": "no"}


def rows(content: bytes, **limits: int) -> list[dict[str, Any]]:
    log = FaultLog("x.eval")
    most = Limits(**{"size": 100_000_000, "rows": 1000} | limits)
    found = [row for _, row in table_open(io.BytesIO(content), name="x.eval", log=log, limits=most).rows]
    log.check()
    return found


def packed(*samples: dict[str, Any], method: int = zipfile.ZIP_DEFLATED, **members: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for n, sample in enumerate(samples):
            archive.writestr(f"samples/{sample.get('id', n)}_epoch_1.json", json.dumps(sample))
        for name, content in members.items():
            archive.writestr(f"{name}.json", json.dumps(content))
    return file.getvalue()


def test_a_recorded_log_has_a_row_for_each_sample_and_epoch() -> None:
    found = rows((HERE / "owls.eval").read_bytes())
    assert [row["key"] for row in found] == [f"q{n} (epoch {epoch})" for epoch in (1, 2) for n in range(3)]
    assert found[4] == {
        "key": "q1 (epoch 2)",
        "instance": "q1",
        "sample_id": "q1",
        "epoch": 2,
        "task": "owls",
        "model": "mockllm/model",
        "input": "Can owls swim in lake 1?",
        "target": "yes",
        "completion": "Owls have feathers that soak up water. ANSWER: no",
        "scored_answer": "owls have feathers that soak up water. answer: no",
        "score": "I",
        "score.includes": "I",
        "metadata.topic": "birds",
        "metadata.depth": 1,
    }


def test_a_recorded_log_of_multiple_choice_has_its_options() -> None:
    found = rows((HERE / "birds.eval").read_bytes())
    assert [row["key"] for row in found] == ["1", "2"]
    assert found[0]["choices"] == ["owl", "penguin"]
    assert (found[0]["target"], found[0]["scored_answer"], found[0]["score"]) == ("B", "B", "C")


def test_chats_reasoning_attachments_and_lists_are_read() -> None:
    message = {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "reasoning": "Owls are heavy."},
            {"type": "text", "text": "attachment://0f"},
        ],
    }
    sample = SAMPLE | {
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Can owls swim?"}]},
        ],
        "target": ["no", "No"],
        "output": {"model": "m", "choices": [{"message": message}]},
        "attachments": {"0f": "They can't."},
        "scores": {"rubric": {"value": {"clear": 3}}},
        "metadata": {"nested": {"a": 1}, "hard": True},
    }
    (row,) = rows(packed(sample, header={"eval": {"task": "t", "model": "other"}}))
    assert row["input"] == "Can owls swim?"
    assert (row["completion"], row["reasoning"], row["model"]) == ("They can't.", "Owls are heavy.", "m")
    assert (row["target"], row["score"], row["metadata.hard"]) == ("no | No", '{"clear": 3}', True)
    assert "metadata.nested" not in row


def test_the_last_of_several_files_of_a_sample_counts() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = packed(SAMPLE, SAMPLE | {"target": "yes"})
    assert [row["target"] for row in rows(content)] == ["yes"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_other_compressions_are_read(method: int) -> None:
    assert rows(packed(SAMPLE, method=method))[0]["target"] == "no"


def test_what_is_not_a_log_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(content: bytes, **limits: int) -> str:
        with pytest.raises(FileRefused) as caught:
            rows(content, **limits)
        return str(caught.value)

    assert "is not a log of Inspect" in said(b'{"a": 1}\n')
    assert "--no-log-samples" in said(packed(header={"eval": {}}))
    assert "1 to 1 samples, got 2" in said(packed(SAMPLE, SAMPLE | {"id": "b"}), rows=1)
    whole = packed(SAMPLE)
    assert "is not a readable log" in said(whole[:-30])
    recorded = (HERE / "owls.eval").read_bytes()
    place = recorded.index(b"samples/q0_epoch_1.json") + 400
    assert "is not a readable log" in said(recorded[:place] + b"\0\0\0\0" + recorded[place + 4 :])
    bomb = packed(SAMPLE | {"input": "a" * 3_000_000})
    assert "unpacks to more than 1 MB" in said(bomb, size=1_000_000)
    monkeypatch.setattr(inspect_log, "MOST_SAMPLE_BYTES", 1_000_000)
    assert "for one sample" in said(bomb)
    assert "is not a readable log" in said(_list_as_sample())


def _list_as_sample() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("samples/a_epoch_1.json", "[1]")
    return file.getvalue()


def test_a_member_that_unpacks_to_more_than_it_says_is_damaged() -> None:
    content = bytearray(packed(SAMPLE | {"input": "a" * 100_000}))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.infolist()[0].file_size
    at = content.rindex(b"PK\x01\x02") + 24  # the size in the archive's list of members
    content[at : at + 4] = (size // 2).to_bytes(4, "little")
    with pytest.raises(FileRefused, match="damaged"):
        rows(bytes(content))

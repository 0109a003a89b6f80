"""The rule on partial matches of atomic units is a setting of the study: its texts and questions follow it."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.hit_types.registry import hit_type_get

ROW: dict[str, Any] = {
    "domain": "medical", "explanation": "She sneezes. Rest helps.", "details": ["runny nose and sneezing"],
    "suggestions": ["rest"], "input": "My nose is dripping.", "output": "Rest.",
}  # fmt: skip


@pytest.mark.parametrize(("given", "rule"), [({}, "part"), ({"matching": "whole"}, "whole")])
def test_leads_instructions_exam_and_prompt_follow_the_rule(given: dict[str, str], rule: str) -> None:
    kind = hit_type_get("atomic_units")
    payload = kind.parse_item(ROW | given).payload
    assert payload["matching"] == rule
    study = kind.for_items([payload])
    assert ("Part of a point is enough" in study.instructions) == (rule == "part")
    assert ("A point counts as a whole" in study.instructions) == (rule == "whole")
    assert {question.payload["matching"] for question in study.exam} == {rule}
    keys = {question.key for question in study.exam}
    assert ("medical-stairs-part" in keys) == (rule == "part")
    assert ("medical-stairs-whole" in keys) == (rule == "whole")
    lead = study.stages(payload)[1].lead
    assert ("partial match is not enough" in lead) == (rule == "whole")
    assert ("partial match is not enough" in kind.prompt(payload, 1)[0].content) == (rule == "whole")


def test_the_papers_rule_is_the_default_of_each_domain() -> None:
    kind = hit_type_get("atomic_units")
    news = {"domain": "news", "explanation": "A quote.", "units": ["quote"], "input": "I.", "output": "O."}
    assert kind.parse_item(news).payload["matching"] == "whole"
    assert kind.parse_item(ROW).payload["matching"] == "part"

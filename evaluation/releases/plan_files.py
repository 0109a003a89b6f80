"""The sealed plan as files of a release: JSON, whose hash anyone can compute, and Markdown to be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evaluation.planning.plan_text import plan_markdown
from evaluation.releases.archive import PLAN_JSON, PLAN_TEXT
from evaluation.reports.plan_results import plan_of_facts

#: What the hash is of, and the hash.
_SEALED = ("plan", "design", "sealed_at", "sha256")


def plan_files_make(content: Mapping[str, Any]) -> dict[str, str]:
    """The contents of ``PLAN_JSON`` and ``PLAN_TEXT`` by name, from a report's content; none if the report has no sealed plan.

    They have what was sealed and nothing of what came after it, such as looks. Raises ``ValueError`` if the hash isn't that of the plan.
    """
    facts = content.get("plan")
    if not isinstance(facts, Mapping) or "sha256" not in facts:
        return {}  # none, or a report across studies
    plan = plan_of_facts(facts)
    design = dict(facts["design"])
    text = plan_markdown(
        plan,
        title=str(design.get("study", "")),
        design={name: value for name, value in design.items() if name != "study"},
        digest=facts["sha256"],
        sealed_at=facts["sealed_at"],
    )
    sealed = {name: facts[name] for name in _SEALED}
    return {
        PLAN_JSON: json.dumps(sealed, indent=2, sort_keys=True, ensure_ascii=False) + "\n",
        PLAN_TEXT: text,
    }

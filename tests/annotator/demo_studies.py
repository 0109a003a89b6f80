"""Studies with demo material."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import annotator.demo
from annotator.hit_types.registry import hit_types
from annotator.models import Study
from annotator.services.gallery_demo import gallery_rows
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create, study_launch

DEMO = Path(annotator.demo.__path__[0])
#: Types with demo material.
TYPES = [name for name in hit_types() if (DEMO / f"{name}.jsonl").is_file()]
#: Some of the gallery's types, which are declared in files: with passages, places, turns, a rubric and reasons.
DECLARED = ["error_spans", "reply_ranking", "conversation_turns", "rubric_grading", "inference_explained"]
ITEMS = 4


def demo_study(name: str, *, slug: str = "", **fields: Any) -> Study:
    """A live study of a type with its first demo items, with consent, practice and exam."""
    study = study_create(
        by=None,
        hit_type=name,
        slug=slug or f"way-{name.replace('_', '-')}",
        title="A study & its way",
        **(
            {
                "consent_text": "We keep **your answers**.",
                "completion_code": "C0DE-77",
                # Its few items are of one or two instances, and one person does them all.
                "one_condition_per_instance": False,
            }
            | fields
        ),
    )
    material_import(study=study, file=io.BytesIO(b"\n".join(demo_lines(name))), name="demo.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    return study


def demo_lines(name: str) -> list[bytes]:
    """The first rows of a type's demo material, without the correct answers of the gallery's."""
    if name in DECLARED:
        rows = [{key: one for key, one in row.items() if key != "gold"} for row in gallery_rows(name)]
        return [json.dumps(row).encode() for row in rows[:ITEMS]]
    return (DEMO / f"{name}.jsonl").read_bytes().splitlines()[:ITEMS]

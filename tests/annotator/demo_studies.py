"""Studies with demo material."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import annotator.demo
from annotator.hit_types.registry import hit_types
from annotator.models import Study
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create, study_launch

DEMO = Path(annotator.demo.__path__[0])
#: Types with demo material.
TYPES = [name for name in hit_types() if (DEMO / f"{name}.jsonl").is_file()]
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
    lines = (DEMO / f"{name}.jsonl").read_bytes().splitlines(keepends=True)[:ITEMS]
    material_import(study=study, file=io.BytesIO(b"".join(lines)), name="demo.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    return study

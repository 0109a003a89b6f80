"""Live studies as their templates make them."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import annotator.demo
from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Study
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from annotator.services.study_templates import study_create_from_template, study_templates
from tests.factories import EASY

DEMO = Path(annotator.demo.__path__[0])
#: Every template that people work on, also those of one variant ("rationale_properties/support").
TEMPLATES = [one.key for one in study_templates() if not one.external]
ROWS = 12


def demo_rows(template: str) -> list[dict[str, Any]]:
    """The demo material of a template: of a variant, only its rows."""
    name, _, variant = template.partition("/")
    kind, file = hit_type_get(name), DEMO / f"{name}.jsonl"
    if not file.is_file():  # a type that is declared in a file has its samples there
        return list(kind.samples)[:ROWS]
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    field = kind.variant_field
    return [row for row in rows if not variant or row[field] == variant][:ROWS]


def template_study(template: str, slug: str, rows: list[dict[str, Any]] | None = None) -> Study:
    """A live study as its template makes it, without the steps before the tasks."""
    fields = {name: value for name, value in EASY.items() if name != "hit_type"}
    study = study_create_from_template(by=None, template=template, slug=slug, title=slug, **fields)
    lines = "\n".join(json.dumps(row) for row in rows or demo_rows(template))
    material_import(study=study, file=io.BytesIO(lines.encode()), name="m.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    return study


def seen_of(user_pk: int) -> Counter[str]:
    """How often somebody was given each input, in whichever study."""
    rows = Assignment.objects.filter(rater__user_id=user_pk)
    return Counter(rows.values_list("item__instance__input", flat=True))

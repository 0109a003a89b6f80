"""Create the studies of a soak test; run by ``manage.py shell`` inside the installation, which is another process."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any


def studies_make(items: dict[str, int], redundancy: int) -> list[dict[str, Any]]:
    """Create and launch them; returns what annotators know: type, address, invitation, and the exam's answers."""
    import annotator.demo
    from annotator.hit_types.registry import hit_type_get
    from annotator.services.imports.material_import import material_import
    from annotator.services.study import study_create, study_launch

    made = []
    for hit_type, count in items.items():
        kind, staged = hit_type_get(hit_type), hit_type != "simulation"
        study = study_create(
            by=None, hit_type=hit_type, slug=f"soak-{hit_type.replace('_', '-')}", title=f"Soak test: {hit_type}",
            redundancy=redundancy, consent_text="I take part.", practice_required=not staged,
            exam_required=not staged, undo_seconds=600, one_condition_per_instance=False, pay_floor_per_hour=0,
            joins_per_hour=None, joins_per_address=None,
        )  # fmt: skip
        path = Path(annotator.demo.__path__[0]) / f"{hit_type}.jsonl"
        demo = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = [
            json.dumps(demo[n % len(demo)] | {"key": f"k{n}", "instance": f"i{n}"}).encode()
            for n in range(count)
        ]
        material_import(study=study, file=io.BytesIO(b"\n".join(rows)), name="material.jsonl")
        study_launch(study=study)
        made.append(
            {
                "hit_type": hit_type,
                "slug": study.slug,
                "join": f"/join/{study.join_token}/",
                "exam": [] if staged else [{"payload": q.payload, "gold": q.gold} for q in kind.exam],
            }
        )
    return made

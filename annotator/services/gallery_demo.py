"""Demo studies of the types of the gallery: a few items written for each, live, with a rehearsal that fits."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.words import listed
from annotator.hit_types.base import HitType
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.gallery import gallery_types
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.making import case_of
from annotator.hit_types.registry import hit_types
from annotator.models import Study, User, Workspace
from annotator.selectors.study import slug_near
from annotator.services.imports.material_import import material_import
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.rehearsal.run import SPREAD, rehearsal_request
from annotator.services.study import study_create, study_launch

FOLDER = Path(__file__).resolve().parent.parent / "demo" / "gallery"
#: How often the rehearsal raters of a demo study are right on average, and the seed of their answers.
ACCURACY, SEED = 0.86, 1
CONSENT = """\
## About this study

This is a demonstration of a task. You will read short texts that were written for it and answer questions about them.

- **What we keep:** your answers and the time they took, under a random name.
- **Who sees it:** the researchers of this workspace.
- **Stopping:** at any time, without giving a reason.
- **Pay:** nobody is paid.
"""


def gallery_demos() -> list[str]:
    """The names of the gallery's types, each of which has material for a demo study.

    >>> "pairwise_preference" in gallery_demos()
    True
    """
    return [name for name in gallery_types() if (FOLDER / f"{name}.yaml").is_file()]


def gallery_rows(name: str) -> list[dict[str, Any]]:
    """The rows of an import file for a type's demo study, each with its correct answers; columns that the type doesn't know are about
    the item.

    >>> sorted(gallery_rows("pairwise_preference")[0])
    ['gold', 'request', 'response_a', 'response_b', 'system_a', 'system_b']
    """
    kind = hit_types()[name]
    cases = document_read((FOLDER / f"{name}.yaml").read_bytes()).value["items"]
    return [_row(kind, case) for case in cases]


def _row(kind: HitType, case: Mapping[str, Any]) -> dict[str, Any]:
    assert isinstance(kind, DeclaredHitType)  # noqa: S101 - the gallery has no others
    _, gold = case_of(kind, case)
    return {**case["item"], **case.get("about", {}), "gold": gold}


@transaction.atomic
def gallery_demo_make(
    *, hit_type: str, by: User | None, workspace: Workspace | None = None, rehearsed: bool = True
) -> Study:
    """Make a live demo study of a type of the gallery and, unless ``rehearsed`` is false, request its rehearsal, which a worker carries out: as many
    raters as an item needs, each on all items, who on average answer 86 % as the material's author.

    Its short name is ``demo-TYPE``, with a number if that is taken. Nobody is paid, and nobody can join without its link. It is closed and
    deleted as any study. Raises ``ValidationError`` for a name that isn't in the gallery.
    """
    if hit_type not in gallery_demos():
        raise ValidationError({"hit_type": f"expected one of: {listed(gallery_demos(), 'or')}"})
    kind = hit_types()[hit_type]
    study = study_create(
        by=by,
        workspace=workspace,
        hit_type=hit_type,
        slug=slug_near(f"demo-{hit_type.replace('_', '-')}"),
        title=f"Demo: {kind.task_title}",
        summary=f"A demonstration of “{kind.title}”.",
        contact="A demonstration: nobody is paid.",
        consent_text=CONSENT,
        completion_code="FORETELL-DEMO",
        practice_required=bool(kind.practice),
    )
    rows = gallery_rows(hit_type)
    known = {column.name for column in kind.columns}
    file = io.BytesIO("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())
    about = sorted({name for row in rows for name in row} - known)
    material_import(study=study, file=file, name=f"{hit_type}.jsonl", attributes=about)
    study_launch(study=study, by=by)
    study.refresh_from_db()
    if rehearsed:
        rehearsal_request(study=study, by=by, raters=study.redundancy, accuracy=ACCURACY, seed=SEED)
    return study


def gallery_rehearse(*, study: Study) -> int:
    """Carry out the rehearsal of a demo study in this process; returns how many judgments it added."""
    raters = rehearsal_raters(
        study=study, count=study.redundancy, accuracy=ACCURACY, spread=SPREAD, seed=SEED
    )
    return rehearse(study=study, raters=raters, seed=SEED)

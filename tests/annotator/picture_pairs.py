"""A draft of a declared type whose rows show images, and a row of it."""

from __future__ import annotations

from typing import Any

from annotator.models import Study, User
from annotator.services.declared_type import declared_type_save
from annotator.services.images import images_add
from annotator.services.workspace import workspace_personal
from tests.annotator.hit_types.declaration.files import PICTURES_FILE
from tests.factories import make_study
from tests.pictures import picture

ROW = {
    "caption": "A cat on a mat",
    "left": "![A grey cat](cat.png)",
    "right": "![A brown dog](dog.png)",
    "chart": "![All chose the cat](chart.png)",
}


def draft(by: User, **fields: Any) -> Study:
    """A study of the type, with its three images uploaded."""
    workspace = workspace_personal(user=by)
    declared_type_save(workspace=workspace, by=by, source=PICTURES_FILE.read_text(encoding="utf-8"))
    study = make_study(by=by, hit_type="picture_pairs", workspace=workspace, **fields)
    files = [("cat.png", picture()), ("dog.png", picture("brown")), ("chart.png", picture("red"))]
    images_add(study=study, files=files)
    return study

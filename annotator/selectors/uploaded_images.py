"""The images that were uploaded to a study, by name: what its material and its HIT type's own questions refer to."""

from __future__ import annotations

from annotator.hit_types.images import StoredImage
from annotator.models import Study


def images_of(*, study: Study) -> dict[str, StoredImage]:
    """A study's images by the names of their files; none for a study that isn't saved."""
    if not study.pk:
        return {}
    rows = study.images.values_list("name", "digest", "width", "height")
    return {name: StoredImage(digest, width, height) for name, digest, width, height in rows}

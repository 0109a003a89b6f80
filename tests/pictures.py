"""Small image files for tests, drawn in memory."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from PIL import Image


def picture(
    colour: str = "teal", *, size: tuple[int, int] = (40, 30), kind: str = "PNG", frames: int = 1
) -> bytes:
    """The bytes of an image file of one colour."""
    out = io.BytesIO()
    first, *more = [Image.new("RGB", size, colour if n == 0 else "white") for n in range(frames)]
    extra = {"save_all": True, "append_images": more} if more else {}
    first.save(out, format=kind, **extra)
    return out.getvalue()


def archive(files: Mapping[str, bytes]) -> bytes:
    """A zip archive of files by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return out.getvalue()

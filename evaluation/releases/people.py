"""Who is in a stored release: its pseudonyms, compared with the raters whose data were deleted since."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from typing import IO

from annotator.core.archives import ARCHIVE_ERRORS
from evaluation.releases.archive import table_file
from evaluation.releases.pseudonyms import pseudonym


def pseudonyms_in(file: IO[bytes]) -> set[str]:
    """The names of the raters in a release that this installation made; empty if it can't be read."""
    try:
        lines = zipfile.ZipFile(file).read(table_file("rater")).splitlines()
        return {json.loads(line)["name"] for line in lines}
    except ARCHIVE_ERRORS:
        return set()


def holds(names: set[str], *, key: str, rater: int, before: Mapping[str, int]) -> bool:
    """Whether the rater with this id is among the names of a release that was made with ``key``. ``before`` has the ids that raters had
    when it was made, where they have others now."""
    return pseudonym(key, before.get(str(rater), rater)) in names

"""Where the code names a section of a paper, that section is about what the code does."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Sections that define, measure or train something; in Joshi et al. 2023, section 5 is about related work.
SECTIONS = {"Joshi et al. 2023": {"2", "3", "4"}, "P3": {"2", "3", "4"}}
NAMED = re.compile(r"(Joshi et al\. 2023|P3),? [Ss]ection (\d)")


def test_sections_of_joshi_et_al_are_those_with_a_method():
    found = [
        (path.relative_to(ROOT).as_posix(), *match)
        for folder in ("annotator", "evaluation", "docs")
        for pattern in ("*.py", "*.md", "*.json")
        for path in (ROOT / folder).rglob(pattern)
        for match in NAMED.findall(path.read_text("utf-8"))
    ]
    assert len(found) > 10
    assert not [one for one in found if one[2] not in SECTIONS[one[1]]]

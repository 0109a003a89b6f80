"""The joined style sheets and scripts: everything of their parts except comments."""

from __future__ import annotations

import re

import pytest

from annotator.web.bundles import BUNDLES, SCOPED, BundleFinder, without_comments


@pytest.mark.parametrize(
    ("source", "joined"),
    [
        ("/* Why. */\na { color: red }\n", "a { color: red }\n"),
        ("  /* Over\n     two lines. */\n  run();\n", "  run();\n"),
        ("run(); /* beside code */\n", "run(); /* beside code */\n"),
        ("/* one */ run(); /* two */\n", "/* one */ run(); /* two */\n"),
        ('const text = "/* no comment */";\n', 'const text = "/* no comment */";\n'),
        ("/* the last line */", "/* the last line */"),
    ],
)
def test_comments_with_lines_of_their_own_are_left_out(source: str, joined: str) -> None:
    assert without_comments(source) == joined


@pytest.mark.parametrize("path", BUNDLES)
def test_a_joined_file_is_its_parts_without_comments(path: str) -> None:
    finder = BundleFinder()
    comments = re.compile(r"/\*.*?\*/", re.DOTALL)
    parts = "".join((finder.source / part).read_text(encoding="utf-8") for part in BUNDLES[path])
    joined = finder.make(path).read_text(encoding="utf-8")
    if path in SCOPED:
        head, _, rest = joined.partition("{")
        assert head.strip() == f"@scope {SCOPED[path]}"
        joined = rest.strip().removesuffix("}")
    assert "".join(comments.sub("", joined).split()) == "".join(comments.sub("", parts).split())
    assert not re.search(r"^\s*/\*", joined, re.MULTILINE)
    assert len(joined) < len(parts)

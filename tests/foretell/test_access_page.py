from __future__ import annotations

from tests.access_table import PAGE, access_page


def test_the_access_page_matches_the_access_tests_list() -> None:
    assert PAGE.read_text(encoding="utf-8") == access_page(), "run python -m tests.access_table"

from __future__ import annotations

from tests.access_table import PAGE, access_page


def test_the_page_on_access_is_the_access_tests_own_list() -> None:
    assert PAGE.read_text(encoding="utf-8") == access_page(), "run python -m tests.access_table"

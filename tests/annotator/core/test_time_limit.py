"""A block that takes longer than its limit ends, in a statement or in a loop, and what follows is unlimited."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from django.db import DataError, connection

from annotator.core.time_limit import TooSlow, in_time, time_limit

pytestmark = pytest.mark.django_db


def asked(sql: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()


def test_a_long_statement_is_cancelled() -> None:
    with pytest.raises(TooSlow), time_limit(0.05, using=connection):
        asked("SELECT pg_sleep(5)")
    assert asked("SHOW statement_timeout") == ("0",)
    with time_limit(5, using=connection):
        assert asked("SELECT 1") == (1,)
    assert asked("SHOW statement_timeout") == ("0",), "what follows may take as long as it likes"


def test_a_long_loop_ends() -> None:
    def rows() -> Iterator[int]:
        for number in range(100):
            time.sleep(0.01)
            yield number

    with pytest.raises(TooSlow), time_limit(0.05, using=connection):
        list(in_time(rows()))
    assert list(in_time(range(3))) == [0, 1, 2], "no limit around it"


def test_other_faults_stay_what_they_are() -> None:
    with pytest.raises(DataError), time_limit(5, using=connection):
        asked("SELECT 1 / 0")

"""Memory that was freed is given back, and nothing breaks where the C library can't do that."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from types import SimpleNamespace

import psutil
import pytest

from evaluation.core import free_memory

#: Pieces below glibc's threshold for its own mapping of each piece, 128 kB.
PIECE, PIECES = 1_000, 100_000


@pytest.fixture(autouse=True)
def looked_up_again() -> Iterator[None]:
    free_memory._malloc_trim.cache_clear()
    yield
    free_memory._malloc_trim.cache_clear()


def has_glibc() -> bool:
    try:
        return hasattr(ctypes.CDLL(None), "malloc_trim")
    except (OSError, TypeError):
        return False


@pytest.mark.skipif(not has_glibc(), reason="only glibc keeps freed memory and can give it back")
def test_freed_memory_is_given_back_to_the_operating_system() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    process = psutil.Process()
    pieces = [libc.malloc(PIECE) for _ in range(PIECES)]
    for piece in pieces:
        ctypes.memset(piece, 1, PIECE)
    last = libc.malloc(PIECE)  # above the others, so that freeing them doesn't shrink the heap by itself
    for piece in pieces:
        libc.free(piece)
    before = process.memory_info().rss
    free_memory.return_free_memory()
    after = process.memory_info().rss
    libc.free(last)
    assert before - after > PIECE * PIECES / 2


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_nothing_happens_without_dynamic_loading(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(name: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    free_memory.return_free_memory()
    assert free_memory._malloc_trim() is None


def test_nothing_happens_with_another_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    free_memory.return_free_memory()
    assert free_memory._malloc_trim() is None


def test_the_function_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up, trimmed = [], []

    def library(name: object) -> SimpleNamespace:
        looked_up.append(name)
        return SimpleNamespace(malloc_trim=trimmed.append)

    monkeypatch.setattr(ctypes, "CDLL", library)
    free_memory.return_free_memory()
    free_memory.return_free_memory()
    assert (looked_up, trimmed) == ([None], [0, 0])

"""Names in Arrow's memory act as a tuple of the same texts."""

import json

import numpy as np
import pytest

from evaluation.core import names as names_module
from evaluation.core.names import NamesArray, in_order, json_pieces

TEXTS = ("item-10", "item-9", "", "Ä", "𝄞 clef", "zebra")


def test_they_are_read_like_a_tuple():
    names = NamesArray.of(TEXTS)
    assert (len(names), names[-1], tuple(names[1:3]), tuple(names[::2])) == (
        6,
        "zebra",
        TEXTS[1:3],
        TEXTS[::2],
    )
    assert names == TEXTS
    assert names == TEXTS
    assert names == NamesArray.of(TEXTS)
    assert hash(names) == hash(TEXTS)
    assert names != TEXTS[:-1]
    assert "Ä" in names
    assert names.index("Ä") == 3
    assert np.asarray(names, dtype=object).tolist() == list(TEXTS)
    with pytest.raises(IndexError):
        names[6]


def test_their_order_is_that_of_python_texts():
    names = NamesArray.of(TEXTS)
    assert tuple(in_order(names, names.order())) == tuple(sorted(TEXTS))


def test_pieces_make_the_json_of_the_whole(monkeypatch):
    monkeypatch.setattr(names_module, "_PIECE", 2)
    for texts in (TEXTS, TEXTS[:1], ()):
        for held in (texts, NamesArray.of(texts)):
            assert "".join(json_pieces(held)) == json.dumps(list(texts), ensure_ascii=False)


def test_arrays_too_long_for_short_offsets_are_joined(monkeypatch):
    monkeypatch.setattr(names_module, "_MOST", 1)
    joined = NamesArray.joined([NamesArray.of(TEXTS[:2]).array, NamesArray.of(TEXTS[2:]).array])
    assert joined == TEXTS
    assert str(joined.array.type) == "large_string"
    assert tuple(joined.take(np.array([5, 0]))) == ("zebra", "item-10")


def test_no_arrays_make_no_names():
    assert NamesArray.joined([]) == ()

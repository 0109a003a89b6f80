"""Names of which there are about as many as rows, such as items' keys: in Arrow's memory instead of a Python object each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

#: How many names become Python objects at a time.
_PIECE = 10_000


class NamesArray(Sequence[str]):
    """A sequence of texts in one Arrow array: 4 bytes for each, and its characters. Equal to a tuple of the same texts.

    >>> names = NamesArray.of(["item-10", "item-9"])
    >>> len(names), names[1], list(names), names == ("item-10", "item-9")
    (2, 'item-9', ['item-10', 'item-9'], True)
    """

    __slots__ = ("array",)

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    @classmethod
    def of(cls, names: Sequence[str]) -> NamesArray:
        import pyarrow as pa

        return cls(pa.array(names, type=pa.string()))

    @classmethod
    def joined(cls, arrays: list[Any]) -> NamesArray:
        """The texts of several Arrow arrays, one after the other."""
        import pyarrow as pa

        if sum(array.nbytes for array in arrays) > _MOST:
            arrays = [array.cast(pa.large_string()) for array in arrays]
        return cls(pa.concat_arrays(arrays) if arrays else pa.array([], type=pa.string()))

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> NamesArray: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            return (
                NamesArray(self.array[start:stop]) if step == 1 else self.take(np.arange(start, stop, step))
            )
        size = len(self)
        if not -size <= at < size:
            raise IndexError(f"{at} of {size} names")
        return self.array[int(at) % size].as_py()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _PIECE):
            yield from self.array.slice(start, _PIECE).to_pylist()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NamesArray):
            return bool(self.array.equals(other.array))
        if isinstance(other, tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<NamesArray: {len(self):,}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        found = np.empty(len(self), dtype=object)
        for start in range(0, len(self), _PIECE):
            found[start : start + _PIECE] = self.array.slice(start, _PIECE).to_pylist()
        return found if dtype is None else found.astype(dtype, copy=False)

    @property
    def nbytes(self) -> int:
        return int(self.array.nbytes)

    def take(self, rows: npt.NDArray[Any]) -> NamesArray:
        import pyarrow as pa

        return NamesArray(self.array.take(pa.array(rows)))

    def order(self) -> npt.NDArray[Any]:
        """The places of the names in sorted order: UTF-8's, which is that of Python's texts."""
        import pyarrow.compute as pc

        return pc.array_sort_indices(self.array).to_numpy()


#: Arrow's shorter offsets reach this far.
_MOST = 2**31 - 1


def in_order(names: Sequence[str], order: Any) -> Sequence[str]:
    """Some of the names, in this order."""
    if isinstance(names, NamesArray):
        return names.take(np.asarray(order))
    return tuple(names[number] for number in order)


def json_pieces(names: Sequence[str]) -> Iterator[str]:
    """The names as ``json.dumps(list(names), ensure_ascii=False)`` writes them, a piece at a time.

    >>> "".join(json_pieces(("a", "b")))
    '["a", "b"]'
    """
    yield "["
    for start in range(0, len(names), _PIECE):
        piece = json.dumps(list(names[start : start + _PIECE]), ensure_ascii=False)
        yield f"{', ' if start else ''}{piece[1:-1]}"
    yield "]"

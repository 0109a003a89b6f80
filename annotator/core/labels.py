"""Labels as files spell them: how every reader normalises them, and what it warns about.

Text is trimmed and normalised to Unicode's composed form (NFC). If all labels of a column are numbers, whole numbers
are written without a fraction, since pandas writes 3 as 3.0 in a column with blank cells. Nothing else is changed
unless asked for: labels that differ only in case or form, equal numbers, and the usual words for missing values get a
remark with their counts.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

#: What programs write for a missing value, in lower case.
MISSING_WORDS = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "none", "null", "nil", "missing"})
#: Statistics square numbers and add up millions of them, which must stay finite.
LARGEST = 1e100
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def clean_label(text: str) -> str:
    """The text without outer white space, in Unicode's composed form.

    >>> clean_label(" cafe\\u0301 ") == "caf\\u00e9"
    True
    """
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text).strip()


def cell_text(value: object) -> str:
    """A cell as text: whole numbers without a fraction, true and false in lower case, None and NaN as ''.

    >>> cell_text(1.0), cell_text(True), cell_text(None), cell_text(" a ")
    ('1', 'true', '', 'a')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean_label(str(value))


def label_number(text: str) -> float:
    """A label as a number; ``nan`` if it isn't one in ASCII digits, or is beyond ``LARGEST``.

    >>> label_number("3.0"), label_number("1e1"), label_number("inf"), label_number("1e308")
    (3.0, 10.0, nan, nan)
    """
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number + 0.0 if abs(number) <= LARGEST else math.nan  # -0 is 0


def number_problem(text: str, *, least: str = "") -> str:
    """What a label at interval or ratio level should have been, and what to do, for one that isn't a number.

    >>> number_problem("NA"), number_problem("1e308"), number_problem("-1", least=", 0 or more")
    ('a number; --missing NA reads it as no answer', 'a number from -1e100 to 1e100', 'a number, 0 or more')
    """
    if _NUMBER.fullmatch(text) and label_number(text) != label_number(text):
        return f"a number from -{LARGEST:.0e} to {LARGEST:.0e}".replace("e+", "e")
    if text.lower() in MISSING_WORDS:
        return f"a number{least}; --missing {text} reads it as no answer"
    return f"a number{least}"


def write_number(number: float) -> str:
    """A number as a label: whole ones without a fraction.

    >>> write_number(3.0), write_number(0.5)
    ('3', '0.5')
    """
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


@dataclass(frozen=True)
class Spelling:
    """How to read the labels of a column. ``missing`` lists labels that mean no answer, ``recode`` maps spellings to
    labels, and ``fold_case`` merges labels that differ only in case or form.
    """

    missing: Collection[str] = ()
    recode: Mapping[str, str] = field(default_factory=dict)
    fold_case: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", frozenset(map(clean_label, self.missing)))
        recode = {clean_label(old): clean_label(new) for old, new in self.recode.items()}
        object.__setattr__(self, "recode", recode)

    def read(self, text: str) -> str:
        """A cell's label before it is compared with the others; empty if it is missing."""
        text = clean_label(text)
        text = self.recode.get(text, text)
        return "" if text in self.missing else text

    def one_name(self, counts: Mapping[str, int], *, declared: Sequence[str] = ()) -> dict[str, str]:
        """Maps each label to the one that it is read as; labels that stay unchanged are left out.

        If labels are ``declared``, any other label is read as the declared one that is the same number or, with
        ``fold_case``, has the same letters. Otherwise whole numbers lose their fraction if all labels are numbers, and
        ``fold_case`` chooses the most frequent spelling (of equals, the first in order).

        >>> Spelling().one_name({"3.0": 2, "1": 5})
        {'3.0': '3'}
        >>> Spelling(fold_case=True).one_name({"yes": 7, "Yes": 2, "no": 4})
        {'Yes': 'yes'}
        """
        if declared:
            return self._declared(counts, declared)
        names = {label: label for label in counts}
        numbers = {label: label_number(label) for label in counts}
        if all(number == number for number in numbers.values()):
            names = {
                label: write_number(numbers[label]) if numbers[label].is_integer() else label
                for label in counts
            }
        if self.fold_case:
            best: dict[str, tuple[int, str]] = {}
            for label in sorted(names):
                at = (-counts[label], names[label])
                best[_folded(label)] = min(best.get(_folded(label), at), at)
            names = {label: best[_folded(label)][1] for label in names}
        return {label: name for label, name in names.items() if label != name}

    def _declared(self, counts: Mapping[str, int], declared: Sequence[str]) -> dict[str, str]:
        known = set(declared)
        by_number = {number: name for name in declared if (number := label_number(name)) == number}
        by_letters = {_folded(name): name for name in declared} if self.fold_case else {}
        found = {}
        for label in counts:
            if label not in known:
                name = by_number.get(label_number(label)) or by_letters.get(_folded(label))
                if name is not None:
                    found[label] = name
        return found


def _folded(label: str) -> str:
    return unicodedata.normalize("NFKC", label).casefold()


def remarks(column: str, counts: Mapping[str, int]) -> list[str]:
    """Remarks on a column's labels as read, each a sentence that says what to do.

    >>> remarks("says", {"Yes": 1, "yes": 12, "NA": 3})[0]
    "says: 'yes' (12) and 'Yes' (1) differ in case or form only; --fold-case reads them as one"
    """
    found = []
    for group in _alike(counts, _folded):
        listed = " and ".join(f"{label!r} ({counts[label]:,})" for label in group)
        found.append(f"{column}: {listed} differ in case or form only; --fold-case reads them as one")
    for group in _alike(
        {k: v for k, v in counts.items() if label_number(k) == label_number(k)}, label_number
    ):
        listed = " and ".join(f"{label!r} ({counts[label]:,})" for label in group)
        found.append(f"{column}: {listed} are one number; --recode {group[1]}={group[0]} reads them as one")
    for label in sorted(counts):
        if label.lower() in MISSING_WORDS:
            found.append(
                f"{column}: {label!r} ({counts[label]:,}) is kept as a label; --missing {label} reads it as no answer"
            )
    return found


def _alike(counts: Mapping[str, int], key: Callable[[str], Hashable]) -> list[list[str]]:
    """Groups of two or more labels with the same key, the most frequent label first."""
    groups: dict[Hashable, list[str]] = {}
    for label in counts:
        groups.setdefault(key(label), []).append(label)
    return [
        sorted(group, key=lambda label: (-counts[label], label))
        for group in groups.values()
        if len(group) > 1
    ]

"""Labels as files spell them: how every reader normalises them, and what it warns about.

Text is trimmed, of invisible characters too, and normalised to Unicode's composed form (NFC). If all labels of a column
are numbers, whole ones as pandas writes them in a column with blank cells (3.0) lose their fraction. That
holds for any number of labels. Other spellings of numbers (007, +1, 1e0) may be names of their own, and stay labels of their own.
Nothing else is changed unless asked for: labels that differ only in case or form, equal numbers, and the usual words for
missing values get a remark with their counts.
"""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

#: What programs and people write for a missing value, in lower case.
MISSING_WORDS = frozenset(
    # programs: R, pandas, databases, spreadsheets
    {"na", "<na>", "nan", "nat", "none", "null", "nil", "#n/a", "#null!", "#value!", "#ref!", "#div/0!", "#num!", "#name?"}
    # signs
    | {"-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "\u2026", "?", "/"}
    # English, German, French, Spanish, Portuguese, Italian, Dutch
    | {"n/a", "n.a.", "missing", "not available", "not applicable", "no answer", "no response", "skipped"}
    | {"k.a.", "k. a.", "keine angabe", "keine antwort", "fehlt", "fehlend", "entf\u00e4llt", "n.v.", "geen antwoord", "ontbreekt"}
    | {"n.d.", "nd", "n/d", "manquant", "manquante", "non renseign\u00e9", "pas de r\u00e9ponse", "sans r\u00e9ponse"}
    | {"s/d", "ns/nc", "sin dato", "sin datos", "sin respuesta", "faltante", "sem resposta", "ausente", "mancante"}
    # Russian, Arabic, Chinese, Japanese
    | {"\u043d/\u0434", "\u043d\u0435\u0442 \u0434\u0430\u043d\u043d\u044b\u0445", "\u043d\u0435\u0442 \u043e\u0442\u0432\u0435\u0442\u0430"}
    | {"\u063a\u064a\u0631 \u0645\u062a\u0648\u0641\u0631", "\u0644\u0627 \u064a\u0648\u062c\u062f", "\u7f3a\u5931", "\u65e0", "\u672a\u7b54", "\u6b20\u640d", "\u7121\u56de\u7b54"}
)  # fmt: skip
#: Statistics square numbers and add up millions of them, which must stay finite.
LARGEST = 1e100
#: Remarks of one kind on a column; further ones are counted.
MOST_REMARKS = 10
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([, '\u2019]\d{3})+(\.\d+)?", re.ASCII)
#: A whole number as programs write one that was read as a float.
_PANDAS_WHOLE = re.compile(r"(-?(?:0|[1-9]\d*))\.0+", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+|[+-]?\d{1,3}([. ]\d{3})+,\d+", re.ASCII)
#: A whole number with points between thousands, as it is written where decimals have a comma.
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+", re.ASCII)
#: White space and characters that can't be seen: byte-order marks, zero-width spaces, soft hyphens, direction marks.
_OUTER = r"[\s\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+"
_OUTSIDE = re.compile(f"^{_OUTER}|{_OUTER}$")


def clean_label(text: str) -> str:
    """The text without outer white space and invisible characters, in Unicode's composed form.

    >>> clean_label(" cafe\\u0301 ") == "caf\\u00e9", clean_label("\\ufeffyes\\u200b")
    (True, 'yes')
    """
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", _OUTSIDE.sub("", text))


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


def exact_number(text: str) -> Decimal | None:
    """A label as a number, exactly, so that identifiers of many digits stay apart; None where ``label_number`` is ``nan``.

    >>> exact_number("-9.0") == exact_number("-9"), exact_number("9007199254740993") == exact_number("9007199254740992")
    (True, False)
    """
    number = label_number(text)
    return None if math.isnan(number) else Decimal(text)


def number_problem(text: str, *, least: str = "") -> str:
    """What a label at interval or ratio level should have been, and what to do, for one that isn't a number.

    >>> number_problem("NA"), number_problem("1e308"), number_problem("-1", least=", 0 or more")
    ('a number; --missing NA reads it as no answer', 'a number from -1e100 to 1e100', 'a number, 0 or more')
    >>> number_problem("2,5")
    'a number with a decimal point and no thousands separators, in the digits 0-9; --decimal-comma reads a comma as one'
    """
    if _NUMBER.fullmatch(text) and label_number(text) != label_number(text):
        return f"a number from -{LARGEST:.0e} to {LARGEST:.0e}".replace("e+", "e")
    if _means_missing(text):
        return f"a number{least}; {_option('missing', text)} reads it as no answer"
    if exact_number(text) is None and _number_meant(text) is not None:
        comma = "; --decimal-comma reads a comma as one" if _DECIMAL_COMMA.fullmatch(text) else ""
        return f"a number{least} with a decimal point and no thousands separators, in the digits 0-9{comma}"
    return f"a number{least}"


def _number_meant(text: str) -> Decimal | None:
    """The number that a text seems to mean, with decimal commas, thousands separators and digits of other scripts.

    >>> str(_number_meant("2,5")), str(_number_meant("1 000")), str(_number_meant("\\uff11")), _number_meant("yes")
    ('2.5', '1000', '1', None)
    """
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    if not text.isascii():
        digits = (str(unicodedata.digit(letter, letter)) for letter in text)
        text = "".join(digits)
    if _THOUSANDS.fullmatch(text):
        text = re.sub("[, '\u2019]", "", text)
    elif _DECIMAL_COMMA.fullmatch(text):
        text = re.sub("[. ]", "", text).replace(",", ".")
    return exact_number(text)


def with_decimal_point(text: str) -> str:
    """A number with a decimal comma, or with points between thousands, as other programs write it; any other text as it is.

    >>> with_decimal_point("-0,25"), with_decimal_point("1.000,5"), with_decimal_point("1.000"), with_decimal_point("a,b")
    ('-0.25', '1000.5', '1000', 'a,b')
    """
    if _DECIMAL_COMMA.fullmatch(text) or _COMMA_THOUSANDS.fullmatch(text):
        return re.sub("[. ]", "", text).replace(",", ".")
    return text


def _means_missing(text: str) -> bool:
    return text.lower() in MISSING_WORDS


def _option(name: str, *values: str) -> str:
    """An option of a command as it is typed, with quotation marks where the shell needs them.

    >>> _option("missing", "NA"), _option("missing", "keine Angabe"), _option("missing", "-")
    ('--missing NA', "--missing 'keine Angabe'", '--missing=-')
    """
    first, *others = map(shlex.quote, values)
    return " ".join([f"--{name}={first}" if first.startswith("-") else f"--{name} {first}", *others])


def write_number(number: float) -> str:
    """A number as a label: whole ones without a fraction.

    >>> write_number(3.0), write_number(0.5)
    ('3', '0.5')
    """
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


def _without_fraction(label: str) -> str:
    """A whole number as pandas writes it, without the fraction; any other spelling as it is.

    >>> _without_fraction("3.0"), _without_fraction("-0.0"), _without_fraction("007"), _without_fraction("1e3")
    ('3', '0', '007', '1e3')
    """
    whole = _PANDAS_WHOLE.fullmatch(label)
    return label if whole is None else "0" if whole[1] == "-0" else whole[1]


@dataclass(frozen=True)
class Spelling:
    """How to read the labels of a column. ``missing`` lists labels that mean no answer, ``recode`` maps spellings to
    labels, and ``fold_case`` merges labels that differ only in case or form. ``decimal_comma`` reads 2,5 as 2.5 and 1.000 as
    1000. For ``missing`` and ``recode``, numbers are the same label however they are written: -9 also names the -9.0 that pandas
    writes.
    """

    missing: Collection[str] = ()
    recode: Mapping[str, str] = field(default_factory=dict)
    fold_case: bool = False
    decimal_comma: bool = False
    _missing_numbers: Collection[Decimal] = field(default=(), init=False, repr=False, compare=False)
    _recode_numbers: Mapping[Decimal | None, str] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        missing = frozenset(map(clean_label, self.missing))
        recode = {clean_label(old): clean_label(new) for old, new in self.recode.items()}
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "recode", recode)
        numbers = {number: new for old, new in recode.items() if (number := exact_number(old)) is not None}
        object.__setattr__(self, "_recode_numbers", numbers)
        missed = {number for label in missing if (number := exact_number(label)) is not None}
        object.__setattr__(self, "_missing_numbers", frozenset(missed))

    def read(self, text: str) -> str:
        """A cell's label before it is compared with the others; empty if it is missing.

        >>> Spelling(missing=["-9"]).read("-9.0"), Spelling(recode={"1": "yes"}).read("1.0")
        ('', 'yes')
        >>> Spelling(decimal_comma=True).read("2,5"), Spelling().read("2,5")
        ('2.5', '2,5')
        """
        text = with_decimal_point(clean_label(text)) if self.decimal_comma else clean_label(text)
        if self.recode:
            text = self.recode.get(text, self._recode_numbers.get(exact_number(text), text))
        missing = text in self.missing or (
            self._missing_numbers and exact_number(text) in self._missing_numbers
        )
        return "" if missing else text

    def one_name(self, counts: Mapping[str, int], *, declared: Sequence[str] = ()) -> dict[str, str]:
        """Maps each label to the one that it is read as; labels that stay unchanged are left out.

        If labels are ``declared``, any other label is read as the declared one that is the same number or, with
        ``fold_case``, has the same letters. Otherwise whole numbers such as 3.0 lose their fraction if all labels are numbers, and
        ``fold_case`` chooses the most frequent spelling (of equals, the first in order).

        >>> Spelling().one_name({"3.0": 2, "1": 5})
        {'3.0': '3'}
        >>> Spelling().one_name({"007": 2, "7": 5, "+7": 1})
        {}
        >>> Spelling(fold_case=True).one_name({"yes": 7, "Yes": 2, "no": 4})
        {'Yes': 'yes'}
        """
        if declared:
            return self._declared(counts, declared)
        names = {label: label for label in counts}
        if all(exact_number(label) is not None for label in counts):
            names = {label: _without_fraction(label) for label in counts}
        if self.fold_case:
            best: dict[str, tuple[int, str]] = {}
            for label in sorted(names):
                at = (-counts[label], names[label])
                best[_folded(label)] = min(best.get(_folded(label), at), at)
            names = {label: best[_folded(label)][1] for label in names}
        return {label: name for label, name in names.items() if label != name}

    def _declared(self, counts: Mapping[str, int], declared: Sequence[str]) -> dict[str, str]:
        known = set(declared)
        by_number: dict[Decimal | None, str] = {
            number: name for name in declared if (number := exact_number(name)) is not None
        }
        by_letters = {_folded(name): name for name in declared} if self.fold_case else {}
        names = {}
        for label in counts:
            if label not in known:
                name = by_number.get(exact_number(label)) or by_letters.get(_folded(label))
                if name is not None:
                    names[label] = name
        return names


def _folded(label: str) -> str:
    """The label without differences of case, form, white space and invisible characters."""
    if not label.isascii():
        letters = unicodedata.normalize("NFKC", label)
        label = "".join(letter for letter in letters if unicodedata.category(letter) != "Cf")
    return " ".join(label.split()).casefold()


def remarks(column: str, counts: Mapping[str, int]) -> list[str]:
    """Remarks on a column's labels as read, each a sentence that says what to do.

    >>> remarks("says", {"Yes": 1, "yes": 12, "NA": 3})[0]
    "says: 'yes' (12) and 'Yes' (1) differ in case or form only; --fold-case reads them as one"
    """
    sentences = []
    groups = _alike(counts, _folded)
    for group in groups[:MOST_REMARKS]:
        listed = " and ".join(f"{label!r} ({counts[label]:,})" for label in group)
        sentences.append(f"{column}: {listed} differ in case or form only; --fold-case reads them as one")
    sentences += _more(column, groups, "differ in case or form only")
    numbers = {label: number for label in counts if (number := _number_meant(label)) is not None}
    groups = _alike({label: counts[label] for label in numbers}, numbers.__getitem__)
    for group in groups[:MOST_REMARKS]:
        listed = " and ".join(f"{label!r} ({counts[label]:,})" for label in group)
        are = "may be" if any(exact_number(label) is None for label in group) else "are"
        recode = _option("recode", *(f"{label}={group[0]}" for label in group[1:]))
        sentences.append(f"{column}: {listed} {are} one number; {recode} reads them as one")
    sentences += _more(column, groups, "are or may be one number")
    for label in sorted(counts):
        if _means_missing(label):
            sentences.append(
                f"{column}: {label!r} ({counts[label]:,}) is kept as a label; {_option('missing', label)} reads it as no answer"
            )
    return sentences


def _more(column: str, groups: Sequence[Sequence[str]], alike: str) -> list[str]:
    """A remark that counts the groups without one of their own."""
    more = len(groups) - MOST_REMARKS
    what = "1 more group of labels" if more == 1 else f"{more:,} more groups of labels"
    return [f"{column}: {what} {alike}"] if more > 0 else []


def gold_note(column: str, labels: Sequence[str]) -> str:
    """A remark on correct labels that nobody gave. They belong to the scheme of labels, since raters could have given them.

    >>> gold_note("right", ["maybe"])
    "right: nobody gave 'maybe'; as a correct label it counts as one of the labels, whose number AC1 and AC2 depend on"
    """
    shown = ", ".join(map(repr, labels[:5])) + (f" and {len(labels) - 5:,} more" if len(labels) > 5 else "")
    single = len(labels) == 1
    what = "as a correct label it counts as one" if single else "as correct labels they count as some"
    return f"{column}: nobody gave {shown}; {what} of the labels, whose number AC1 and AC2 depend on"


def _alike(counts: Mapping[str, int], key: Callable[[str], Hashable]) -> list[list[str]]:
    """Groups of two or more labels with the same key: the most frequent first, of equals a plain number."""
    groups: dict[Hashable, list[str]] = {}
    for label in counts:
        groups.setdefault(key(label), []).append(label)
    return [
        sorted(group, key=lambda label: (-counts[label], math.isnan(label_number(label)), label))
        for group in groups.values()
        if len(group) > 1
    ]

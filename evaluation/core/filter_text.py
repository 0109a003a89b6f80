"""The text of a report's filter: ``column=value`` pairs separated by semicolons."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: The prefix of raters' attributes among the columns.
RATER = "rater:"
_PAIR = re.compile(r'\s*([^=;"]+?)\s*=\s*("(?:[^"]|"")*"|[^;]*?)\s*(?:;|$)')


def parse_filter(text: str) -> dict[str, list[str]]:
    """The values of each column. A value with a semicolon, or with a quotation mark at its start, is quoted as in a CSV file.

    Raises ``ValueError`` if the text isn't a filter.

    >>> parse_filter('kind=hard; rater:age=30; kind=easy; topic="birds; owls"')
    {'kind': ['hard', 'easy'], 'rater:age': ['30'], 'topic': ['birds; owls']}
    """
    values_of: dict[str, list[str]] = {}
    text, at = text.strip(), 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None or not pair[2]:
            raise ValueError(f"expected attribute=value; attribute=value, got {text!r}")
        name, value = pair[1], pair[2]
        if value.startswith('"'):
            value = value[1:-1].replace('""', '"')
        values_of.setdefault(name, []).append(value)
        at = pair.end()
    return values_of


def filter_text(pairs: Iterable[tuple[str, str]]) -> str:
    """The text of these columns and values.

    >>> filter_text([("kind", "hard"), ("topic", "birds; owls")])
    'kind=hard; topic="birds; owls"'
    """
    return "; ".join(f"{name}={_quoted(value)}" for name, value in pairs)


def filter_words(text: str) -> str:
    """The filter in words, for people; a text that isn't a filter is returned as it is.

    >>> filter_words("kind=hard; kind=easy; rater:native=yes")
    'kind: hard or easy; native of raters: yes'
    """
    try:
        values_of = parse_filter(text)
    except ValueError:
        return text
    return "; ".join(f"{column_words(name)}: {' or '.join(values)}" for name, values in values_of.items())


def column_words(name: str) -> str:
    """A column's name for people.

    >>> column_words("rater:exam score")
    'exam score of raters'
    """
    of_raters = name.removeprefix("rater:")
    return of_raters if of_raters == name else f"{of_raters} of raters"


def _quoted(value: str) -> str:
    plain = value and ";" not in value and not value.startswith('"') and value == value.strip()
    return value if plain else '"' + value.replace('"', '""') + '"'

"""From a response of `atomic_units` to its ratings."""

from __future__ import annotations

import re

from annotator.hit_types.base import JSON, Rating

_VARIABLE = {"parsed": "parsed", "input": "in_input", "output": "in_output"}
_UNIT = re.compile(r"(parsed|input|output)_(\d+)")


def to_ratings(response: JSON) -> list[Rating]:
    """One rating for each unit and part, and one for the completeness of each list.

    >>> to_ratings({"parsed_2": "yes", "details_complete": "no", "details_missing": "age"})
    [Rating(variable='parsed', value='yes', unit='2'), Rating(variable='complete', value='no', unit='details')]
    """
    ratings = []
    for name, value in response.items():
        about = _UNIT.fullmatch(name)
        if about:
            ratings.append(Rating(_VARIABLE[about.group(1)], str(value), unit=about.group(2)))
        elif name.endswith("complete"):
            ratings.append(Rating("complete", str(value), unit=name.removesuffix("complete").rstrip("_")))
    return ratings

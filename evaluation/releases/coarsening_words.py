"""What a release's data card, manifest and report say about attributes and times that were coarsened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.core.words import listed, plural
from evaluation.core.filter_text import RATER
from evaluation.releases.small_cells import SMALL_GROUPS, TIMINGS, Coarsening
from evaluation.reports.choices import Choices

#: What the manifest says of each attribute.
NUMBERS = ("raters", "coarsened", "removed", "before", "after")
#: Attribute -> its numbers.
Numbers = Mapping[str, Mapping[str, int]]
_TIMES = {
    "1": "The seconds that answers took are rounded to 1 second.",
    "10": "The seconds that answers took are rounded to 10 seconds.",
    "none": "The seconds that answers took are not released.",
}


def privacy_sentences(coarsening: Coarsening, numbers: Numbers) -> list[str]:
    """What was done to attributes and times, for the data card."""
    found = []
    if numbers:
        group = plural(coarsening.smallest_group, "person", "people")
        found.append(
            "Attributes are released as they are, however few people share a combination of them."
            if coarsening.off
            else f"Every combination of them is shared by at least {group}."
        )
    found += [
        f"{name}: {_change(one)} ({one['before']:,} different values became {one['after']:,})."
        for name, one in numbers.items()
        if one["coarsened"] or one["removed"]
    ]
    return [*found, _TIMES[coarsening.timings]] if coarsening.timings in _TIMES else found


def _change(one: Mapping[str, int]) -> str:
    done = [
        f"{one[name]:,} {words}"
        for name, words in (("coarsened", "have a coarser value"), ("removed", "have none in the release"))
        if one[name]
    ]
    return f"of {plural(one['raters'], 'person', 'people')} with a value, {listed(done)}"


def report_warnings(coarsening: Coarsening, numbers: Numbers, choices: Choices) -> list[str]:
    """What the released report says before everything else: which of its figures aren't those that the researchers got from exact data."""
    found = []
    by = choices.by.removeprefix(RATER) if choices.by.startswith(RATER) else ""
    one = numbers.get(by, {})
    if one.get("coarsened") or one.get("removed"):
        found.append(
            f"The groups by {by} can't be reproduced as the researchers had them: in this release, {_change(one)}, because fewer than "
            f"{coarsening.smallest_group} raters shared a combination of attributes. The groups here are those of the released values."
        )
    if coarsening.timings != "exact":
        found.append(
            f"{_TIMES[coarsening.timings]} Figures about time can't be reproduced as the researchers had them."
        )
    return found


def coarsening_json(coarsening: Coarsening, numbers: Numbers) -> dict[str, Any]:
    """What the manifest says."""
    return {
        "smallest_group": coarsening.smallest_group,
        "small_groups": coarsening.small_groups,
        "timings": coarsening.timings,
        "attributes": {name: dict(one) for name, one in sorted(numbers.items())},
    }


def coarsening_read(found: Any) -> tuple[Coarsening, dict[str, dict[str, int]]]:
    """What a manifest says, checked. Raises ``ValueError`` with what is wrong."""
    if not isinstance(found, dict) or found.keys() != {
        "smallest_group",
        "small_groups",
        "timings",
        "attributes",
    }:
        raise ValueError("expected smallest_group, small_groups, timings and attributes")
    least, groups, timings = (found[name] for name in ("smallest_group", "small_groups", "timings"))
    if not _count(least) or least < 2:
        raise ValueError("smallest_group should be a whole number from 2")
    if groups not in SMALL_GROUPS:
        raise ValueError(f"small_groups should be one of {', '.join(SMALL_GROUPS)}")
    if timings not in TIMINGS:
        raise ValueError(f"timings should be one of {', '.join(TIMINGS)}")
    numbers = found["attributes"]
    if not isinstance(numbers, dict):
        raise ValueError("attributes should be an object")
    for name, one in numbers.items():
        if not isinstance(one, dict) or tuple(one) != NUMBERS or not all(map(_count, one.values())):
            raise ValueError(f"attributes: {name[:100]} should have the numbers {', '.join(NUMBERS)}")
        if one["coarsened"] + one["removed"] > one["raters"]:
            raise ValueError(f"attributes: {name[:100]} was changed for more raters than have it")
    return Coarsening(least, groups, timings), {name: dict(one) for name, one in numbers.items()}


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

"""A panel's study as planned and as it is there: stored as JSON, compared, and filters read from lines of text."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from annotator.recruitment.api import ACTIONS, VALUES, Chosen, Filter, PlannedCode, RemoteStudy, StudyPlan

LABELS = {
    "title": "Title", "description": "Description", "url": "Link", "secured": "Signed links", "minutes": "Estimated minutes",
    "reward": "Reward", "places": "Places", "devices": "Devices", "codes": "Codes",
}  # fmt: skip


def plan_json(plan: StudyPlan) -> dict[str, Any]:
    """A plan as JSON; ``plan_read`` reverses it."""
    made = asdict(plan)
    made["reward"] = str(plan.reward)
    for code in made["codes"]:
        code["reward"] = None if code["reward"] is None else str(code["reward"])
    for name in ("devices", "filters", "codes"):
        made[name] = list(made[name])
    for chosen in made["filters"]:
        chosen["values"] = list(chosen["values"])
    return made


def plan_read(content: Mapping[str, Any]) -> StudyPlan:
    """
    >>> plan = StudyPlan("r", "Owls", "", "https://lab.example/", True, 5, Decimal("1.20"), 3, codes=(PlannedCode("A", "completion_code", "review"),))
    >>> plan_read(plan_json(plan)) == plan
    True
    """
    codes = [
        PlannedCode(**{**code, "reward": None if code["reward"] is None else Decimal(code["reward"])})
        for code in content["codes"]
    ]
    chosen = [Chosen(**{**one, "values": tuple(one["values"])}) for one in content["filters"]]
    whole = dict(content) | {
        "reward": Decimal(content["reward"]), "devices": tuple(content["devices"]), "filters": tuple(chosen), "codes": tuple(codes),
    }  # fmt: skip
    return StudyPlan(**whole)


def remote_json(remote: RemoteStudy) -> dict[str, Any]:
    """The values of a panel's study as JSON, as ``differences`` takes them."""
    return {
        name: str(value) if isinstance(value, Decimal) else value for name, value in remote.values.items()
    }


@dataclass(frozen=True)
class Difference:
    """A value that the two sides have differently, in words."""

    name: str
    ours: str
    theirs: str

    @property
    def label(self) -> str:
        return LABELS[self.name]


def differences(plan: StudyPlan, remote: Mapping[str, Any]) -> list[Difference]:
    """Where a panel's study isn't as planned, in the order of ``VALUES``.

    >>> plan = StudyPlan("r", "Owls", "", "https://lab.example/", True, 5, Decimal("1.20"), 3)
    >>> there = {name: value for name, value in plan_json(plan).items()} | {"places": 2, "reward": "1.2", "codes": {}}
    >>> [(one.label, one.ours, one.theirs) for one in differences(plan, there)]
    [('Places', '3', '2')]
    """
    found = []
    for name in VALUES:
        ours, theirs = _words(name, _of_plan(plan, name)), _words(name, remote.get(name))
        if ours != theirs:
            found.append(Difference(name, ours, theirs))
    return found


def _of_plan(plan: StudyPlan, name: str) -> Any:
    if name == "codes":
        return {code.code: code.action for code in plan.codes}
    return sorted(plan.devices) if name == "devices" else getattr(plan, name)


def _words(name: str, value: Any) -> str:
    if name == "codes":
        listed = value if isinstance(value, Mapping) else {}
        return "; ".join(
            f"{code}: {ACTIONS.get(action, 'something else')}" for code, action in sorted(listed.items())
        )
    if name == "devices":
        return ", ".join(sorted(value or [])) or "all"
    if name == "secured":
        return "yes" if value else "no"
    if name == "reward":
        return f"{Decimal(str(value or 0)):.2f}"
    return str(value)


class FiltersRefused(ValueError):
    """Lines that aren't filters; each message says which line, and what was expected."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__(" ".join(faults))


def filters_read(text: str, known: Sequence[Filter]) -> tuple[Chosen, ...]:
    """Filters by name, one a line: ``Fluent languages: English, German`` or ``Age: 18-40``. Empty lines are left out.

    Raises ``FiltersRefused``.

    >>> known = [Filter("lang", "Fluent languages", {"19": "English", "22": "German"}), Filter("age", "Age", {}, 18, 100)]
    >>> filters_read("fluent languages: english", known)
    (Chosen(filter_id='lang', values=('19',), lower=None, upper=None),)
    >>> filters_read("Age: 18-40", known)[0].upper
    40.0
    >>> filters_read("Languages: English", known)
    Traceback (most recent call last):
    ...
    annotator.recruitment.plans.FiltersRefused: Line 1: there is no filter “Languages”. Did you mean “Fluent languages”?
    """
    by_title = {one.title.casefold(): one for one in known}
    found: list[Chosen] = []
    faults: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        title, colon, rest = line.partition(":")
        one = by_title.get(title.strip().casefold())
        if not colon:
            faults.append(
                f"Line {number}: expected a filter, a colon and what is chosen, such as “Age: 18-40”."
            )
        elif one is None:
            faults.append(
                f"Line {number}: there is no filter “{title.strip()}”.{_similar(title, list(by_title), by_title)}"
            )
        elif any(other.filter_id == one.id for other in found):
            faults.append(f"Line {number}: “{one.title}” is there twice. Put all choices into one line.")
        else:
            chosen, fault = _range(one, rest) if one.is_range else _choices(one, rest)
            if chosen is None:
                faults.append(f"Line {number}: {fault}")
            else:
                found.append(chosen)
    if faults:
        raise FiltersRefused(faults)
    return tuple(found)


def _similar(title: str, titles: list[str], by_title: Mapping[str, Filter]) -> str:
    near = difflib.get_close_matches(title.strip().casefold(), titles, n=1, cutoff=0.5)
    return f" Did you mean “{by_title[near[0]].title}”?" if near else ""


def _choices(one: Filter, rest: str) -> tuple[Chosen | None, str]:
    names = {name.casefold(): key for key, name in one.choices.items()}
    whole = rest.strip().casefold()
    if whole in names:  # a name that has a comma itself
        return Chosen(one.id, (names[whole],)), ""
    wanted = [word.strip() for word in rest.split(",") if word.strip()]
    unknown = [word for word in wanted if word.casefold() not in names]
    if not wanted or unknown:
        some = ", ".join(list(one.choices.values())[:12])
        what = (
            f"“{unknown[0]}” isn't a choice of “{one.title}”."
            if unknown
            else f"“{one.title}” needs a choice."
        )
        return None, f"{what} Expected some of: {some}{', …' if len(one.choices) > 12 else ''}."
    return Chosen(one.id, tuple(dict.fromkeys(names[word.casefold()] for word in wanted))), ""


def _range(one: Filter, rest: str) -> tuple[Chosen | None, str]:
    low, dash, high = (part.strip() for part in rest.partition("-"))
    try:
        lower, upper = (float(part) if part else None for part in (low, high))
    except ValueError:
        lower = upper = None
    bounds = [value for value in (lower, upper) if value is not None]
    inside = all(
        (one.least is None or value >= one.least) and (one.most is None or value <= one.most)
        for value in bounds
    )
    if not dash or not bounds or bounds != sorted(bounds) or not inside:
        limits = "" if one.least is None or one.most is None else f" from {one.least:g} to {one.most:g}"
        return None, f"expected a range for “{one.title}”{limits}, such as 18-40, 18- or -40."
    return Chosen(one.id, lower=lower, upper=upper), ""

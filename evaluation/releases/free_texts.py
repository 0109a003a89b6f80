"""Free texts of a release: each is screened, then left out, or released once somebody has approved it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from annotator.selectors.free_text import fields_by_kind
from annotator.selectors.study import known_hit_type
from evaluation.releases.screening import TextScreen
from evaluation.releases.tables import Scope

#: (where it is, the text after screening) -> whether it is released.
Decisions = Mapping[tuple[str, str], bool]
LEFT_OUT, REMOVED = "[text left out]", "[text removed]"
#: What the data card counts them as.
UNRELEASED = "unreleased text"
_NUMBER = re.compile(r"[-+]?\d{1,6}(?:[.,]\d{1,12})?\s?%?")


class FreeTexts:
    """Decides on each free text. Without ``include`` all are left out, unless a report is computed from them: those always need a decision.

    ``found`` counts the texts that need one, ``undecided`` are those without, and ``reasons`` maps the reasons of exclusions to what is
    released of them, for the comparison with the researchers' own report.
    """

    def __init__(self, screen: TextScreen, *, include: bool, decisions: Decisions) -> None:
        self.screen = screen
        self.include = include
        self.decisions = decisions
        self.found: Counter[tuple[str, str]] = Counter()
        self.undecided: set[tuple[str, str]] = set()
        self.reasons: dict[str, str] = {}

    def text(self, place: str, text: str, *, needed: bool = False) -> str:
        """What is released of a text."""
        shown = self.screen.text(text)
        if not shown.strip() or _NUMBER.fullmatch(shown.strip()):
            return shown
        if not (self.include or needed):
            self.screen.found[UNRELEASED] += 1
            return LEFT_OUT
        self.found[place, shown] += 1
        decision = self.decisions.get((place, shown))
        if decision is None:
            self.undecided.add((place, shown))
            return LEFT_OUT
        if not decision:
            self.screen.found[UNRELEASED] += 1
        return shown if decision else REMOVED

    def reason(self, place: str, text: str) -> str:
        """What is released of the reason for leaving something out."""
        self.reasons[text] = self.text(place, text)
        return self.reasons[text]

    def value(self, place: str, value: Any, *, labels: bool, needed: bool) -> Any:
        """JSON with all its texts decided on; with ``labels``, answers that can be chosen from a list stay."""
        if isinstance(value, str):
            if labels and value in self.screen.labels:
                return value
            return self.text(place, value, needed=needed)
        if isinstance(value, Mapping):
            return {name: self.value(place, one, labels=labels, needed=needed) for name, one in value.items()}
        if isinstance(value, list):
            return [self.value(place, one, labels=labels, needed=needed) for one in value]
        return value


class Responses:
    """Decides on the texts in the answers of some studies."""

    def __init__(self, scope: Scope, texts: FreeTexts) -> None:
        self._texts = texts
        kinds = {study.pk: known_hit_type(study) for study in scope.studies}
        self._external = {pk for pk, kind in kinds.items() if kind is not None and kind.external}
        self._fields: dict[int, dict[str, bool]] = {}
        shared: dict[str, dict[str, bool]] = {}
        rows = scope.items.values_list("pk", "study_id", "payload").iterator(chunk_size=2_000)
        for pk, study, payload in rows:
            fields = _fields_of(kinds[study], payload)
            self._fields[pk] = shared.setdefault(str(fields), fields)

    def released(self, *, item: int, study: int, response: Any) -> Any:
        """What is released of a response: chosen answers as they are, texts as they were decided on."""
        if not isinstance(response, Mapping):
            return response
        fields, external = self._fields.get(item, {}), study in self._external
        found: dict[str, Any] = {}
        for name, value in response.items():
            written = fields.get(name)
            if written is False:
                found[name] = value
            else:
                place = f"answers: {name}" if not external else "labels"
                found[name] = self._texts.value(place, value, labels=written is None, needed=external)
        return found


def _fields_of(kind: Any, payload: dict[str, Any]) -> dict[str, bool]:
    try:
        return fields_by_kind(kind, payload)
    except (KeyError, TypeError, ValueError):
        return {}  # an item of an earlier version of its type: its labels are known by their values


def kind_of_place(place: str) -> str:
    """A place in words.

    >>> kind_of_place("exclusion.reason")
    'Why something was excluded'
    """
    known = {
        "exclusion.reason": "Why something was excluded",
        "item.withdrawn_reason": "Why an item was withdrawn",
    }
    return known.get(place, place[:1].upper() + place[1:])

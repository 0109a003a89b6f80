"""How the columns of a file become blocks of a page, in the order drawn for one rater."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from annotator.hit_types.answers import YES_NO_WORDS, Answers
from annotator.hit_types.declaration.shuffling import OPTIONS, QUESTIONS, Shuffling
from annotator.hit_types.formats import format_of
from annotator.hit_types.shapes import JSON, Block, FieldErrors, Option
from annotator.hit_types.wording import put

#: Where the order of the columns that a file shuffles is, in what is drawn for a rater.
ORDER, COLUMNS = "order", "columns"
#: Kinds of columns that are a text in some format.
TEXTS = ("text", "markdown", "code", "table", "image")


def option_of(value: str, spec: Any) -> Option:
    """An option of a file: its label, or an object with label and detail.

    >>> option_of("no", "No").label, option_of("no", {"label": "No", "detail": "It isn't."}).detail
    ('No', "It isn't.")
    """
    if isinstance(spec, str):
        return Option(value, spec)
    return Option(value, spec["label"], spec.get("detail", ""))


def keys_of(payload: JSON, column: str, roles: Sequence[str] = ()) -> list[str]:
    """The keys of the entries of a column of units, or of turns: those that are judged. Turns are known by their place.

    >>> keys_of({"talk": [{"role": "Ann", "text": "Hello."}, {"role": "Bob", "text": "Bye."}]}, "talk", ["Bob"])
    ['turn2']
    """
    return [
        one.get("key") or f"turn{place}"
        for place, one in enumerate(payload[column], 1)
        if not roles or one.get("role") in roles
    ]


class Layout:
    """Which columns a file shows, where, and what can be shuffled; the same for all items."""

    def __init__(self, spec: Mapping[str, Any]):
        self.columns: Mapping[str, Mapping[str, Any]] = spec["columns"]
        shows: list[Mapping[str, Any]] = [stage["show"] for stage in spec["stages"].values()]
        #: What is visible at each stage, with all that earlier ones have shown: columns, with the group that each is in.
        self.visible: list[tuple[tuple[str, str], ...]] = []
        so_far: list[tuple[str, str]] = []
        for show in shows:
            so_far += [
                (name, "" if isinstance(one, str) else one.get("group", "")) for name, one in show.items()
            ]
            self.visible.append(tuple(so_far))
        self.shuffled: tuple[str, ...] = tuple(spec.get("shuffled", {}).get("columns", ()))
        self.shuffled_label: str = spec.get("shuffled", {}).get("label", "")
        self.orders = [
            name for name, one in self.columns.items() if one.get("shuffled") and not one.get("hidden")
        ]
        #: Column -> what it is called where it isn't shuffled, and how its blocks look where that isn't the usual way.
        self.labels: dict[str, str] = {}
        self.looks: dict[str, dict[str, Any]] = {}
        for show in shows:
            for name, shown in show.items():
                if isinstance(shown, Mapping) and {"voice", "collapsible"} & set(shown):
                    look = {"voice": shown.get("voice", "material"), "fold": shown.get("collapsible", "")}
                    self.looks[name] = look
                self.labels.setdefault(name, shown if isinstance(shown, str) else shown["label"])
        self.shuffling = Shuffling(spec["stages"])
        asked = [one for stage in spec["stages"].values() for one in stage["questions"].values()]
        #: Columns of units and turns that are asked about one by one, with the roles of those that are: each is a block of its own.
        self.by_unit = {one["for_each"]: one.get("roles", ()) for one in asked if one.get("for_each")}

    def draw(self, payload: JSON, rng: Random) -> JSON:
        """An order for one rater; ``{}`` if nothing is shuffled."""
        order: dict[str, list[str]] = {}
        if self.shuffled:
            order[COLUMNS] = list(self.shuffled)
        for name in self.orders:
            order[name] = [one["key"] for one in payload[name]]
        for entries in order.values():
            rng.shuffle(entries)
        return ({ORDER: order} if order else {}) | self.shuffling.draw(rng)

    def presented(self, payload: JSON, presentation: JSON | None) -> Presented:
        """An item as one rater sees it. Raises ``FieldErrors`` if what was drawn isn't an order of this item's parts."""
        return Presented(self, payload, presentation or {})


class Presented:
    """One item in the order that one rater sees: its blocks and their labels."""

    def __init__(self, layout: Layout, payload: JSON, presentation: Mapping[str, Any]):
        self.layout = layout
        self.payload = payload
        layout.shuffling.check(presentation)
        self._options: Mapping[str, Sequence[str]] = presentation.get(OPTIONS) or {}
        self._questions: Mapping[str, Sequence[str]] = presentation.get(QUESTIONS) or {}
        order: Mapping[str, Sequence[str]] = presentation.get(ORDER) or {}
        drawn = order.get(COLUMNS) or layout.shuffled
        if drawn is not layout.shuffled and sorted(drawn) != sorted(layout.shuffled):
            raise FieldErrors({ORDER: "does not list the columns that are shuffled once each"})
        #: The columns that are shuffled, in the order of their places.
        self.drawn = tuple(drawn)
        self._order = order
        self._instead = dict(zip(layout.shuffled, self.drawn, strict=True))

    def options_drawn(self, question: str) -> tuple[str, ...]:
        """The options of a question, or the rows of a grid, in the order drawn; empty if they aren't shuffled."""
        return tuple(self._options.get(question, ()))

    def questions_drawn(self, stage: str) -> Sequence[str]:
        """The questions of a stage in the order drawn; empty if they aren't shuffled."""
        return self._questions.get(stage, ())

    def entries(self, column: str) -> list[JSON]:
        """The entries of a column of units, in the order drawn."""
        held = {one["key"]: one for one in self.payload[column]}
        order = self._order.get(column) or list(held)
        if sorted(order) != sorted(held):
            raise FieldErrors({ORDER: f"does not list the entries of {column} once each"})
        return [held[key] for key in order]

    def units(self, column: str, roles: Sequence[str] = ()) -> list[tuple[str, str]]:
        """(key, name of its block) of each entry of a column of units, or of each turn of these roles."""
        if self.layout.columns[column]["kind"] == "turns":
            return [(key, f"{column}_{key}") for key in keys_of(self.payload, column, roles)]
        return [(one["key"], f"{column}_{one['key']}") for one in self.entries(column)]

    def block_names(self, column: str) -> list[str]:
        """The blocks of a column; none if it is empty and so isn't shown."""
        if column in self.layout.by_unit:
            return [block for _, block in self.units(column, self.layout.by_unit[column])]
        return [column] if self.payload.get(column) not in (None, "", []) else []

    def place(self, column: str) -> int:
        """Where a column comes among those that are shuffled; in the file's order if they aren't."""
        return self.drawn.index(column) if column in self.drawn else 0

    def label(self, column: str) -> str:
        """What a column is called on the page."""
        if column in self.drawn:
            return put(f"{{label}} {self.drawn.index(column) + 1}", label=self.layout.shuffled_label)
        return self.layout.labels.get(column, column)

    def blocks(self, stage: int) -> tuple[Block, ...]:
        """Everything that is visible at a stage: what it shows, after what earlier ones have shown."""
        found: list[Block] = []
        for place, group in self.layout.visible[stage]:
            column = self._instead.get(place, place)
            value = self.payload.get(column)
            if not value and value in (None, "", []):
                continue
            look = self.layout.looks.get(place, {})
            if self.layout.columns[column]["kind"] in TEXTS:  # most columns; a turn makes their blocks
                style = format_of(self.payload, column)
                found.append(Block(column, self.label(column), value, format=style, group=group, **look))
            else:
                made = self._blocks(column, value, group)
                found += (replace(block, **look) for block in made) if look else made
        return tuple(found)

    def _blocks(self, column: str, value: Any, group: str) -> Iterator[Block]:
        """The blocks of a column that isn't a text."""
        spec, label = self.layout.columns[column], self.label(column)
        if spec["kind"] == "options":
            yield Block(column, label, items=Answers.of(value).lines, kind="options", group=group)
        elif spec["kind"] == "label":
            yield Block(column, label, self._said(spec, value), kind="answer", group=group)
        elif spec["kind"] == "number":
            unit = f" {spec['unit']}" if spec.get("unit") else ""
            yield Block(column, label, f"{value}{unit}", kind="answer", group=group)
        elif spec["kind"] == "turns" and column in self.layout.by_unit:
            yield from self._turns(column, label, group)
        elif spec["kind"] == "turns":
            turns = tuple(f"{one['role']}: {one['text']}" for one in value)
            yield Block(column, label, items=turns, kind="list", group=group)
        elif spec["kind"] == "units" and column in self.layout.by_unit:
            for number, one in enumerate(self.entries(column), 1):
                name = f"{column}_{one['key']}"
                yield Block(
                    name,
                    put(f"{{label}} {number}", label=label),
                    one["text"],
                    group=group or column,
                    format=format_of(self.payload, column),
                )
        elif spec["kind"] == "units":
            texts = tuple(one["text"] for one in self.entries(column))
            yield Block(column, label, items=texts, kind="list", group=group)

    def _turns(self, column: str, label: str, group: str) -> Iterator[Block]:
        """A block for each turn that is judged, with the turns since the one before; what follows the last one is its own block."""
        judged = set(keys_of(self.payload, column, self.layout.by_unit[column]))
        turns: list[str] = []
        for place, one in enumerate(self.payload[column], 1):
            turns.append(f"{one['role']}: {one['text']}")
            if f"turn{place}" in judged:
                name = f"{column}_turn{place}"
                yield Block(
                    name,
                    put(f"{{label}} {place}", label=label),
                    items=tuple(turns),
                    kind="list",
                    group=group or column,
                )
                turns = []
        if turns:
            yield Block(
                f"{column}_end", f"{label} (end)", items=tuple(turns), kind="list", group=group or column
            )

    def _said(self, spec: Mapping[str, Any], value: str) -> str:
        if column := spec.get("options"):
            return Answers.of(self.payload[column]).say(value)
        named = spec.get("labels", {}).get(value)
        return option_of(value, named).label if named else YES_NO_WORDS.get(value, value)

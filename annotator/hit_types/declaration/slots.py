"""How a model answers the questions of a stage: one last line with all that is chosen, and a line for each text or number.

A question that only one answer of another one opens completes that answer, as on the page: if the spellings differ, both
are answered by one label (``CANNOT GUESS``, or the guess). All other choices are numbered: ``ANSWER: 1=YES; 2=4``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from annotator.hit_types.declaration.passages import passage_line
from annotator.hit_types.replies import (
    MARKER,
    Labels,
    read_answer,
    read_each,
    read_line,
    read_lines,
    read_object,
    write_answer,
    write_answers,
)
from annotator.hit_types.shapes import JSON, Field, Option, Passages, Unparsable

Spell = Callable[[Field, Option], tuple[str, ...]]
#: What stands for the answer to a question that isn't asked, given the others.
UNASKED = "none"
_YES_NO: Labels = {"yes": ("yes",), "no": ("no",)}


@dataclass(frozen=True)
class Slot:
    """One number of the last line: what each label means as a response, and what it's about."""

    about: str
    labels: Labels
    means: Mapping[str, JSON]
    #: The field of several options of which it is one; empty if the slot is a question.
    part_of: str = ""
    #: The option of that field which no slot has: it's chosen where all slots say no.
    alone: str = ""
    #: What the labels stand for, where they don't say it.
    notes: tuple[str, ...] = ()
    #: The line above it, if it is the first row below a heading.
    heading: str = ""

    def label_for(self, response: JSON) -> str:
        """The label that gives this part of a response: that which says most of what agrees with it."""
        fitting = [
            label for label, said in self.means.items() if all(response.get(k) == v for k, v in said.items())
        ]
        return max(fitting, key=lambda label: len(self.means[label]))

    def said_in(self, held: JSON) -> JSON | None:
        """What a JSON object says that has a key for each field; None if it says nothing that fits."""
        named = {name: ("yes" if v else "no") if isinstance(v, bool) else str(v) for name, v in held.items()}
        fitting = [said for said in self.means.values() if said and said.items() <= named.items()]
        return fitting[0] if len(fitting) == 1 and len(self.means) > 1 else None


@dataclass(frozen=True)
class ReplyForm:
    """The reply to one stage: numbered slots, and fields that are written on lines of their own."""

    slots: tuple[Slot, ...]
    written: tuple[Field, ...]

    def marker(self, asked: Field) -> str:
        """What the line of a written field begins with."""
        return MARKER if not self.slots and len(self.written) == 1 else asked.name.upper()

    # -- reading and writing ---------------------------------------------------------------------

    def read(self, text: str, *, keys: Sequence[str], language: str) -> JSON:
        """The raw response in a reply; raises ``Unparsable``."""
        found: JSON = {}
        held = read_object(text) or {}
        for asked in self.written:
            if asked.passages and len(set(read_lines(text, self.marker(asked)))) > 1:
                raise Unparsable(f"the reply has different lines {self.marker(asked)}: ...", kind="ambiguous")
            line = read_line(text, self.marker(asked)) or _said(held.get(asked.name))
            lacks = line.lower() == UNASKED and (asked.conditional or not asked.required)
            if line and not (lacks and not (asked.passages and asked.passages.none)):
                # A list of passages isn't cut: whatever was left out would look as if it hadn't been marked.
                found[asked.name] = line if asked.passages else line[: asked.max_length]
        if not self.slots:
            return self._checked(text, found, language)
        if len(self.slots) == 1 and not self.slots[0].part_of:
            slot = self.slots[0]
            if (said := slot.said_in(held)) is not None:
                return self._checked(text, found, language) | said
            names = [name for said in slot.means.values() for name in said]
            label = read_answer(
                text, slot.labels, keys=tuple(dict.fromkeys((*reversed(names), *keys))), language=language
            )
            return self._checked(text, found, language) | slot.means[label]
        labels = read_each(
            text, {str(n): one.labels for n, one in enumerate(self.slots, 1)}, language=language
        )
        for number, slot in enumerate(self.slots, 1):
            said = slot.means[labels[str(number)]]
            for name, value in said.items():
                found[name] = [*found.get(name, []), *value] if slot.part_of else value
        for slot in self.slots:
            if slot.alone and not found[slot.part_of]:
                found[slot.part_of] = [slot.alone]
        return self._checked(text, found, language)

    def _checked(self, text: str, found: JSON, language: str) -> JSON:
        """The response, if it has every text that must be written; else the reason why the reply lacks it."""
        for asked in self.written:
            if asked.required and not asked.conditional and asked.name not in found:
                if not self.slots:
                    read_answer(text, {"": ("",)}, language=language)
                raise Unparsable(f"the reply has no line {self.marker(asked)}: ...")
        return found

    def write(self, response: JSON) -> str:
        """The end of a reply that means a response: the inverse of ``read``."""
        lines = []
        for asked in self.written:
            kept = str(response.get(asked.name, ""))
            said = "; ".join(kept.split("\n")) if asked.passages else " ".join(kept.split())
            lines.append(f"{self.marker(asked)}: {said or UNASKED}")
        said_by = [one.labels[one.label_for(_parts(one, response))][0] for one in self.slots]
        if len(said_by) == 1 and not self.slots[0].part_of:
            lines.append(write_answer(said_by[0]))
        elif said_by:
            lines.append(write_answers({str(n): label for n, label in enumerate(said_by, 1)}))
        return "\n".join(lines)

    # -- for the prompt --------------------------------------------------------------------------

    @property
    def asks(self) -> str:
        """The questions of a stage as a prompt lists them."""
        lines = []
        if len(self.slots) == 1 and not self.slots[0].part_of:
            lines += [self.slots[0].about, *self.slots[0].notes]
        else:
            for number, one in enumerate(self.slots, 1):
                lines += [one.heading] if one.heading else []
                lines += [f"{number}. {one.about} ({_or(one.labels)})", *(f"   {note}" for note in one.notes)]
        return "\n".join([*lines, *(_written(asked) for asked in self.written)])

    @property
    def form(self) -> str:
        """What the end of a reply has to look like."""
        before = [f"{self.marker(one)}: {_hint(one)}" for one in self.written]
        if not self.slots:
            return "\n".join(
                ["Then end with these lines:" if len(before) > 1 else "Then end with one line:", *before]
            )
        also = (
            ["Then write these lines:" if len(before) > 1 else "Then write one line:", *before]
            if before
            else []
        )
        first = "Then end" if not before else "End"
        if len(self.slots) == 1 and not self.slots[0].part_of:
            spelled = [spellings[0] for spellings in self.slots[0].labels.values()]
            return "\n".join(
                [*also, f"{first} with one last line, exactly one of these:", *map(write_answer, spelled)]
            )
        examples = []
        for turn in range(max(len(one.labels) for one in self.slots)):
            drawn = [list(one.labels.values()) for one in self.slots]
            labels = {str(n): one[(turn + n - 1) % len(one)][0] for n, one in enumerate(drawn, 1)}
            examples.append(write_answers(labels))
        line = f"{first} with one last line that answers every number, in this form, such as:"
        return "\n".join([*also, line, *dict.fromkeys(examples[:4])])


def _parts(slot: Slot, response: JSON) -> JSON:
    """A response, with only this slot's option of a field of several."""
    if not slot.part_of:
        return response
    option = next(said[slot.part_of][0] for said in slot.means.values() if said[slot.part_of])
    return {slot.part_of: [option] if option in response.get(slot.part_of, ()) else []}


def _or(labels: Labels) -> str:
    names = [spelled[0].upper() for spelled in labels.values()]
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _said(value: object) -> str:
    """What a JSON object has for a field that is written; a list of marked passages is a list of objects."""
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        return "; ".join(map(passage_line, value))
    return str(value or "")


def _written(asked: Field) -> str:
    text = f"{asked.name.upper()}: " + " ".join(filter(None, (asked.label, asked.help, _only_if(asked))))
    if asked.passages is None:
        return text
    named = [("Categories", asked.passages.categories), ("Severities", asked.passages.severities)]
    lines = [
        f"{what}: " + "; ".join(_option_text(option) for option in options)
        for what, options in named
        if options
    ]
    return "\n".join([text, *lines])


def _option_text(option: Option) -> str:
    label = "" if option.label.lower() == option.value.replace("_", " ") else option.label
    said = ": ".join(filter(None, (label, option.detail)))
    return f"{option.value} ({said})" if said else option.value


def _passages_hint(asked: Passages, may_lack: bool) -> str:
    severity = f"/{asked.severities[0].value}" if asked.severities else ""
    entry = f'{asked.categories[0].value}{severity}: "the exact words"'
    end = ", or NONE" if may_lack or asked.none else ""
    return (
        f"{entry}; and so on for each passage, in one line, with words that are in the text once "
        f"(or followed by #2 for their second occurrence){end}"
    )


def _hint(asked: Field) -> str:
    if asked.passages:
        return _passages_hint(asked.passages, asked.conditional or not asked.required)
    may_lack = asked.conditional or not asked.required
    what = f"a number such as {asked.bounds[0]}" if asked.bounds else "your words, in one line"
    return what + (" or NONE" if may_lack else "")


def form_of_reply(fields: Sequence[Field], blocks: Mapping[str, str], spell: Spell) -> ReplyForm:
    """The form of replies to these fields. ``blocks`` has the label of each block that a field may belong to."""
    written = tuple(asked for asked in fields if asked.kind == "text")
    slots: list[Slot] = []
    joined: set[str] = set()
    heading = ""
    for asked in fields:
        if asked.kind == "text" or asked.name in joined:
            continue
        about = f"{blocks[asked.target]}: {asked.label}" if asked.target in blocks else str(asked.label)
        if asked.row:
            about = asked.row
        about = " ".join(filter(None, (about, asked.help, _only_if(asked))))
        above = f"{asked.heading} {asked.heading_help}".strip() if asked.heading != heading else ""
        heading = asked.heading
        if asked.kind == "multi":
            slots += [
                Slot(
                    f"{about} {one.label}",
                    _YES_NO,
                    {"yes": {asked.name: [one.value]}, "no": {asked.name: []}},
                    asked.name,
                    alone=asked.alone,
                )
                for one in asked.options
                if one.value != asked.alone
            ]
            continue
        leaves, inside = _leaves(asked, fields, spell)
        spelled = [text for spellings in leaves.values() for text in spellings[1]]
        if len(set(spelled)) < len(spelled):
            leaves, inside = (
                {one.value: ({asked.name: one.value}, spell(asked, one)) for one in asked.options},
                [],
            )
        about = " ".join(
            [about, *(f"{_condition(one, fields)}: {one.label} {one.help}".strip() for one in inside)]
        )
        notes = [_note(field, one, spell) for field in (asked, *inside) for one in field.options]
        joined |= {one.name for one in inside}
        labels = {label: spellings for label, (_, spellings) in leaves.items()}
        means = {label: said for label, (said, _) in leaves.items()}
        if asked.conditional or not asked.required:
            own = {text for spellings in labels.values() for text in spellings}
            name = UNASKED if UNASKED not in own else "no answer"
            labels[name], means[name] = (name, "not asked"), {}
        slots.append(Slot(about, labels, means, notes=tuple(filter(None, notes)), heading=above))
    return ReplyForm(tuple(slots), written)


def _only_if(asked: Field) -> str:
    return f"(Only if {asked.only_if}.)" if asked.only_if else ""


def _condition(asked: Field, fields: Sequence[Field]) -> str:
    """When a question is asked that one answer of another opens: "If Helpful"."""
    other, (value,) = asked.when[0]
    options = {one.value: one.label for field in fields if field.name == other for one in field.options}
    return f"If {options[value]}"


def _note(asked: Field, option: Option, spell: Spell) -> str:
    """What a label stands for; empty if it says so itself."""
    name = spell(asked, option)[0]
    said = " ".join(filter(None, (option.label if option.label.lower() != name else "", option.detail)))
    return f"{name.upper()}: {said}" if said else ""


Leaves = dict[str, tuple[JSON, tuple[str, ...]]]


def _leaves(asked: Field, fields: Sequence[Field], spell: Spell) -> tuple[Leaves, list[Field]]:
    """Label -> (what it means, spellings) for a question with those that complete its answers, and these questions."""
    found: Leaves = {}
    inside: list[Field] = []
    closing: list[tuple[str, JSON, tuple[str, ...]]] = []
    for option in asked.options:
        opened = [one for one in fields if one.when == ((asked.name, (option.value,)),) and not one.compares]
        said: JSON = {asked.name: option.value}
        if len(opened) == 1 and opened[0].kind == "choice":
            deeper, further = _leaves(opened[0], fields, spell)
            inside += [opened[0], *further]
            found |= {label: (said | more, spellings) for label, (more, spellings) in deeper.items()}
        else:
            closing.append((option.value, said, spell(asked, option)))
    # The labels of deeper answers come first: words for yes and no in other languages are added to labels of these names.
    ends = {
        f"{asked.name}={value}" if value in found else value: (said, spelled)
        for value, said, spelled in closing
    }
    order = {option.value: number for number, option in enumerate(asked.options)}
    whole = {**found, **ends}
    return dict(sorted(whole.items(), key=lambda one: order[one[1][0][asked.name]])), inside

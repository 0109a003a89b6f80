"""Checks what a file's names refer to: columns, questions, answers. Parts that are malformed are left out; their problem is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from annotator.hit_types.columns import ITEM_COLUMNS, SYSTEM_COLUMNS
from annotator.hit_types.declaration.conditions import when_problems
from annotator.hit_types.declaration.items import ATTRIBUTES, LISTS, MATERIAL
from annotator.hit_types.declaration.kind_checks import has_parts, kind_problems
from annotator.hit_types.declaration.kinds import question_of
from annotator.hit_types.declaration.problems import Faults, Path, shown_value
from annotator.hit_types.declaration.prompting import FORM, QUESTIONS
from annotator.hit_types.declaration.prompting import MATERIAL as SHOWN
from annotator.hit_types.declaration.questionnaire_files import questionnaire_names
from annotator.hit_types.declaration.shuffling import question_groups
from annotator.hit_types.declaration.variable_checks import variable_checked

_ITEM = {column.name for column in ITEM_COLUMNS}
_RESERVED = _ITEM | {column.name for column in SYSTEM_COLUMNS} | {"arm", "order", SHOWN, QUESTIONS, FORM}
#: Kinds of columns that only some roles can have.
_TEXTS = ("text", "markdown", "code", "table", "image")


class References:
    """The names of one file, as far as they are well-formed."""

    def __init__(self, value: Mapping[str, Any], faults: Faults):
        self.value = value
        self.faults = faults
        self.broken = {problem.path for problem in faults.problems}
        self.columns = self._sound(("columns",))
        #: The stages with their questions, in order.
        self.stages = {name: self._stage(name) for name in self._names(("stages",))}

    # -- parts that are well-formed ----------------------------------------------------------------

    def _at(self, path: Path) -> Any:
        held: Any = self.value
        for step in path:
            held = held.get(step) if isinstance(held, Mapping) else None
        return held

    def _names(self, path: Path) -> list[str]:
        held = self._at(path)
        return list(held) if isinstance(held, Mapping) else []

    def _is_sound(self, path: Path) -> bool:
        return not any(bad[: len(path)] == path for bad in self.broken)

    def _sound(self, path: Path) -> dict[str, Any]:
        """The entries of an object that have no problem; a column without its details is still a name."""
        held = self._at(path)
        names = self._names(path)
        return {name: held[name] for name in names if self._is_sound((*path, name))}

    def _stage(self, name: str) -> dict[str, Any]:
        path: Path = ("stages", name)
        return {"show": self._sound((*path, "show")), "questions": self._sound((*path, "questions"))}

    # -- the checks ------------------------------------------------------------------------------

    def check(self) -> None:
        """Add a problem for each name that refers to nothing, or to something of the wrong kind."""
        self._columns()
        self._shown()
        self._shuffled()
        taken: dict[str, Path] = {}
        for stage, held in self.stages.items():
            if (
                self._at(("stages", stage, "shuffled")) is True
                and len(question_groups(held["questions"])) < 2
            ):
                self.faults.add(
                    ("stages", stage, "shuffled"),
                    "is true; expected two questions or more that don't depend on each other",
                )
            for name in self._names(("stages", stage, "questions")):
                path = ("stages", stage, "questions", name)
                self._field_name(name, path, taken)
                if name in held["questions"]:
                    self._question(stage, name, path)
        if not taken and self.stages and self._is_sound(("stages",)):
            self.faults.add(("stages",), "ask nothing; expected at least one question")
        self._variables()
        self._keys("practice")
        self._keys("exam")
        self._defaults()

    def check_arm(self) -> None:
        """Check what an arm makes of a file that is right by itself: ``self.value`` hides some columns and lacks some questions."""
        for name, one in self.columns.items():
            if "options" in one and not one.get("hidden"):
                self._column_of(("columns", name, "options"), one["options"], ("options",))
        self._shuffled()
        for stage, held in self.stages.items():
            for name in held["questions"]:
                self._question(stage, name, ("stages", stage, "questions", name))

    def _columns(self) -> None:
        path: Path = ("columns",)
        for name in self._names(path):
            if name in _RESERVED:
                self.faults.add((*path, name), "is a name that Foretell uses itself; choose another")
        instances = [name for name, one in self.columns.items() if one.get("is") == "instance"]
        if self._is_sound(path) and len(instances) != 1:
            self.faults.add(path, f"need exactly one with `is: instance`; {len(instances)} have it")
        roles: dict[str, str] = {}
        for name, one in self.columns.items():
            at, kind = (*path, name), one["kind"]
            if role := one.get("is"):
                if role in roles:
                    self.faults.add(
                        (*at, "is"), f"is {shown_value(role)}, as is that of {roles[role]}; one column can be"
                    )
                roles[role] = name
                if kind in LISTS or kind in ("options", "number"):
                    self.faults.add(
                        (*at, "is"),
                        f"can't be given for kind {kind}; expected one of: {', '.join((*_TEXTS, 'label'))}",
                    )
                if role == "instance" and (
                    one.get("hidden") or not one.get("required", True) or kind == "label"
                ):
                    self.faults.add(
                        (*at, "is"), 'is "instance"; that column is a text which is shown and required'
                    )
            elif one.get("hidden"):
                self.faults.add(
                    (*at, "hidden"),
                    f"needs `is`, to say what it's kept for; expected one of: {', '.join(sorted(_ROLES))}",
                )
            if role == "real_output" and not one.get("hidden"):
                self.faults.add((*at, "is"), 'is "real_output"; set hidden: true, since raters predict it')
            if one.get("hidden") and kind in (*LISTS, "options", "number"):
                self.faults.add((*at, "hidden"), f"can't be given for kind {kind}")
            self._column(at, one)

    def _column(self, at: Path, one: Mapping[str, Any]) -> None:
        kind = one["kind"]
        if kind == "label" and not one.get("labels") and not one.get("options"):
            self.faults.add(at, "has kind label; expected its labels, or options: a column of kind options")
        for key, kinds in (("labels", ("label",)), ("described", ("image",)), ("options", ("label", *_TEXTS)), ("unit", ("number",)),
                           ("least", LISTS), ("most", LISTS), ("shuffled", ("units",))):  # fmt: skip
            if key in one and kind not in kinds:
                self.faults.add((*at, key), f"can't be given for kind {kind}; only for {' and '.join(kinds)}")
        if "options" in one:
            self._column_of((*at, "options"), one["options"], ("options",), before=str(at[-1]))
        if one.get("least", 1) > one.get("most", 50):
            self.faults.add(
                (*at, "least"), f"is {one['least']}, more than most; expected at most {one.get('most', 50)}"
            )

    def _column_of(self, path: Path, name: str, kinds: Iterable[str] = (), before: str = "") -> None:
        """A name that must be that of a column which is shown."""
        known = self._names(("columns",))
        if name not in known:
            self.faults.add(
                path, f"is {shown_value(name)}, which is no column; expected one of: {', '.join(known)}"
            )
            return
        one = self.columns.get(name)
        if one is None:
            return
        if kinds and one["kind"] not in kinds:
            self.faults.add(
                path,
                f"is {shown_value(name)}, a column of kind {one['kind']}; expected one of kind {' or '.join(kinds)}",
            )
        if one.get("hidden"):
            self.faults.add(path, f"is {shown_value(name)}, which is hidden from raters")
        if before and known.index(name) > known.index(before):
            self.faults.add(path, f"is {shown_value(name)}, which comes later; put it before {before}")

    def _shown(self) -> None:
        first: dict[str, str] = {}
        for stage in self.stages:
            for column in self._names(("stages", stage, "show")):
                path = ("stages", stage, "show", column)
                if column not in self._names(("columns",)):
                    self.faults.add(
                        path, f"is no column; expected one of: {', '.join(self._names(('columns',)))}"
                    )
                elif self.columns.get(column, {}).get("hidden"):
                    self.faults.add(path, "is hidden from raters; remove it here, or `hidden` there")
                elif column in first:
                    self.faults.add(path, f"is shown since stage {first[column]}; remove it here")
                first.setdefault(column, stage)
        unseen = [
            n
            for n, one in self.columns.items()
            if n not in first and not one.get("hidden") and not self._is_options(n)
        ]
        for name in unseen:
            if self._is_sound(("stages",)):
                self.faults.add(("columns", name), "is shown in no stage; show it, or set hidden: true")

    def _is_options(self, column: str) -> bool:
        return self.columns[column]["kind"] == "options"

    def _visible(self, stage: str) -> set[str]:
        """The columns that are visible at a stage."""
        names = list(self.stages)
        upto = names[: names.index(stage) + 1]
        return {column for one in upto for column in self._names(("stages", one, "show"))}

    def _shuffled(self) -> None:
        if "shuffled" not in self.value or not self._is_sound(("shuffled",)):
            return
        columns = self.value["shuffled"]["columns"]
        for number, name in enumerate(columns):
            path: Path = ("shuffled", "columns", number)
            self._column_of(path, name, _TEXTS)
            if columns.index(name) < number:
                self.faults.add(path, f"is {shown_value(name)} for the second time")
        at = {
            stage
            for stage in self.stages
            for name in self._names(("stages", stage, "show"))
            if name in columns
        }
        if len(at) > 1:
            self.faults.add(("shuffled", "columns"), "are shown in different stages; show them in one")
        required = [name for name in columns if not self.columns.get(name, {}).get("required", True)]
        for name in required:
            self.faults.add(("columns", name, "required"), "is false; columns that are shuffled are required")

    def _field_name(self, name: str, path: Path, taken: dict[str, Path]) -> None:
        if name in taken:
            self.faults.add(path, "is asked twice; give each question a name of its own")
        if name.startswith("confidence"):
            self.faults.add(
                path,
                "begins with confidence, which Foretell asks itself (a study's setting); choose another name",
            )
        for other in taken:
            for long, short in ((name, other), (other, name)):
                at = path if short == name else taken[short]
                if long.startswith(f"{short}_") and self._has_parts(at):
                    self.faults.add(
                        path if long == name else taken[long],
                        f"begins like the fields of {short}; choose a name that doesn't begin with {short}_",
                    )
        taken.setdefault(name, path)

    def _has_parts(self, path: Path) -> bool:
        one = self._at(path)
        return isinstance(one, Mapping) and has_parts(one)

    def _question(self, stage: str, name: str, path: Path) -> None:
        one = self.stages[stage]["questions"][name]
        visible = self._visible(stage)
        for number, column in enumerate(one.get("about", ())):
            at = (*path, "about", number)
            self._column_of(at, column)
            if column in self.columns and column not in visible:
                self.faults.add(at, f"is {shown_value(column)}, which isn't shown at this stage")
        if "for_each" in one:
            self._column_of((*path, "for_each"), one["for_each"], LISTS)
            if one["for_each"] in self.columns and one["for_each"] not in visible:
                self.faults.add(
                    (*path, "for_each"), f"is {shown_value(one['for_each'])}, which isn't shown at this stage"
                )
        self._each(one, path)
        self._folded(one, path)
        if "in" in one:
            self._passages(one["in"], (*path, "in"), visible)
            others = self.stages[stage]["questions"].items()
            first = next(other for other, held in others if held.get("in") == one["in"])
            if first != name:
                self.faults.add(
                    (*path, "in"), f"is {shown_value(one['in'])}, in which {first} marks passages already"
                )
        names = self._names(("stages", stage, "questions"))
        conditions = when_problems(one, names[: names.index(name)], self.stages[stage]["questions"])
        for problem, message in (*conditions, *kind_problems(one)):
            self.faults.add((*path, *problem), message)
        if one["kind"] == "choice":
            if ("options" in one) == ("options_of" in one):
                self.faults.add(path, "needs either options or options_of")
            if "options_of" in one:
                self._column_of((*path, "options_of"), one["options_of"], ("options",))
        for number, column in enumerate(one.get("between", ())):
            self._column_of((*path, "between", number), column, _TEXTS)
            if column in self.columns and column not in visible:
                self.faults.add(
                    (*path, "between", number), f"is {shown_value(column)}, which isn't shown at this stage"
                )

    def _folded(self, one: Mapping[str, Any], path: Path) -> None:
        """What a question needs in view can't be folded away at first."""
        shown = {name: held for stage in self.stages.values() for name, held in stage["show"].items()}
        closed = {
            name
            for name, held in shown.items()
            if isinstance(held, Mapping) and held.get("collapsible") == "closed"
        }
        for key in ("about", "between", "for_each", "in"):
            named = one.get(key, ())
            for column in [named] if isinstance(named, str) else named:
                if column in closed:
                    message = f"has {shown_value(column)}, which is closed at first; write `collapsible: open` there"
                    self.faults.add((*path, key), message)

    def _each(self, one: Mapping[str, Any], path: Path) -> None:
        column = one.get("for_each", "")
        turns = self.columns.get(column, {}).get("kind") == "turns"
        if "roles" in one and not turns:
            self.faults.add(
                (*path, "roles"), "can't be given here; only for_each of a column of kind turns has roles"
            )
        if not turns:
            return
        if not self.columns[column].get("required", True):
            self.faults.add((*path, "for_each"), f"is {shown_value(column)}, which isn't required")
        others = [
            question
            for stage in self.stages.values()
            for question in stage["questions"].values()
            if question.get("for_each") == column and question.get("roles") != one.get("roles")
        ]
        if others:
            self.faults.add(
                (*path, "roles"), f"differ from those of another question about {column}; give the same"
            )

    def _passages(self, column: str, path: Path, visible: set[str]) -> None:
        self._column_of(path, column, ("text",))
        if column in self.columns:
            if column not in visible:
                self.faults.add(path, f"is {shown_value(column)}, which isn't shown at this stage")
            if not self.columns[column].get("required", True):
                self.faults.add(path, f"is {shown_value(column)}, which isn't required; passages need a text")

    def _variables(self) -> None:
        asked = {name: one for held in self.stages.values() for name, one in held["questions"].items()}
        every = [name for stage in self.stages for name in self._names(("stages", stage, "questions"))]
        named = self._sound(("variables",))
        known: list[str] = []
        for name, one in named.items():
            path: Path = ("variables", name)
            question = one.get("question", name)
            if question not in every:
                at = (*path, "question") if "question" in one else path
                self.faults.add(
                    at, f"is {shown_value(question)}, no question; expected one of: {', '.join(every)}"
                )
            elif question in asked:
                made, problems = variable_checked(name, one, asked[question], question)
                known += made
                for place, message in problems:
                    self.faults.add((*path, *place), message)
        if "variables" not in self.value:
            known = (
                [
                    v.name
                    for name, one in asked.items()
                    for v in question_of(name, one).variables()
                    if not v.structured
                ]
                if self._is_sound(("stages",)) and not self.faults.problems
                else []
            )
            if not known and not self.faults.problems:
                self.faults.add(
                    ("stages",), "measure nothing; expected at least one question that isn't a text"
                )
        head = self.value.get("headline")
        if isinstance(head, str) and known and head not in known:
            self.faults.add(
                ("headline",), f"is {shown_value(head)}, no variable; expected one of: {', '.join(known)}"
            )

    def _keys(self, which: str) -> None:
        held = self.value.get(which)
        first: dict[str, int] = {}
        for number, one in enumerate(held if isinstance(held, list) else ()):
            key = one.get("key") if isinstance(one, Mapping) else None
            if isinstance(key, str) and first.setdefault(key, number) != number:
                self.faults.add(
                    (which, number, "key"),
                    f"is {shown_value(key)}, as in {which}[{first[key] + 1}]; give each its own",
                )

    def _defaults(self) -> None:
        if not self._is_sound(("defaults",)):
            return
        defaults, exam = self.value.get("defaults", {}), self.value.get("exam")
        for moment in ("before", "after"):
            for place, name in enumerate(defaults.get(moment, ())):
                if name not in questionnaire_names():
                    known = ", ".join(questionnaire_names())
                    self.faults.add(("defaults", moment, place), f'is "{name}"; expected one of: {known}')
        asked = defaults.get("exam_questions", 0)
        if asked > (len(exam) if isinstance(exam, list) else 0):
            self.faults.add(
                ("defaults", "exam_questions"),
                f"is {asked}; the exam has {len(exam) if isinstance(exam, list) else 0}",
            )
        if defaults.get("pass_mark", 0) > asked:
            self.faults.add(
                ("defaults", "pass_mark"),
                f"is {defaults['pass_mark']}; expected at most exam_questions, {asked}",
            )


_ROLES = (
    ATTRIBUTES
    - set(MATERIAL.values())
    - {"instance_key", "parts", "units", "system", "model", "method", "follow_up_gold"}
) | set(MATERIAL)

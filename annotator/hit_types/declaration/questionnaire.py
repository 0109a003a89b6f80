"""Questionnaires before and after a study: files like those of HIT types, with questions and without items.

A study's setting holds one or several such files, separated by lines of ``---``; each is a part of one page. Nobody has to
answer: every question may be left blank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from annotator.hit_types.declaration.document import DeclaredFile, document_read
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.making import hit_type_made, version_of
from annotator.hit_types.declaration.problems import DeclarationRefused, Faults, Problem
from annotator.hit_types.declaration.problems import Path as Place
from annotator.hit_types.declaration.questionnaire_files import FOLDER, questionnaire_names
from annotator.hit_types.declaration.references import References
from annotator.hit_types.declaration.shape import questionnaire_shape_check
from annotator.hit_types.declaration.texts import texts_marked, translations_check
from annotator.hit_types.shapes import JSON, FieldErrors, Stage, answers_in_words

#: Characters of all files of one setting.
LONGEST = 100_000
#: Parts of one page, and questions in all of them.
MOST_PARTS, MOST_QUESTIONS = 6, 80
_STAGE, _PERSON = "questionnaire", "whose_answers"
_NAMES = re.compile(r"[a-z][a-z0-9_]*(?:[\s,]+[a-z][a-z0-9_]*)*\Z")
_LINE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"""^[\s{]*["']?foretell_questionnaire["']?\s*:""", re.MULTILINE)


@dataclass(frozen=True)
class Questionnaire:
    """One file: its questions as those of a HIT type without items, and the scores that are made from them."""

    spec: Mapping[str, Any]
    kind: DeclaredHitType

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def title(self) -> str:
        return str(self.spec["title"])

    @property
    def stage(self) -> Stage:
        """Its questions, as a stage of a task."""
        return self.kind.stages({})[0]

    def read(self, raw: Mapping[str, Any]) -> JSON:
        """What was answered, of the values that a form sent; raises ``FieldErrors``. Blank answers are left out."""
        return {
            name: value for name, value in self.kind.parse_response({}, raw).items() if value not in ("", [])
        }

    def said(self, response: JSON, translate: Callable[[str], str] = str) -> list[tuple[str, str]]:
        """(question, answer) in words."""
        return [pair for pair in answers_in_words((self.stage,), response, translate) if pair[1]]

    def values(self, response: JSON) -> dict[str, str]:
        """The attributes that answers give a rater: the value of each question that was answered and isn't a text, and the scores
        whose questions were all answered."""
        structured = {one.name for one in self.kind.variables if one.structured}
        found = {
            one.variable: one.value
            for one in self.kind.to_ratings({}, response)
            if one.variable not in structured and not one.unit
        }
        return found | dict(self._scores(found))

    def _scores(self, found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name, score in self.spec.get("scores", {}).items():
            if all(one in found for one in score["mean_of"]):
                yield name, score_text(score, found, {one: self.ends(one) for one in score["mean_of"]})

    def ends(self, variable: str) -> tuple[int, int]:
        """The lowest and the highest value of a variable that is a number on a scale. Raises ``KeyError`` for others."""
        for name, one in self.spec["questions"].items():
            if one["kind"] == "scale" and name == variable:
                return one["from"], one["to"]
            if one["kind"] == "slider" and name == variable:
                return one["least"], one["most"]
            if (
                one["kind"] == "grid"
                and "from" in one
                and variable in [f"{name}_{row}" for row in one["rows"]]
            ):
                return one["from"], one["to"]
        raise KeyError(variable)

    @property
    def titles(self) -> dict[str, str]:
        """What each attribute is, in words."""
        named = {one.name: one.title for one in self.kind.variables if not one.structured}
        return named | {name: one["title"] for name, one in self.spec.get("scores", {}).items()}


def score_text(
    score: Mapping[str, Any], found: Mapping[str, str], ends: Mapping[str, tuple[int, int]]
) -> str:
    """The mean of some answers, each from 0 to 1 of its scale, as a number between the ends of ``onto``; those that are
    ``reversed`` count from the other end. At most two decimals.

    >>> score = {"mean_of": ["easy", "clumsy"], "reversed": ["clumsy"], "onto": [0, 100]}
    >>> score_text(score, {"easy": "5", "clumsy": "2"}, {"easy": (1, 5), "clumsy": (1, 5)})
    '87.5'
    """
    parts = []
    for name in score["mean_of"]:
        low, high = ends[name]
        part = (float(found[name]) - low) / (high - low)
        parts.append(1 - part if name in score.get("reversed", ()) else part)
    least, most = score["onto"]
    return f"{round(least + (most - least) * sum(parts) / len(parts), 2):g}"


@lru_cache(maxsize=64)
def questionnaires_read(text: str) -> tuple[Questionnaire, ...]:
    """The questionnaires of a study's setting; none of an empty one. Raises ``DeclarationRefused`` with all problems."""
    if not text.strip():
        return ()
    if len(text) > LONGEST:
        raise DeclarationRefused(
            [Problem((), f"has {len(text):,} characters; expected at most {LONGEST:,}", 1)]
        )
    found: list[Questionnaire] = []
    problems: list[Problem] = []
    for part in _parts(text):
        try:
            found.append(_read(document_read(part)))
        except DeclarationRefused as error:
            problems += error.problems
    names = [one.name for one in found]
    for name in sorted({one for one in names if names.count(one) > 1}):
        problems.append(
            Problem(("name",), f'is "{name}" twice; each questionnaire needs a name of its own', 1)
        )
    if len(names) > MOST_PARTS:
        problems.append(Problem((), f"has {len(names)} questionnaires; expected at most {MOST_PARTS}", 1))
    asked = sum(len(one.stage.fields) for one in found)
    if asked > MOST_QUESTIONS:
        problems.append(Problem((), f"asks {asked} questions; expected at most {MOST_QUESTIONS}", 1))
    if problems:
        raise DeclarationRefused(problems)
    return tuple(found)


def _parts(text: str) -> Iterator[str]:
    """The files of a text, each after as many empty lines as there are lines before it."""
    start = 0
    for end in [*(one.start() for one in _LINE.finditer(text)), len(text)]:
        part = text[start:end].removeprefix("---")
        if part.strip():
            yield "\n" * text[:start].count("\n") + part
        start = end


def _read(document: DeclaredFile) -> Questionnaire:
    faults = Faults(document.lines)
    questionnaire_shape_check(document.value, faults)
    if not isinstance(document.value, Mapping):
        faults.check()
    spec: Mapping[str, Any] = document.value
    inner = _Within(document.lines, faults)
    References(_as_hit_type(spec), inner).check()
    faults.check()
    made = Questionnaire(spec, hit_type_made(_as_hit_type(texts_marked(spec))))
    _scores_check(made, faults)
    translations_check(spec, faults)
    faults.check()
    return made


class _Within(Faults):
    """Collects problems of the questions of the HIT type that a questionnaire is read as, under the places that they have in the
    file. Others are about what a questionnaire doesn't have, such as something measured."""

    def __init__(self, lines: dict[Place, int], outer: Faults):
        super().__init__(lines)
        self.outer = outer
        self.problems = [Problem(_inside(one.path), one.message) for one in outer.problems]

    def add(self, path: Any, message: str) -> None:
        place = tuple(path)
        if place[:3] == ("stages", _STAGE, "questions"):
            self.outer.add(place[2:], message)


def _inside(path: Place) -> Place:
    return ("stages", _STAGE, *path) if path[:1] == ("questions",) else path


def _as_hit_type(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The HIT type with the same questions: its only column has nothing to show."""
    asked = spec.get("questions")
    questions = {
        name: {**one, "required": False} if isinstance(one, Mapping) else one
        for name, one in (asked if isinstance(asked, Mapping) else {}).items()
    }
    title = spec.get("title", "")
    stage = {
        "title": title,
        "lead": spec.get("lead", ""),
        "show": {_PERSON: "Person"},
        "questions": questions,
    }
    return {
        "name": str(spec.get("name", "questionnaire")),
        "title": title,
        "task": title,
        "source": spec.get("source", ""),
        "columns": {_PERSON: {"kind": "text", "help": "Person", "example": "-", "is": "instance"}},
        "stages": {_STAGE: stage},
        "instructions": "",
    }


def _scores_check(made: Questionnaire, faults: Faults) -> None:
    for name, score in made.spec.get("scores", {}).items():
        path = ("scores", name)
        if name in made.titles and name in {one.name for one in made.kind.variables}:
            faults.add(path, "is also the name of a question; choose another")
        for place, one in enumerate(score["mean_of"]):
            try:
                made.ends(one)
            except KeyError:
                faults.add(
                    (*path, "mean_of", place),
                    f'is "{one}"; expected a question of kind scale or slider, or QUESTION_ROW of a grid with from and to',
                )
        for place, one in enumerate(score.get("reversed", ())):
            if one not in score["mean_of"]:
                faults.add((*path, "reversed", place), f'is "{one}", which is not in mean_of')
        if score["onto"][0] >= score["onto"][1]:
            faults.add((*path, "onto"), "needs the lower end first")


def questionnaires_text(
    text: str, own: Callable[[str], str | None] | None = None, names: Iterable[str] = ()
) -> str:
    """What a study stores: files as they are written, with one kind of line end; names of questionnaires that come with
    Foretell, or that ``own`` has a file for, become their files, so that a study keeps what it has asked. Raises ``DeclarationRefused``, with
    the ``names`` of one's own among those that were expected.

    >>> questionnaires_text("demographics").splitlines()[1]
    'foretell_questionnaire: 1'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if _NAMES.match(text):
        text = "---\n".join(_file(name, own, names) for name in re.split(r"[\s,]+", text)).strip()
    questionnaires_read(text)
    return text


def _file(name: str, own: Callable[[str], str | None] | None, names: Iterable[str]) -> str:
    if name in questionnaire_names():
        return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    found = own(name) if own else None
    if found is None:
        known = ", ".join([*questionnaire_names(), *names])
        raise DeclarationRefused(
            [Problem((), f'is "{name}"; expected one of: {known}; or the text of a file', 1)]
        )
    return found


def declares_questionnaire(source: str | bytes) -> bool:
    """Whether a file is meant as a questionnaire, also if it has problems; others are read as HIT types.

    >>> declares_questionnaire("foretell_questionnaire: 1\\nname: [")
    True
    """
    try:
        value = document_read(source).value
    except DeclarationRefused:
        text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
        return bool(_KEY.search(text))
    return isinstance(value, Mapping) and "foretell_questionnaire" in value


def questionnaires_version(text: str) -> str:
    """The version of a setting's content: 12 hexadecimal digits, which comments don't change."""
    return version_of({one.name: one.spec for one in questionnaires_read(text)})


def questionnaires_answers(
    parts: tuple[Questionnaire, ...], raw: Mapping[str, Any]
) -> tuple[dict[str, JSON], dict[str, str]]:
    """What a page's form sent: each questionnaire's answers by its name, and the attributes as ``name.variable``. Fields are
    named as ``prefix_of`` says. Raises ``FieldErrors`` by those names."""
    answers: dict[str, JSON] = {}
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    for number, one in enumerate(parts):
        prefix = prefix_of(number)
        sent = {name.removeprefix(prefix): value for name, value in raw.items() if name.startswith(prefix)}
        try:
            answers[one.name] = one.read(sent)
        except FieldErrors as error:
            errors |= {f"{prefix}{name}": fault for name, fault in error.errors.items()}
        else:
            values |= {f"{one.name}.{name}": value for name, value in one.values(answers[one.name]).items()}
    if errors:
        raise FieldErrors(errors)
    return answers, values


def prefix_of(number: int) -> str:
    """What the names of the fields of a page's part begin with.

    >>> prefix_of(0)
    'q1-'
    """
    return f"q{number + 1}-"

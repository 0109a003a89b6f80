"""The translations that a file carries for its own texts: language -> text as it is in the file -> the same in that language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotator.hit_types.declaration.problems import Faults, shown_value
from annotator.hit_types.wording import FileText

#: Keys whose value is a text that annotators read.
_TEXTS = {
    "title",
    "task",
    "lead",
    "ask",
    "help",
    "label",
    "detail",
    "low",
    "high",
    "none",
    "other",
    "equal",
    "unit",
}
#: Keys of an object whose values are such texts, or objects with a label.
_NAMED = {"options", "rows", "anchors", "categories", "severities", "strength", "show", "labels", "messages"}
#: Parts of a file that have texts of the task. Instructions, practice and exams are translated with a study.
PARTS = ("title", "task", "lead", "columns", "shuffled", "stages", "questions", "arms")
#: The parts of an arm that have such texts.
_OF_ARM = ("lead", "show", "questions")
#: Languages are ISO 639 codes, as in the settings of an installation.
KEY = "translations"


def texts_marked(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A file's value whose texts bring their translations; names, kinds and values stay as they are.

    >>> spec = {"questions": {"age": {"kind": "text", "ask": "Age"}}, "translations": {"de": {"Age": "Alter"}}}
    >>> texts_marked(spec)["questions"]["age"]["ask"].others
    {'de': 'Alter'}
    """
    others: dict[str, dict[str, str]] = {}
    for language, texts in spec.get(KEY, {}).items():
        for text, translation in texts.items():
            others.setdefault(text, {})[language] = translation
    if not others:
        return spec
    marked = {name: _marked(name, value, others) if name in PARTS else value for name, value in spec.items()}
    for arm, own in spec.get("arms", {}).items():
        marked["arms"] = {
            **marked["arms"],
            arm: {**own, **{key: marked["arms"][arm][key] for key in _OF_ARM if key in own}},
        }
    return marked


def _marked(key: str, value: Any, others: Mapping[str, Mapping[str, str]]) -> Any:
    if isinstance(value, str):
        return FileText(value, others[value]) if key in _TEXTS and value in others else value
    if not isinstance(value, Mapping):
        return value
    if key in _NAMED:
        return {
            name: (FileText(one, others[one]) if one in others else one)
            if isinstance(one, str)
            else _marked("", one, others)
            for name, one in value.items()
        }
    return {name: _marked(str(name), one, others) for name, one in value.items()}


def texts_of(spec: Mapping[str, Any]) -> list[str]:
    """The texts of a file that can be translated, each once, in its order.

    >>> texts_of({"title": "Age", "questions": {"age": {"kind": "yes_no", "ask": "Old?", "when": {"a": "Old?"}}}})
    ['Age', 'Old?']
    """
    parts = {name: spec[name] for name in PARTS if name in spec}
    for arm, own in parts.get("arms", {}).items():
        parts["arms"] = {**parts["arms"], arm: {key: own[key] for key in _OF_ARM if key in own}}
    return list(dict.fromkeys(one for name, part in parts.items() for one in _texts(name, part)))


def _texts(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if key in _TEXTS:
            yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            if key in _NAMED and isinstance(one, str):
                yield one
            else:
                yield from _texts("" if key in _NAMED else str(name), one)


def translations_check(spec: Mapping[str, Any], faults: Faults) -> None:
    """Add a problem for each translation of a text that the file doesn't have."""
    known = set(texts_of(spec))
    for language, texts in spec.get(KEY, {}).items():
        for text in texts:
            if text not in known:
                faults.add(
                    (KEY, language, text), f"translates {shown_value(text)}, which is no text of this file"
                )

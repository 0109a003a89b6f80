"""Reads message catalogues, and the strings in the source that they translate, without GNU gettext."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.translation.template import templatize

from foretell import env

FUNCTIONS = {
    "gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "_": 1, "ngettext": 1, "ngettext_lazy": 1,
    "pgettext": 2, "pgettext_lazy": 2, "npgettext": 2,
}  # fmt: skip
#: Templates of the admin, which is in English; Django translates those that it knows itself.
RESEARCHERS = ("admin", "unfold")
_LINE = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d)\])? (".*")')
_STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_IN_TEMPLATE = re.compile(rf"(?<!\w)(_|gettext|pgettext|ngettext|npgettext)\(((?:\s*{_STRING}\s*,?)+)", re.S)


@dataclass
class Entry:
    """One message of a .po file; ``forms`` are its translations, more than one where there is a plural."""

    context: str = ""
    text: str = ""
    plural: str = ""
    forms: dict[int, str] = field(default_factory=dict)
    flags: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.context, self.text


def entries(path: Path) -> list[Entry]:
    """The messages of a .po file, the header first. Messages that are no longer used (``#~``) are left out."""
    found = []
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        entry, last = Entry(), ("msgid", 0)
        for line in paragraph.splitlines():
            if line.startswith("#,"):
                entry.flags = line
            elif match := _LINE.fullmatch(line):
                last = (match[1], int(match[2] or 0))
                _add(entry, last, ast.literal_eval(match[3]))
            elif line.startswith('"'):
                _add(entry, last, ast.literal_eval(line))
        if entry.forms:
            found.append(entry)
    return found


def _add(entry: Entry, place: tuple[str, int], text: str) -> None:
    name, number = place
    if name == "msgstr":
        entry.forms[number] = entry.forms.get(number, "") + text
    else:
        attribute = {"msgctxt": "context", "msgid": "text", "msgid_plural": "plural"}[name]
        setattr(entry, attribute, getattr(entry, attribute) + text)


def source_strings() -> set[tuple[str, str]]:
    """(context, text) of every string in the code and the templates that is marked for translation."""
    found: set[tuple[str, str]] = set()
    templates = Path(env.ROOT, "templates")
    for path in sorted(templates.rglob("*")):
        if path.relative_to(templates).parts[0] in RESEARCHERS:
            continue
        if path.suffix in (".html", ".txt", ".js"):
            found |= set(_template_strings(templatize(path.read_text(encoding="utf-8"), origin=str(path))))
    for folder in ("annotator", "evaluation", "foretell"):
        for path in sorted(Path(env.ROOT, folder).rglob("*.py")):
            found |= set(_code_strings(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def _code_strings(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
            with_context = FUNCTIONS[node.func.id] == 2
            if len(texts) > with_context and isinstance(texts[with_context], str):
                yield (str(texts[0]) if with_context else "", texts[int(with_context)])


def _template_strings(code: str) -> Iterator[tuple[str, str]]:
    for name, inside in _IN_TEMPLATE.findall(code):
        texts = [ast.literal_eval(one) for one in re.findall(_STRING, inside)]
        if texts:
            yield (texts[0], texts[1]) if name in ("pgettext", "npgettext") else ("", texts[0])

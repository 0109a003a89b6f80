"""The versions of a study, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from annotator.core.kept_figures import StudyCount
from annotator.models import ExamQuestion, Item, Snapshot, Study, settings_of

_USED = StudyCount(
    "judgments by version",
    "SELECT snapshot_id, count(*) FROM annotator_judgment WHERE study_id = %s GROUP BY snapshot_id",
)
#: At most this many versions are listed.
MOST = 200
#: Compared as texts, line by line; every other value is shown before and after.
TEXTS = ("summary", "consent_text", "instructions")
#: Compared by what they contain: their ids and digests tell nobody anything.
_BY_CONTENT = ("exam", "exam_digest", "items_digest", "practice", "translations")
#: Settings are named as on their page; these are made from several.
NAMES = {name: one.label[0].lower() + one.label[1:] for name, one in settings_of(Study).items()} | {
    "exam_digest": "exam",
    "items_digest": "content of the items",
    "instructions_text": "instructions",
}


@dataclass(frozen=True)
class VersionChange:
    """One difference. ``lines`` are the changed lines of a text, each with its mark (``+``, ``-`` or a blank)."""

    name: str
    before: str = ""
    after: str = ""
    lines: tuple[tuple[str, str], ...] = ()


def versions_of(study: Study) -> list[Snapshot]:
    """The latest versions of a study, newest first, with ``used``: how many judgments were made under each."""
    used: dict[int, int] = dict(_USED.rows([study.pk]))
    found = list(study.snapshots.select_related("created_by").defer("content").order_by("-number")[:MOST])
    for snapshot in found:
        snapshot.used = used.get(snapshot.pk, 0)  # type: ignore[attr-defined]
    return found


def version_diff(before: Snapshot, after: Snapshot) -> list[VersionChange]:
    """What differs between two versions of a study: instructions, exam, practice and settings."""
    old, new = before.content, after.content
    changes = []
    for name in sorted({*old, *new}):
        if name in _BY_CONTENT or old.get(name) == new.get(name):
            continue
        title = NAMES.get(name, name.replace("_", " "))
        if name in TEXTS:
            changes.append(VersionChange(title, lines=_lines(old.get(name) or "", new.get(name) or "")))
        else:
            changes.append(VersionChange(title, _value(old.get(name)), _value(new.get(name))))
    changes += _translations(old.get("translations") or {}, new.get("translations") or {})
    changes += _questions("practice", old.get("practice") or [], new.get("practice") or [])
    if old.get("exam") != new.get("exam"):
        changes += _questions("exam", _exam(old.get("exam")), _exam(new.get("exam")))
    if old.get("items_digest") != new.get("items_digest"):
        changes += _items(before, after)
    return changes


def _items(before: Snapshot, after: Snapshot) -> list[VersionChange]:
    """The items that were withdrawn or corrected between two versions, with the reason."""
    first, last = sorted((before.created_at, after.created_at))
    found = Item.objects.filter(
        study=after.study_id, withdrawn_at__gt=first, withdrawn_at__lte=last
    ).select_related("replaced_by")
    changes = []
    for item in found.order_by("withdrawn_at", "pk")[:MOST]:
        new = getattr(item, "replaced_by", None)
        kept = f"corrected as {new.key}" if new else "withdrawn"
        changes.append(VersionChange(f"item {item.key}", "given out", f"{kept}: {item.withdrawn_reason}"))
    return changes or [VersionChange("content of the items", "as in the version before", "changed")]


def _translations(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[VersionChange]:
    """What differs in each language: texts line by line, questions one by one."""
    changes = []
    for code in sorted({*old, *new}):
        was, now = old.get(code, {}), new.get(code, {})
        for name in sorted({*was, *now}):
            if name in ("exam", "practice"):
                changes += _questions(f"{code}: {name}", was.get(name) or [], now.get(name) or [])
            elif was.get(name) != now.get(name):
                title = f"{code}: {NAMES.get(name, name.replace('_', ' '))}"
                changes.append(VersionChange(title, lines=_lines(was.get(name) or "", now.get(name) or "")))
    return changes


def _exam(pk: int | None) -> list[dict[str, Any]]:
    names = ("key", "payload", "gold", "reason", "pool")
    return list(ExamQuestion.objects.filter(exam=pk).order_by("number").values(*names)) if pk else []


def _questions(
    which: str, old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> list[VersionChange]:
    was, now = {one["key"]: one for one in old}, {one["key"]: one for one in new}
    changes = []
    for key in [*was, *(key for key in now if key not in was)]:
        if was.get(key) == now.get(key):
            continue
        name = f"{which} question {key}"
        changes.append(VersionChange(name, "" if key in was else "not asked", "" if key in now else "not asked") if key not in was or key not in now else VersionChange(name, _value(was[key]), _value(now[key])))  # fmt: skip
    return changes


def _lines(before: str, after: str) -> tuple[tuple[str, str], ...]:
    found = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    kept = [line for line in found if not line.startswith(("---", "+++", "@@"))]
    return tuple((line[:1], line[1:]) for line in kept)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_value(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(_value(one) for one in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in (None, "") else str(value)

"""References that no foreign key shows: numbers and short names inside JSON, and the subjects of model calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Model

from annotator.models import Assignment, Dataset, Explanation, Instance, Item
from evaluation.models import Pipeline, Run
from evaluation.moves.sealed_file import MoveError
from evaluation.moves.tables import Row
from evaluation.runs.registry import steps

Here = Mapping[type[Model], Mapping[int, int]]


def references_renewed(
    model: type[Model], old: Row, row: Row, here: Here, *, renamed: Mapping[str, str]
) -> Row:
    """The row in which such references lead to rows here. ``old`` is the row of the file; ``renamed`` has studies' short names there and here.

    Raises ``MoveError`` if an item's part isn't in the file.
    """
    if model is Item:
        known, parts = here.get(Explanation, {}), row["parts"] if isinstance(row["parts"], dict) else {}
        if any(number not in known for number in parts.values()):
            raise MoveError(f"item {old['id']} refers to an explanation that isn't in the file")
        row["parts"] = {name: known[number] for name, number in parts.items()}
    if model is Assignment:
        row["instance_id_of_item"] = here.get(Instance, {}).get(row["instance_id_of_item"])
    if model is Dataset:
        row["name"] = renamed.get(row["name"], row["name"])  # what an import into a study makes
    if model is Pipeline:
        results = row["results"] if isinstance(row["results"], dict) else {}
        row["results"] = {name: _renamed(one, renamed) for name, one in results.items()}
        row["state"] = Pipeline.State.PAUSED if row["state"] == Pipeline.State.RUNNING else row["state"]
    if model is Run:
        # Nothing is sent or paid for because a file says so.
        row["state"] = Run.State.PAUSED if row["state"] in Run.LIVE else row["state"]
    return row


def _renamed(result: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(result, dict) and isinstance(result.get("study"), str):
        return result | {"study": renamed.get(result["study"], result["study"])}
    return result


def subject_renewed(row: Row, kind: str, here: Here) -> Row:
    """A call whose subject, and the key that is made from it, are those of the row here; without a subject if it didn't move."""
    number = row["subject"]
    if number is None:
        return row
    about: Any = getattr(steps().get(kind), "subject", None)
    found = here.get(about[0], {}).get(number) if isinstance(about, tuple) and about else None
    key, letter = str(row["key"]), str(row["key"])[:1]
    if found is not None and key == f"{letter}{number}":
        row["key"] = f"{letter}{found}"
    shown = row["context"].get("explanation") if isinstance(row["context"], dict) else None
    if shown is not None:
        row["context"] = row["context"] | {"explanation": here.get(Explanation, {}).get(shown)}
    return row | {"subject": found}

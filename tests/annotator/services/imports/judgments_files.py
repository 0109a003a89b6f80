"""Import a file of judgments in a test, and read what it stored."""

from __future__ import annotations

import io
from typing import Any

import pytest

from annotator.core.tables.faults import FileRefused
from annotator.models import Item, Judgment, Rater, Study
from annotator.services.imports.judgments_import import JudgmentColumns, JudgmentsResult, judgments_import
from annotator.services.imports.value_columns import ValueColumn

GUESS = JudgmentColumns(item="item", values=(ValueColumn("guess"),), rater="who")


def csv(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def put(
    study: Study, text: str, columns: JudgmentColumns = GUESS, name: str = "j.csv", **options: Any
) -> JudgmentsResult:
    return judgments_import(study=study, file=csv(text), name=name, columns=columns, **options)


def refused(study: Study, text: str, columns: JudgmentColumns = GUESS, name: str = "j.csv") -> list[str]:
    before = Judgment.objects.count(), Rater.objects.count(), Item.objects.count()
    with pytest.raises(FileRefused) as caught:
        put(study, text, columns, name)
    assert (Judgment.objects.count(), Rater.objects.count(), Item.objects.count()) == before
    return [str(fault) for fault in caught.value.faults]


def ratings(study: Study) -> list[tuple[str, str, dict[str, str]]]:
    return list(study.judgments.order_by("id").values_list("item__key", "rater__name", "response"))

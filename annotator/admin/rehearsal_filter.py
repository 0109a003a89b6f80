"""The filter of lists of people: a rehearsal's synthetic raters are left out unless somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from annotator.models import Rater


class RehearsalFilter(admin.SimpleListFilter):
    title = "rehearsal raters"
    parameter_name = "rehearsal"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "only these"), ("both", "included")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        first, *others = super().choices(changelist)
        yield {**first, "display": "left out"}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "both":
            return queryset
        field = "rehearsal" if queryset.model is Rater else "rater__rehearsal"
        synthetic = Q(**{field: True})
        return queryset.filter(synthetic if self.value() == "yes" else ~synthetic)

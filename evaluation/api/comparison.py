"""Two reports compared cell by cell over the REST API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluation.models import Report
from evaluation.reports.comparison import Line, compare
from evaluation.selectors.report import report_get_for


class ChosenDifferentlySerializer(serializers.Serializer[Any]):
    choice = serializers.CharField()
    first = serializers.CharField()
    second = serializers.CharField()


class ChangedCellSerializer(serializers.Serializer[Any]):
    row = serializers.CharField()
    column = serializers.CharField()
    first = serializers.CharField(help_text="As printed; empty if the first report doesn't have it.")
    second = serializers.CharField()
    change = serializers.CharField(help_text="The second minus the first, if both are numbers.")


class ComparedTableSerializer(serializers.Serializer[Any]):
    number = serializers.CharField()
    title = serializers.CharField()
    cells = ChangedCellSerializer(many=True)


class ReportsComparedSerializer(serializers.Serializer[Any]):
    same_inputs = serializers.BooleanField(help_text="Whether both rest on the same judgments.")
    choices = ChosenDifferentlySerializer(many=True)
    tables = ComparedTableSerializer(many=True, help_text="Those that differ, the largest change first.")


class ReportComparison(APIView):
    """What differs between two finished reports. Their tables name raters."""

    read_scope = "may_see_people"

    @extend_schema(responses=ReportsComparedSerializer, operation_id="reports_compare")
    def get(self, request: Request, pk: int, other: int) -> Response:
        """Choices and cells that differ, the largest change first; 409 unless both are done."""
        first, second = (report_get_for(user=request.user, pk=one) for one in (pk, other))
        for report in (first, second):
            if report.state != Report.State.DONE:
                return Response({"detail": f"Report {report.pk} is not done."}, status=409)
        found = compare(first, second)
        shown = {
            "same_inputs": found.same_inputs,
            "choices": [
                {"choice": label, "first": one, "second": two} for label, one, two in found.choices
            ],
            "tables": [
                {"number": str(table.number), "title": table.title, "cells": [_cell(line) for line in table.differing]}
                for table in found.changed
            ],
        }  # fmt: skip
        return Response(ReportsComparedSerializer(shown).data)


def _cell(line: Line) -> dict[str, str]:
    return {
        "row": line.head,
        "column": line.column,
        "first": line.a.text if line.a else "",
        "second": line.b.text if line.b else "",
        "change": line.change,
    }

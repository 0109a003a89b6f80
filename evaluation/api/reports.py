"""Reports over the REST API: the same services and the same access as the pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.models import Membership
from annotator.selectors.study import study_get_for
from annotator.selectors.user import sees_people
from evaluation.models import Report
from evaluation.reports.choices import Choices, ChoicesError, ChoiceSpec, specs
from evaluation.reports.exports import FORMATS
from evaluation.reports.exports.json import with_provenance
from evaluation.selectors.attributes import filter_faults, study_attributes
from evaluation.selectors.report import report_get_for, reports_of, studies_named_for
from evaluation.services.report import report_create, report_delete
from evaluation.views.reports import export_response


class ChoicesSerializer(serializers.Serializer):
    """The choices of a report; omitted ones have their defaults."""

    studies = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Further studies, by id or slug, that the report is computed across.",
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        return {spec.name: choice_field(spec) for spec in specs()} | super().get_fields()


def choice_field(spec: ChoiceSpec) -> serializers.Field:
    """A choice in the API's schema; ``Choices.parse`` checks its value."""
    common: dict[str, Any] = {"required": False, "help_text": f"{spec.label}. {spec.hint}".strip()}
    if spec.kind == "flag":
        return serializers.BooleanField(**common)
    if spec.kind == "whole":
        return serializers.IntegerField(**common, min_value=spec.least, max_value=spec.most)
    if spec.kind == "option":
        return serializers.ChoiceField(**common, choices=list(spec.options.items()))
    if spec.kind == "rule":
        common["help_text"] += f" One of {', '.join(spec.options)}, or single:<rater>."
    return serializers.CharField(**common)


#: In place of what may contain participants' names, for a token without that scope.
HIDDEN = "Hidden: this token may not read participants' data."


def _without_people(name: str, value: Any) -> Any:
    """A choice without the name of a rater or a value of a rater's attribute."""
    if name == "rule" and str(value).startswith("single:"):
        return "single:"
    return HIDDEN if name == "only" and "rater:" in str(value) else value


class ReportSerializer(serializers.ModelSerializer):
    """A report without its content."""

    choices = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()
    content_url = serializers.SerializerMethodField()
    page_url = serializers.SerializerMethodField()

    class Meta:
        model = Report
        fields = (
            "id",
            "study",
            "others",
            "state",
            "progress",
            "error",
            "choices",
            "inputs_hash",
            "software",
            "created_at",
            "started_at",
            "finished_at",
            "content_url",
            "page_url",
        )
        read_only_fields = fields

    def get_choices(self, report: Report) -> dict[str, Any]:
        """The choices; a token that may not read participants' data isn't told which rater or which of their attributes."""
        if self.context.get("people", False):
            return dict(report.choices)
        return {name: _without_people(name, value) for name, value in report.choices.items()}

    def get_error(self, report: Report) -> str:
        return report.error if not report.error or self.context.get("people", False) else HIDDEN

    def get_content_url(self, report: Report) -> str | None:
        if report.state != Report.State.DONE:
            return None
        return reverse("evaluation_api:report_content", args=[report.pk])

    def get_page_url(self, report: Report) -> str:
        return reverse("evaluation:report", args=[report.pk])


#: A study in the address: its id or its slug.
STUDY = OpenApiParameter("study", {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$"}, OpenApiParameter.PATH)


class StudyReports(APIView):
    """A study's reports."""

    @extend_schema(parameters=[STUDY], responses=ReportSerializer(many=True), operation_id="reports_list")
    def get(self, request: Request, study: str) -> Response:
        """The reports of a study, newest first (at most 200)."""
        found = study_get_for(user=request.user, pk=study)
        return Response(
            ReportSerializer(
                reports_of(study=found, user=request.user)[:200],
                many=True,
                context={"people": sees_people(request)},
            ).data
        )

    @extend_schema(
        request=ChoicesSerializer, responses={202: ReportSerializer}, operation_id="reports_create"
    )
    def post(self, request: Request, study: str) -> Response:
        """Request a report; a background job computes it. 400 names each invalid choice."""
        found = study_get_for(user=request.user, pk=study, role=Membership.Role.REVIEWER)
        if not isinstance(request.data, dict):
            raise serializers.ValidationError("expected an object of choices")
        raw = {n: request.data[n] for n in request.data if n not in ("csrfmiddlewaretoken", "studies")}
        names = request.data.get("studies", [])
        if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
            raise serializers.ValidationError({"studies": ["expected a list of ids or slugs"]})
        others = studies_named_for(
            user=request.user, names=[str(name) for name in names], role=Membership.Role.REVIEWER
        )
        try:
            checked = Choices.parse(raw)
            if checked.by or checked.only:
                columns = study_attributes(studies=[found, *others])
                faults = filter_faults(columns, by=checked.by, only=checked.only)
                if faults and not sees_people(request):
                    faults = dict.fromkeys(faults, HIDDEN)  # they list values of raters' attributes
                if faults:
                    raise ChoicesError(faults)
            report = report_create(study=found, others=others, choices=raw, user=request.user)  # type: ignore[arg-type]
        except ChoicesError as error:
            raise serializers.ValidationError({k: [v] for k, v in error.errors.items()}) from None
        return Response(
            ReportSerializer(report, context={"people": sees_people(request)}).data,
            status=status.HTTP_202_ACCEPTED,
        )


class ColumnValueSerializer(serializers.Serializer):
    """A value of a column."""

    text = serializers.CharField()
    count = serializers.IntegerField(help_text="How many items or raters have it.")


class ReportColumnSerializer(serializers.Serializer):
    """A column that reports can group (``by``) and filter (``only``) by."""

    name = serializers.CharField(help_text="Its name in `by` and `only`, such as kind or rater:age.")
    of = serializers.ChoiceField(choices=["items", "raters"])
    distinct = serializers.IntegerField(help_text="How many different values it has.")
    values = ColumnValueSerializer(many=True, help_text="The most frequent ones, at most 20.")


class ReportColumns(APIView):
    """The columns of a study's items and raters."""

    @extend_schema(
        parameters=[STUDY], responses=ReportColumnSerializer(many=True), operation_id="report_columns_list"
    )
    def get(self, request: Request, study: str) -> Response:
        """The columns that the study's reports can group and filter by, with their most frequent values. Those of raters have no
        values for a token that may not read participants' data."""
        found = study_get_for(user=request.user, pk=study)
        columns = study_attributes(studies=[found])
        if not sees_people(request):
            columns = [replace(column, values=()) if column.of == "raters" else column for column in columns]
        return Response(ReportColumnSerializer(columns, many=True).data)


class ReportDetail(APIView):
    """One report."""

    @extend_schema(responses=ReportSerializer, operation_id="reports_read")
    def get(self, request: Request, pk: int) -> Response:
        """The state of the report."""
        found = report_get_for(user=request.user, pk=pk)
        return Response(ReportSerializer(found, context={"people": sees_people(request)}).data)

    @extend_schema(responses={204: None}, operation_id="reports_delete")
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the report."""
        found = report_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        report_delete(report=found)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ReportContent(APIView):
    """The content of a report. Its tables name raters."""

    read_scope = "may_see_people"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="reports_content")
    def get(self, request: Request, pk: int) -> Response:
        """Sections, tables and figures with every cell's value, interval, n, reason, rule and what was left out."""
        found = report_get_for(user=request.user, pk=pk)
        if found.state != Report.State.DONE:
            return Response({"detail": "The report is not done.", "state": found.state}, status=409)
        content: dict[str, Any] = with_provenance(found.content or {})
        return Response({"inputs_hash": found.inputs_hash, "software": found.software, **content})


class ReportExport(APIView):
    """A report as a file. Its tables name raters."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[OpenApiParameter("as_format", str, OpenApiParameter.PATH, enum=list(FORMATS))],
        responses={200: OpenApiTypes.BINARY, 409: OpenApiTypes.STR},
        operation_id="reports_export",
    )
    def get(self, request: Request, pk: int, as_format: str) -> HttpResponseBase:
        """The report as CSV, JSON, LaTeX, plain text or one HTML file."""
        return export_response(report_get_for(user=request.user, pk=pk), as_format)

"""Judgments, exclusions and exports over the API."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import REVIEWER, VIEWER, person, study_of
from annotator.api.serializers import (
    DetailSerializer,
    ErrorsSerializer,
    ExclusionSerializer,
    ExportSerializer,
    JudgmentSerializer,
)
from annotator.api.studies import ERRORS, ById
from annotator.core.downloads import download_send
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Exclusion, Export, Judgment, Study
from annotator.selectors.judgment import FILTERS, REHEARSAL, ExclusionReasons, judgments_filter
from annotator.selectors.study import studies_for
from annotator.selectors.user import sees_people
from annotator.services.audit import people_viewed
from annotator.services.collect_again import collect_again
from annotator.services.exclusion import exclusion_lift, exclusion_make, exclusion_reason_set
from annotator.services.exports import STREAMED, export_download, export_request, judgments_export

FILTER_PARAMETERS = [
    OpenApiParameter(
        "rehearsal",
        str,
        enum=list(REHEARSAL),
        default="no",
        description="Rehearsal raters' judgments: left out, only they, or both.",
    )
    if name == "rehearsal"
    else OpenApiParameter(name, str, description="Only those; exact.")
    for name in FILTERS
]
PAGING = ("cursor", "page_size")
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def filters_of(request: Request, *known: str) -> dict[str, str]:
    """All query parameters except the known ones. Each must be a filter, so that a misspelt one isn't ignored."""
    twice = [name for name in request.query_params if len(request.query_params.getlist(name)) > 1]
    if twice:
        raise ValidationError(dict.fromkeys(twice, "is given twice"))
    return {name: str(value) for name, value in request.query_params.items() if name not in known}


class JudgmentList(GenericAPIView[Judgment]):
    """A study's judgments, by id; read only."""

    read_scope = "may_see_people"
    serializer_class = JudgmentSerializer
    pagination_class = ById
    queryset = Judgment.objects.none()

    @extend_schema(parameters=FILTER_PARAMETERS, responses={200: JudgmentSerializer(many=True), **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Unknown filters are refused."""
        study = study_of(request, slug)
        found = judgments_filter(study=study, filters=filters_of(request, *PAGING)).select_related(
            "item", "rater"
        )
        people_viewed(by=person(request), page="judgments", studies=[study])
        page = self.paginate_queryset(found)
        context = {**self.get_serializer_context(), "reasons": ExclusionReasons(study)}
        return self.get_paginated_response(JudgmentSerializer(page, many=True, context=context).data)


class JudgmentsExport(APIView):
    """A study's judgments as one file, streamed."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[
            OpenApiParameter("as", str, enum=list(TYPES), default="csv"),
            OpenApiParameter("form", str, enum=Export.Form.values, default="judgments"),
            *FILTER_PARAMETERS,
        ],
        responses={
            (200, "text/csv"): OpenApiTypes.BINARY,
            (200, "application/x-ndjson"): OpenApiTypes.BINARY,
            400: ErrorsSerializer,
            404: DetailSerializer,
            409: DetailSerializer,
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Cells of a CSV file that a spreadsheet would run as formulas are made safe; JSON lines are exact. For more than 100,000
        judgments, request an export instead (POST .../exports/).
        """
        study = study_of(request, slug)
        format, form = request.query_params.get("as", "csv"), request.query_params.get("form", "judgments")
        chunks = judgments_export(
            study=study, format=format, form=form, filters=filters_of(request, "as", "form")
        )
        if study.judgments.all()[STREAMED : STREAMED + 1].exists():
            detail = f"More than {STREAMED:,} judgments: ask for an export (POST .../exports/)."
            return Response({"detail": detail}, status=status.HTTP_409_CONFLICT)
        response = StreamingHttpResponse(chunks, content_type=TYPES[format])
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-{form}.{format}"'
        return response


class Exclusions(GenericAPIView[Exclusion]):
    """What is excluded from a study's statistics, and why."""

    read_scope = "may_see_people"
    serializer_class = ExclusionSerializer
    pagination_class = ById
    queryset = Exclusion.objects.none()

    @extend_schema(responses={200: ExclusionSerializer(many=True), 404: DetailSerializer})
    def get(self, request: Request, slug: str) -> Response:
        """All exclusions, including lifted ones."""
        study = study_of(request, slug)
        people_viewed(by=person(request), page="exclusions", studies=[study])
        exclusions = study.exclusions.select_related("rater", "item").annotate(opened=Count("replacements"))
        page = self.paginate_queryset(exclusions)
        return self.get_paginated_response(ExclusionSerializer(page, many=True).data)

    @extend_schema(request=ExclusionSerializer, responses={201: ExclusionSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Exclude a rater, an item or a judgment. Needs the role of a reviewer. With ``collect_again``, each item that this
        leaves with fewer raters than the study asks for gets a place for somebody else.
        """
        study = study_of(request, slug, REVIEWER)
        form = ExclusionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        made = exclusion_make(
            study=study,
            by=person(request),
            reason=form.validated_data["reason"],
            collect_again=form.validated_data["collect_again"],
            **_target(study, form.validated_data),
        )
        return Response(_shown(made, request), status=status.HTTP_201_CREATED)


def _shown(exclusion: Exclusion, request: Request) -> dict[str, Any]:
    """An exclusion; a token that may not read participants' data gets neither the rater nor the reason."""
    shown = dict(ExclusionSerializer(exclusion).data)
    return shown if sees_people(request) else shown | {"rater": None, "reason": ""}


def _target(study: Study, data: dict[str, Any]) -> dict[str, Any]:
    """The object to exclude, found by name within the study."""
    target: dict[str, Any] = {}
    name, key = (data.get("rater") or {}).get("name"), (data.get("item") or {}).get("key")
    if name is not None:
        kind = {"rater__kind": data["rater_kind"]} if "rater_kind" in data else {}
        judgments = study.judgments.filter(rater__name=name, **kind).order_by("rater_id").distinct("rater_id")
        raters = [judgment.rater for judgment in judgments.select_related("rater")[:2]]
        if len(raters) != 1:
            trouble = (
                "there are two raters with this name; add rater_kind"
                if raters
                else "has no judgment in this study"
            )
            raise ValidationError({"rater": trouble})
        target["rater"] = raters[0]
    if key is not None:
        target["item"] = study.items.filter(key=key).first()
        if target["item"] is None:
            raise ValidationError({"item": "there is no such item in this study"})
    if data.get("judgment_id") is not None:
        target["judgment"] = study.judgments.filter(pk=data["judgment_id"]).first()
        if target["judgment"] is None:
            raise ValidationError({"judgment": "there is no such judgment in this study"})
    return target


def exclusion_get_for(*, request: Request, pk: int) -> Exclusion:
    """An exclusion of a study that the caller reviews; else not found."""
    exclusion = Exclusion.objects.filter(
        pk=pk, study__in=studies_for(user=request.user, role=REVIEWER)
    ).first()
    if exclusion is None:
        raise Http404("no such exclusion")
    return exclusion


class ReasonSerializer(KnownKeysSerializer):
    reason = serializers.CharField(max_length=10_000)


class ExclusionDetail(APIView):
    """One exclusion."""

    @extend_schema(request=ReasonSerializer, responses={200: ExclusionSerializer, **ERRORS})
    def patch(self, request: Request, pk: int) -> Response:
        """Correct the reason; nothing else of an exclusion can change. Needs the role of a reviewer."""
        exclusion = exclusion_get_for(request=request, pk=pk)
        form = ReasonSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        changed = exclusion_reason_set(exclusion=exclusion, reason=form.validated_data["reason"])
        return Response(_shown(changed, request))


class ExclusionLift(APIView):
    """Lift an exclusion."""

    @extend_schema(request=None, responses={200: ExclusionSerializer, 404: DetailSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """The exclusion stays on record, with the time at which it was lifted. Judgments that others made in place of the
        excluded ones count too; places that nobody has taken are closed. Needs the role of a reviewer.
        """
        return Response(_shown(exclusion_lift(exclusion=exclusion_get_for(request=request, pk=pk)), request))


class ExclusionCollect(APIView):
    """Ask other people in place of what an exclusion covers."""

    @extend_schema(request=None, responses={200: ExclusionSerializer, **ERRORS})
    def post(self, request: Request, pk: int) -> Response:
        """Each item that the exclusion leaves with fewer raters than the study asks for gets a place for somebody else.
        Needs the role of a reviewer.
        """
        exclusion = exclusion_get_for(request=request, pk=pk)
        collect_again(exclusion=exclusion, by=person(request))
        exclusion.refresh_from_db()
        return Response(_shown(exclusion, request))


class Exports(GenericAPIView[Export]):
    """Exports that a background job builds."""

    read_scope = write_scope = "may_see_people"
    serializer_class = ExportSerializer
    pagination_class = ById
    queryset = Export.objects.none()

    @extend_schema(responses={200: ExportSerializer(many=True), 404: DetailSerializer})
    def get(self, request: Request, slug: str) -> Response:
        """Your own exports of the study."""
        page = self.paginate_queryset(study_of(request, slug).exports.filter(created_by=person(request)))
        return self.get_paginated_response(ExportSerializer(page, many=True).data)

    @extend_schema(request=ExportSerializer, responses={202: ExportSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Request an export; download it from its ``file/`` once its state is done."""
        study = study_of(request, slug, VIEWER)
        form = ExportSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        export = export_request(study=study, by=person(request), **form.validated_data)
        return Response(ExportSerializer(export).data, status=status.HTTP_202_ACCEPTED)


def export_get_for(*, request: Request, pk: int) -> Export:
    """An export that the caller requested, of a study that they can still see; else not found."""
    mine = Export.objects.filter(created_by=person(request), study__in=studies_for(user=request.user))
    export = mine.select_related("study").filter(pk=pk).first()
    if export is None:
        raise Http404("no such export")
    return export


class ExportDetail(APIView):
    @extend_schema(responses={200: ExportSerializer, 404: DetailSerializer})
    def get(self, request: Request, pk: int) -> Response:
        """The state of an export."""
        return Response(ExportSerializer(export_get_for(request=request, pk=pk)).data)


class ExportFile(APIView):
    read_scope = "may_see_people"

    @extend_schema(
        responses={
            (200, "application/gzip"): OpenApiTypes.BINARY,
            404: DetailSerializer,
            409: DetailSerializer,
        }
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """The file, compressed with gzip."""
        export = export_get_for(request=request, pk=pk)
        if export.state != Export.State.DONE:
            return Response({"detail": f"It is {export.state}."}, status=status.HTTP_409_CONFLICT)
        return download_send(export_download(export))

"""Anonymised releases over the REST API: the same services and the same access as the pages."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Case, When
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.core.downloads import download_send
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Membership
from annotator.selectors.user import sees_people, user_of
from evaluation.api.reports import HIDDEN
from evaluation.models import Release, ReleaseText
from evaluation.releases.cost import release_cost
from evaluation.releases.small_cells import Coarsening
from evaluation.selectors.release import release_get_for, releases_of
from evaluation.selectors.report import report_get_for
from evaluation.services.erasure import erased_notice
from evaluation.services.release import (
    attributes_check,
    release_create,
    release_decide,
    release_delete,
    release_download,
)
from evaluation.services.signing_key import public_key_of, signing_key_in


class NewReleaseSerializer(KnownKeysSerializer):
    """What the data card says, and which attributes of raters are released."""

    title = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    description = serializers.CharField(required=False, default="", allow_blank=True)
    licence = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    citation = serializers.CharField(required=False, default="", allow_blank=True)
    authors = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=20_000,
        help_text="One a line: family name, given names; ORCID; affiliation.",
    )
    attributes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        default=list,
        help_text="Names of raters' attributes, such as age. None by default.",
    )
    free_text = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Release answers in words and reasons of exclusions. Each text then needs a decision before the archive is made.",
    )

    small_groups = serializers.ChoiceField(
        choices=Release.SmallGroups.choices,
        required=False,
        default=Release.SmallGroups.COARSEN,
        help_text="What happens to attributes and combinations of them that fewer raters than smallest_group share.",
    )
    smallest_group = serializers.IntegerField(min_value=2, max_value=1000, required=False, default=5)
    timings = serializers.ChoiceField(
        choices=Release.Timings.choices,
        required=False,
        default=Release.Timings.EXACT,
        help_text="How exact the seconds are that answers took.",
    )


class ReleaseSerializer(serializers.ModelSerializer):
    """A release and what was found when it was built."""

    notices = serializers.SerializerMethodField()
    signing_key = serializers.SerializerMethodField(
        help_text="The public key that verifies this archive's signature. That of a release that was moved here belongs to the workspace that made it."
    )
    workspace_key = serializers.SerializerMethodField(
        help_text="The workspace's own public key, with which it signs new releases."
    )

    class Meta:
        model = Release
        fields = (
            "id",
            "report",
            "title",
            "description",
            "licence",
            "citation",
            "authors",
            "attributes",
            "free_text",
            "small_groups",
            "smallest_group",
            "timings",
            "state",
            "progress",
            "error",
            "findings",
            "notices",
            "bytes",
            "sha256",
            "signing_key",
            "workspace_key",
            "created_at",
            "started_at",
            "finished_at",
        )
        read_only_fields = fields

    def to_representation(self, instance: Release) -> dict[str, Any]:
        """What differs names raters, and so may an error: a token that may not read participants' data gets neither."""
        found = dict(super().to_representation(instance))
        if not self.context.get("people", False):
            found["error"] = HIDDEN if found["error"] else ""
            found["findings"] = {n: v for n, v in found["findings"].items() if n != "differences"}
        return found

    def get_signing_key(self, release: Release) -> str:
        return signing_key_in(release) or self.get_workspace_key(release)

    def get_workspace_key(self, release: Release) -> str:
        return public_key_of(release.report.study.workspace)

    def get_notices(self, release: Release) -> list[str]:
        """What to think about before publishing."""
        erased = erased_notice(release)
        return [*([erased] if erased else []), *release.notices]


def _shown(request: Request) -> dict[str, bool]:
    return {"people": sees_people(request)}


class ReportReleases(APIView):
    """A report's releases."""

    @extend_schema(responses=ReleaseSerializer(many=True), operation_id="releases_list")
    def get(self, request: Request, pk: int) -> Response:
        """The releases of a report, newest first (at most 100)."""
        found = report_get_for(user=request.user, pk=pk)
        return Response(
            ReleaseSerializer(releases_of(report=found)[:100], many=True, context=_shown(request)).data
        )

    @extend_schema(
        request=NewReleaseSerializer, responses={202: ReleaseSerializer}, operation_id="releases_create"
    )
    def post(self, request: Request, pk: int) -> Response:
        """Request an anonymised release of a finished report; a background job builds it."""
        found = report_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        new = NewReleaseSerializer(data=request.data)
        new.is_valid(raise_exception=True)
        try:
            release = release_create(report=found, user=request.user, **new.validated_data)  # type: ignore[arg-type]
        except ValidationError as error:
            raise serializers.ValidationError(serializers.as_serializer_error(error)) from None
        return Response(
            ReleaseSerializer(release, context=_shown(request)).data, status=status.HTTP_202_ACCEPTED
        )


class ReleaseCostSerializer(KnownKeysSerializer):
    """The attributes that a release would have, and how they and times would be coarsened."""

    attributes = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    small_groups = serializers.ChoiceField(
        choices=Release.SmallGroups.choices, required=False, default=Release.SmallGroups.COARSEN
    )
    smallest_group = serializers.IntegerField(min_value=2, max_value=1000, required=False, default=5)
    timings = serializers.ChoiceField(
        choices=Release.Timings.choices, required=False, default=Release.Timings.EXACT
    )


class ReleaseCosts(APIView):
    """What coarsening would cost in a release of a report."""

    @extend_schema(
        request=ReleaseCostSerializer, responses={200: OpenApiTypes.OBJECT}, operation_id="releases_cost"
    )
    def post(self, request: Request, pk: int) -> Response:
        """How many raters, values and rows a release would have less exactly or not at all, by attribute. Nothing is made."""
        found = report_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        sent = ReleaseCostSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        try:
            attributes_check(found, sent.validated_data["attributes"])
        except ValidationError as error:
            raise serializers.ValidationError(serializers.as_serializer_error(error)) from None
        chosen = Coarsening(
            *(sent.validated_data[name] for name in ("smallest_group", "small_groups", "timings"))
        )
        cost = release_cost(report=found, attributes=sent.validated_data["attributes"], coarsening=chosen)
        return Response(cost.to_json(people=sees_people(request)))


class ReleaseDetail(APIView):
    """One release."""

    @extend_schema(responses=ReleaseSerializer, operation_id="releases_read")
    def get(self, request: Request, pk: int) -> Response:
        """The state of the release."""
        return Response(
            ReleaseSerializer(release_get_for(user=request.user, pk=pk), context=_shown(request)).data
        )

    @extend_schema(responses={204: None}, operation_id="releases_delete")
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the release with its file and its key."""
        release_delete(release=release_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ReleaseTextSerializer(serializers.ModelSerializer):
    """A free text that the release would contain, after screening."""

    class Meta:
        model = ReleaseText
        fields = ("id", "place", "text", "uses", "decision", "decided_at")
        read_only_fields = fields


class DecisionsSerializer(KnownKeysSerializer):
    """Decisions by the id of each text: approved or removed."""

    decisions = serializers.DictField(child=serializers.ChoiceField(["approved", "removed"]))

    def validate_decisions(self, value: dict[str, str]) -> dict[int, str]:
        if strange := [pk for pk in value if not (pk.isascii() and pk.isdecimal() and len(pk) < 19)]:
            raise serializers.ValidationError(f"{strange[0][:50]!a} is no id of a text")
        return {int(pk): decision for pk, decision in value.items()}


class ReleaseTexts(APIView):
    """The free texts of a release, and the decisions on them."""

    read_scope = "may_see_people"

    @extend_schema(responses=ReleaseTextSerializer(many=True), operation_id="releases_texts")
    def get(self, request: Request, pk: int) -> Response:
        """All texts that need a decision, undecided ones first (at most 1,000)."""
        found = release_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        texts = found.texts.order_by(Case(When(decision="pending", then=0), default=1), "pk")[:1_000]
        return Response(ReleaseTextSerializer(texts, many=True).data)

    @extend_schema(
        request=DecisionsSerializer, responses={202: ReleaseSerializer}, operation_id="releases_decide"
    )
    def post(self, request: Request, pk: int) -> Response:
        """Approve or remove texts. Once each text has a decision, the archive is made."""
        found = release_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        sent = DecisionsSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        try:
            release_decide(release=found, decisions=sent.validated_data["decisions"], by=user_of(request))
        except ValidationError as error:
            raise serializers.ValidationError(serializers.as_serializer_error(error)) from None
        found.refresh_from_db()
        return Response(
            ReleaseSerializer(found, context=_shown(request)).data, status=status.HTTP_202_ACCEPTED
        )


class ReleaseDownload(APIView):
    """The archive of a release: anonymised, but with raters' answers."""

    read_scope = "may_see_people"

    @extend_schema(responses={200: OpenApiTypes.BINARY}, operation_id="releases_download")
    def get(self, request: Request, pk: int) -> FileResponse:
        """The release as a ZIP archive; 404 until it is done."""
        return download_send(release_download(release_get_for(user=request.user, pk=pk)))

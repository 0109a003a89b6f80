"""The study at a recruitment panel over the API: its state beside ours, and what can be done to it."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, person, study_of
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import PanelStudy, Study
from annotator.recruitment.api import TRANSITIONS
from annotator.selectors.panel_connection import current_of, may_spend, panel_study_rows
from annotator.services.panel_reconcile import panel_reconcile
from annotator.services.panel_study import panel_study_mend, panel_study_move, panel_study_places_set


class PanelStudySerializer(serializers.ModelSerializer[PanelStudy]):
    places = serializers.SerializerMethodField()
    submissions = serializers.JSONField(
        source="counts", help_text="Their number by status, when last compared."
    )

    class Meta:
        model = PanelStudy
        fields = (
            "panel", "remote_id", "state", "status", "places", "submissions", "follows_work", "most_places", "checked_at", "fault",
        )  # fmt: skip
        read_only_fields = fields

    def get_places(self, row: PanelStudy) -> int | None:
        return row.remote.get("places")


#: What can be done to the study at the panel: (name, title).
MOVES = tuple((name, name) for name in (*TRANSITIONS, "compare", "match", "places"))


class PanelActionSerializer(KnownKeysSerializer):
    action = serializers.ChoiceField(choices=MOVES)
    places = serializers.IntegerField(
        min_value=1,
        max_value=100_000,
        required=False,
        help_text="For `places`: how many the study should have.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["action"] == "places") != ("places" in attrs):
            raise serializers.ValidationError(
                {"places": ["Expected with the action places, and with no other."]}
            )
        return attrs


class PanelStudies(APIView):
    """The studies on the recruitment panel."""

    @extend_schema(
        responses={200: PanelStudySerializer(many=True), **ERRORS}, operation_id="panel_studies_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        """Those that recruit for this study and were created from here, newest first. Asks the panel nothing."""
        return Response(PanelStudySerializer(panel_study_rows(study_of(request, slug)), many=True).data)

    @extend_schema(request=PanelActionSerializer, responses={200: PanelStudySerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Publish, pause, resume or stop the newest one that hasn't ended, set its places, compare its submissions, or make it match ours. Needs the role
        of an editor of the workspace."""
        study = study_of(request, slug, EDITOR)
        form = PanelActionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        if not may_spend(user=request.user, study=study):
            raise Http404("not an editor of the workspace")
        row = current_of(panel_study_rows(study))
        if row is None:
            raise Http404("no study at the panel")
        row = _carried_out(request, study, row, **form.validated_data)
        return Response(PanelStudySerializer(row).data)


def _carried_out(request: Request, study: Study, row: PanelStudy, action: str, places: int = 0) -> PanelStudy:
    row.study, by = study, person(request)
    if action == "compare":
        panel_reconcile(row=row)
        row.refresh_from_db()
        return row
    if action == "match":
        return panel_study_mend(row=row, link=str(row.plan.get("url", "")), by=by)[0]
    if action == "places":
        return panel_study_places_set(row=row, places=places, by=by)
    return panel_study_move(row=row, transition=action, by=by)

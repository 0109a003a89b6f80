"""Demo studies of the types of the gallery over the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, person
from annotator.api.serializers import StudySerializer
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.core.service_errors import save_checked
from annotator.models import Study
from annotator.selectors.study import studies_with_role
from annotator.selectors.workspace import workspace_get_for
from annotator.services.gallery_demo import gallery_demo_make


class TrySerializer(KnownKeysSerializer):
    hit_type = serializers.CharField(max_length=40, help_text="The name of a type of the gallery.")
    workspace = serializers.IntegerField(
        required=False,
        help_text="The number of one of your workspaces, in which you are an editor. Without it, your own.",
    )
    rehearsed = serializers.BooleanField(
        required=False, default=True, help_text="Start a rehearsal, whose raters answer all items."
    )


class GalleryTry(APIView):
    """Try a type of the gallery."""

    @extend_schema(
        request=TrySerializer, responses={201: StudySerializer, **ERRORS}, operation_id="gallery_try"
    )
    def post(self, request: Request) -> Response:
        """Make a live demo study of it, with a few items. Close and delete it as any study."""
        form = TrySerializer(data=request.data)
        form.is_valid(raise_exception=True)
        values: dict[str, Any] = dict(form.validated_data)
        if "workspace" in values:
            values["workspace"] = workspace_get_for(user=request.user, pk=values["workspace"], role=EDITOR)
        study = save_checked(lambda: gallery_demo_make(by=person(request), **values))
        found = studies_with_role(user=request.user, studies=Study.objects.filter(pk=study.pk)).get()
        return Response(StudySerializer(found).data, status=status.HTTP_201_CREATED)

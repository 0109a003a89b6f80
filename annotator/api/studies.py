"""Studies and HIT types over the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, person, study_of
from annotator.api.serializers import (
    SETTABLE,
    DetailSerializer,
    ErrorsSerializer,
    HitTypeSerializer,
    ItemSerializer,
    ProgressSerializer,
    StudyCreateSerializer,
    StudySerializer,
)
from annotator.core.service_errors import save_checked
from annotator.hit_types.registry import hit_types
from annotator.models import Study
from annotator.selectors.progress import study_progress
from annotator.selectors.study import studies_for, studies_with_role
from annotator.selectors.workload import places_out_of_reach
from annotator.services.study import (
    study_close,
    study_launch,
    study_pause,
    study_reopen,
    study_resume,
    study_update,
)
from annotator.services.study_templates import study_create_from_template
from annotator.services.study_type import study_newest_type

ERRORS = {400: ErrorsSerializer, 404: DetailSerializer}


class ById(CursorPagination):
    """Pagination by id: the millionth row is as fast as the first."""

    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1_000
    ordering = "id"


class HitTypes(APIView):
    """All HIT types: what their items contain, what is asked, and what is measured."""

    @extend_schema(responses=HitTypeSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(HitTypeSerializer(list(hit_types().values()), many=True).data)


@extend_schema_view(
    list=extend_schema(description="The studies that you have a role in."),
    retrieve=extend_schema(responses={200: StudySerializer, 404: DetailSerializer}),
)
class Studies(mixins.ListModelMixin, viewsets.GenericViewSet[Study]):
    """Studies: made from a template, changed, launched, paused, resumed, closed."""

    serializer_class = StudySerializer
    pagination_class = ById
    lookup_field = "slug"
    lookup_value_regex = r"[-a-zA-Z0-9_]{1,80}"
    queryset = Study.objects.none()

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return self.queryset
        return studies_with_role(user=self.request.user, studies=studies_for(user=self.request.user))

    def retrieve(self, request: Request, slug: str) -> Response:
        return self._shown(study_of(request, slug))

    @extend_schema(request=StudyCreateSerializer, responses={201: StudySerializer, 400: ErrorsSerializer})
    def create(self, request: Request) -> Response:
        """Create a draft; fields that you leave out come from the template. You become its owner."""
        form = StudyCreateSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = {name: value for name, value in form.validated_data.items() if name in form.initial_data}
        template, slug = form.validated_data["template"], form.validated_data["slug"]
        fields = {name: value for name, value in given.items() if name in SETTABLE}
        study = save_checked(
            lambda: study_create_from_template(by=person(request), template=template, slug=slug, **fields)
        )
        return self._shown(study, status.HTTP_201_CREATED)

    @extend_schema(request=StudySerializer, responses={200: StudySerializer, **ERRORS})
    def partial_update(self, request: Request, slug: str) -> Response:
        """Change a draft, or make a new version of a launched study. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        form = StudySerializer(study, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        return self._shown(study_update(study=study, by=person(request), **form.validated_data))

    @extend_schema(request=None, responses={200: StudySerializer, **ERRORS})
    @action(detail=True, methods=["post"])
    def launch(self, request: Request, slug: str) -> Response:
        """Freeze items and rules, and open the study. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        study_launch(study=study, by=person(request))
        return self._shown(study_of(request, slug))

    @extend_schema(request=None, responses={200: StudySerializer, **ERRORS})
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, slug: str) -> Response:
        """Stop giving out items. Needs the role of an editor."""
        return self._shown(study_pause(study=study_of(request, slug, EDITOR)))

    @extend_schema(request=None, responses={200: StudySerializer, **ERRORS})
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, slug: str) -> Response:
        """Give out items again. Needs the role of an editor."""
        return self._shown(study_resume(study=study_of(request, slug, EDITOR)))

    @extend_schema(request=None, responses={200: StudySerializer, **ERRORS})
    @action(detail=True, methods=["post"])
    def close(self, request: Request, slug: str) -> Response:
        """End the study. Needs the role of an editor."""
        return self._shown(study_close(study=study_of(request, slug, EDITOR)))

    @extend_schema(request=None, responses={200: StudySerializer, **ERRORS})
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, slug: str) -> Response:
        """Make a closed study a paused one. Needs the role of an editor."""
        return self._shown(study_reopen(study=study_of(request, slug, EDITOR)))

    @extend_schema(request=None, responses={200: StudySerializer, **ERRORS})
    @action(detail=True, methods=["post"], url_path="newest-type")
    def newest_type(self, request: Request, slug: str) -> Response:
        """Let a draft use the latest version of its workspace's HIT type. Needs the role of an editor."""
        return self._shown(study_newest_type(study=study_of(request, slug, EDITOR), by=person(request)))

    @extend_schema(responses={200: ProgressSerializer, 404: DetailSerializer})
    @action(detail=True)
    def progress(self, request: Request, slug: str) -> Response:
        """Counts of places, judgments and raters; median time and pay."""
        study = study_of(request, slug)
        progress = study_progress(study)
        unreached = places_out_of_reach(study, progress.workload)
        return Response(
            progress.as_json() | {"places_out_of_reach": unreached.places, "people_missing": unreached.people}
        )

    @extend_schema(responses={200: ItemSerializer(many=True), 404: DetailSerializer})
    @action(detail=True, serializer_class=ItemSerializer)
    def items(self, request: Request, slug: str) -> Response:
        """The study's items, with their correct responses if they have any."""
        items = study_of(request, slug).items.select_related("instance", "explanation__system")
        page: Any = self.paginate_queryset(items)  # type: ignore[arg-type]
        return self.get_paginated_response(ItemSerializer(page, many=True).data)

    def _shown(self, study: Study, code: int = status.HTTP_200_OK) -> Response:
        shown = studies_with_role(user=self.request.user, studies=Study.objects.filter(pk=study.pk)).get()
        return Response(StudySerializer(shown).data, status=code)

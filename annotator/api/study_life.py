"""A study as a whole over the API: duplicate, archive, delete and restore it, compare its versions, rehearse it."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, OWNER, person, study_of
from annotator.api.serializers import DetailSerializer, StudySerializer
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.core.service_errors import save_checked
from annotator.models import Snapshot, Study
from annotator.selectors.rehearsal import rehearsal_progress
from annotator.selectors.study import deleted_studies_for, studies_with_role
from annotator.selectors.versions import version_diff
from annotator.services.rehearsal.places import rehearsal_clear
from annotator.services.rehearsal.run import rehearsal_request, rehearsal_stop
from annotator.services.study_copy import study_duplicate
from annotator.services.study_removal import study_archive, study_delete, study_restore, study_unarchive


class DuplicateSerializer(KnownKeysSerializer):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)
    material = serializers.BooleanField(required=False, default=True, help_text="Copy the items too.")


class ArchiveSerializer(KnownKeysSerializer):
    anyway = serializers.BooleanField(
        required=False, default=False, help_text="Although people still wait for something."
    )


class DeletionSerializer(KnownKeysSerializer):
    typed = serializers.CharField(max_length=80, help_text="The study's short name, to confirm it.")


def _shown(request: Request, study: Study, code: int = status.HTTP_200_OK) -> Response:
    found = studies_with_role(user=request.user, studies=Study.objects.filter(pk=study.pk)).get()
    return Response(StudySerializer(found).data, status=code)


class Duplicate(APIView):
    """Copy a study."""

    @extend_schema(request=DuplicateSerializer, responses={201: StudySerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Make a new draft with the study's settings and, unless you say otherwise, its items. You become its owner."""
        study = study_of(request, slug)
        form = DuplicateSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        copy = save_checked(lambda: study_duplicate(study=study, by=person(request), **form.validated_data))
        return _shown(request, copy, status.HTTP_201_CREATED)


class StudyArchive(APIView):
    """Take a study off the list."""

    @extend_schema(request=ArchiveSerializer, responses={200: StudySerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Everything stays readable. Refused while people wait for something, unless ``anyway``. Needs the role of an owner."""
        study = study_of(request, slug, OWNER)
        form = ArchiveSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return _shown(request, study_archive(study=study, **form.validated_data))

    @extend_schema(request=None, responses={200: StudySerializer, **ERRORS})
    def delete(self, request: Request, slug: str) -> Response:
        """Put an archived study back on the list. Needs the role of an owner."""
        return _shown(request, study_unarchive(study=study_of(request, slug, OWNER)))


class Deletion(APIView):
    """Delete a study."""

    @extend_schema(request=DeletionSerializer, responses={204: None, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """It can be restored for 30 days. Needs the role of an owner."""
        study = study_of(request, slug, OWNER)
        form = DeletionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        study_delete(study=study, by=person(request), **form.validated_data)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Restoration(APIView):
    """Restore a deleted study."""

    @extend_schema(request=None, responses={200: StudySerializer, 404: DetailSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Undo a deletion. Needs the role of an owner."""
        study = deleted_studies_for(user=request.user).filter(slug=slug).first()
        if study is None:
            raise Http404("no such deleted study")
        return _shown(request, study_restore(study=study))


class VersionChangeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()
    lines = serializers.ListField(
        child=serializers.CharField(), help_text="Of a text: each line with +, - or a blank before it."
    )


class VersionChanges(APIView):
    """What differs between two versions of a study."""

    @extend_schema(
        parameters=[
            OpenApiParameter("before", int, required=True, description="The number of a version."),
            OpenApiParameter("after", int, required=True, description="The number of another one."),
        ],
        responses={200: VersionChangeSerializer(many=True), **ERRORS},
        operation_id="versions_compare",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Settings, texts, questions and items."""
        study = study_of(request, slug)
        before, after = (_version(study, request, name) for name in ("before", "after"))
        rows = [
            {"name": one.name, "before": one.before, "after": one.after, "lines": [mark + line for mark, line in one.lines]}
            for one in version_diff(before, after)
        ]  # fmt: skip
        return Response(rows)


def _version(study: Study, request: Request, name: str) -> Snapshot:
    text = request.query_params.get(name, "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0
    found = study.snapshots.filter(number=number).first()
    if found is None:
        raise serializers.ValidationError({name: ["The study has no version with this number."]})
    return found


class RehearsalStartSerializer(KnownKeysSerializer):
    raters = serializers.IntegerField(min_value=1, max_value=200, default=12)
    accuracy = serializers.FloatField(
        min_value=0, max_value=1, default=0.85, help_text="Their mean share of correct answers."
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


class RehearsalSerializer(serializers.Serializer[Any]):
    state = serializers.CharField(help_text="Of the latest rehearsal; empty if there was none.")
    error = serializers.CharField()
    places = serializers.IntegerField()
    done = serializers.IntegerField()


class RehearsalClearedSerializer(serializers.Serializer[Any]):
    judgments = serializers.IntegerField(help_text="How many were removed.")


class RehearsalDetail(APIView):
    """The study's rehearsal with synthetic raters."""

    @extend_schema(responses={200: RehearsalSerializer, **ERRORS}, operation_id="rehearsal_retrieve")
    def get(self, request: Request, slug: str) -> Response:
        """Its progress."""
        return _rehearsed(study_of(request, slug))

    @extend_schema(request=RehearsalStartSerializer, responses={202: RehearsalSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Start it; a worker carries it out. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        form = RehearsalStartSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        rehearsal_request(study=study, by=person(request), **form.validated_data)
        return _rehearsed(study, status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses={200: RehearsalClearedSerializer, **ERRORS})
    def delete(self, request: Request, slug: str) -> Response:
        """Remove its judgments and raters. Needs the role of an editor."""
        return Response({"judgments": rehearsal_clear(study=study_of(request, slug, EDITOR))})


class RehearsalStop(APIView):
    """Stop a running rehearsal."""

    @extend_schema(request=None, responses={200: RehearsalSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Its judgments stay until it is cleared. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        rehearsal_stop(study=study)
        return _rehearsed(study)


def _rehearsed(study: Study, code: int = status.HTTP_200_OK) -> Response:
    found = rehearsal_progress(study)
    latest = found.latest
    shown = {
        "state": latest.state if latest else "",
        "error": latest.error if latest else "",
        "places": found.places,
        "done": found.done,
    }
    return Response(RehearsalSerializer(shown).data, status=code)

"""HIT types and questionnaires of workspaces over the API: check a file, save it as a version, read, copy and delete types."""

from __future__ import annotations

from typing import Any

from django.core.validators import ProhibitNullCharactersValidator
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.validators import ProhibitSurrogateCharactersValidator
from rest_framework.views import APIView

from annotator.api.access import EDITOR, VIEWER, person
from annotator.api.serializers import DetailSerializer, ErrorsSerializer
from annotator.core.known_keys import KnownKeysSerializer
from annotator.core.row_ids import row_id
from annotator.hit_types.declaration.document import MOST_BYTES
from annotator.hit_types.declaration.problems import DeclarationRefused, Problem, path_text
from annotator.models import DeclaredType, DeclaredVersion, Workspace
from annotator.selectors.declared_type import (
    declared_type_get_for,
    declared_types_for,
    version_get,
    versions_listed,
)
from annotator.selectors.workspace import workspace_get_for
from annotator.services.declared_file import declared_file_check
from annotator.services.declared_type import (
    declared_type_copy,
    declared_type_delete,
    declared_type_save,
)
from annotator.services.workspace import workspace_personal

#: Types and versions in one reply.
MOST_LISTED = 1_000
WORKSPACE = "The number of one of your workspaces, in which you are an editor. Without it, your own."
BASE = "The version that the text was made from: if there is a later one by now, the reply is 409 and nothing is saved."


class CheckSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="What was checked.")
    detail = serializers.CharField(help_text="On how much, or what is wrong.")
    passed = serializers.BooleanField(required=False, default=True)


class ProblemSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="From 1; 0 if it isn't known.")
    path = serializers.CharField(help_text="Where it is, such as exam[2].answers.clear.")
    message = serializers.CharField()


class ProblemsSerializer(serializers.Serializer[Any]):
    """Problems of the file, or ``errors`` in the request."""

    detail = serializers.CharField(required=False)
    problems = ProblemSerializer(many=True, required=False)
    errors = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()), required=False
    )


class FileCheckedSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="`hit_type` or `questionnaire`; empty if the file has problems.")
    name = serializers.CharField(help_text="Empty if the file has problems.")
    version = serializers.CharField()
    problems = ProblemSerializer(many=True)
    checks = CheckSerializer(many=True)


class DeclaredTypeSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    workspace = serializers.IntegerField(source="workspace_id")
    name = serializers.CharField()
    number = serializers.IntegerField(help_text="That of the latest version.")
    version = serializers.CharField(help_text="The first digits of the content's digest.")
    title = serializers.CharField()
    saved_at = serializers.DateTimeField()


class DeclaredVersionSerializer(serializers.Serializer[Any]):
    type = serializers.IntegerField(source="type_id")
    number = serializers.IntegerField()
    version = serializers.CharField()
    digest = serializers.CharField(source="declaration_id", help_text="SHA-256 of the file.")
    title = serializers.CharField()
    created_at = serializers.DateTimeField()
    checks = CheckSerializer(many=True)


class DeclaredFileSerializer(DeclaredVersionSerializer):
    source = serializers.SerializerMethodField(method_name="get_source_text", help_text="The file.")  # type: ignore[assignment]

    def get_source_text(self, version: DeclaredVersion) -> str:
        return version.declaration.source


class SourceField(serializers.CharField):
    """A file's text with whatever characters it has: those that can't be stored are refused with their line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        general = ProhibitNullCharactersValidator | ProhibitSurrogateCharactersValidator
        self.validators = [validator for validator in self.validators if not isinstance(validator, general)]


class SourceSerializer(KnownKeysSerializer):
    source = SourceField(trim_whitespace=False, max_length=MOST_BYTES, help_text="The file: YAML or JSON.")  # type: ignore[assignment]


class NewTypeSerializer(SourceSerializer):
    workspace = serializers.IntegerField(required=False, help_text=WORKSPACE)
    base = serializers.IntegerField(required=False, min_value=0, help_text=f"{BASE} 0 for a new type.")


class NewVersionSerializer(SourceSerializer):
    base = serializers.IntegerField(required=False, min_value=1, help_text=BASE)


class CopyTypeSerializer(KnownKeysSerializer):
    name = serializers.CharField(required=False, max_length=40, help_text="Without it, the same name.")
    workspace = serializers.IntegerField(required=False, help_text=WORKSPACE)


NUMBER = OpenApiParameter("number", int, description="The version, by default the latest.")
REFUSED = {400: ProblemsSerializer, 404: DetailSerializer, 409: DetailSerializer}


def _workspace(request: Request, pk: int | None) -> Workspace:
    if pk is None:
        return workspace_personal(user=person(request))
    return workspace_get_for(user=request.user, pk=pk, role=EDITOR)


def _problems(found: tuple[Problem, ...]) -> list[dict[str, Any]]:
    return [{"line": one.line, "path": path_text(one.path), "message": one.message} for one in found]


class OwnFiles(APIView):
    """What is declared in files of a workspace, of one kind."""

    kind: str = DeclaredType.Kind.HIT_TYPE

    def found(self, request: Request, pk: int, role: str = VIEWER) -> DeclaredType:
        """The one with this number, if the caller has this role in its workspace; else not found (404)."""
        return declared_type_get_for(user=request.user, pk=pk, role=role, kind=self.kind)


class DeclaredTypes(OwnFiles):
    """The HIT types of your workspaces."""

    @extend_schema(responses=DeclaredTypeSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Each with its latest version."""
        found = declared_types_for(user=request.user, kind=self.kind).order_by("pk")[:MOST_LISTED]
        return Response(DeclaredTypeSerializer(found, many=True).data)

    @extend_schema(request=NewTypeSerializer, responses={201: DeclaredVersionSerializer, **REFUSED})
    def post(self, request: Request) -> Response:
        """Save a file as a new type, or as the next version of the workspace's type of its name. Needs the role of an editor."""
        form = NewTypeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        workspace = _workspace(request, form.validated_data.pop("workspace", None))
        saved = declared_type_save(
            workspace=workspace, by=person(request), kind=self.kind, **form.validated_data
        )
        return Response(DeclaredVersionSerializer(saved).data, status=status.HTTP_201_CREATED)


class FileCheck(APIView):
    """Check a file, of a HIT type or a questionnaire, without saving it."""

    write_scope = ""

    @extend_schema(request=SourceSerializer, responses={200: FileCheckedSerializer, 400: ErrorsSerializer})
    def post(self, request: Request) -> Response:
        """Every problem with its line, or the results of the checks that a type must pass to be saved."""
        form = SourceSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            found = declared_file_check(form.validated_data["source"])
        except DeclarationRefused as error:
            return Response(
                {"kind": "", "name": "", "version": "", "problems": _problems(error.problems), "checks": []}
            )
        said = [check.as_json() for check in found.checks]
        about = {"kind": found.kind, "name": found.name, "version": found.version}
        return Response(about | {"problems": [], "checks": said})


class DeclaredTypeDetail(OwnFiles):
    """One version of a type, with its file."""

    @extend_schema(parameters=[NUMBER], responses={200: DeclaredFileSerializer, 404: DetailSerializer})
    def get(self, request: Request, pk: int) -> Response:
        """The latest version, or the one that is asked for."""
        asked = request.query_params.get("number")
        of = self.found(request, pk)
        number = None if asked is None else row_id(asked)
        return Response(DeclaredFileSerializer(version_get(type=of, number=number)).data)

    @extend_schema(responses={204: None, 400: ErrorsSerializer, 404: DetailSerializer})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete it with all versions; refused while a study uses one. Needs the role of an editor."""
        declared_type_delete(type=self.found(request, pk, EDITOR), by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DeclaredVersions(OwnFiles):
    """The versions of a type, newest first."""

    @extend_schema(responses={200: DeclaredVersionSerializer(many=True), 404: DetailSerializer})
    def get(self, request: Request, pk: int) -> Response:
        found = versions_listed(self.found(request, pk))[:MOST_LISTED]
        return Response(DeclaredVersionSerializer(found, many=True).data)

    @extend_schema(request=NewVersionSerializer, responses={201: DeclaredVersionSerializer, **REFUSED})
    def post(self, request: Request, pk: int) -> Response:
        """Save a file as the next version. Studies keep the version that they have. Needs the role of an editor."""
        of = self.found(request, pk, EDITOR)
        form = NewVersionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        saved = declared_type_save(workspace=of.workspace, by=person(request), of=of, **form.validated_data)
        return Response(DeclaredVersionSerializer(saved).data, status=status.HTTP_201_CREATED)


class DeclaredTypeCopy(OwnFiles):
    """Copy a type."""

    @extend_schema(request=CopyTypeSerializer, responses={201: DeclaredVersionSerializer, **REFUSED})
    def post(self, request: Request, pk: int) -> Response:
        """Copy its latest version into one of your workspaces, where the name must be free."""
        of = self.found(request, pk)
        form = CopyTypeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        workspace = _workspace(request, form.validated_data.get("workspace"))
        name = form.validated_data.get("name", "")
        made = declared_type_copy(type=of, workspace=workspace, by=person(request), name=name)
        return Response(DeclaredVersionSerializer(made).data, status=status.HTTP_201_CREATED)

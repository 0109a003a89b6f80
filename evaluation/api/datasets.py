"""What pipelines need, over the REST API: datasets, endpoints and recipes."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Dataset, Membership, Workspace
from annotator.selectors.user import user_of
from annotator.selectors.workspace import workspaces_for
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint
from evaluation.pipelines.material import TASKS
from evaluation.pipelines.recipe import recipe_file, recipe_names
from evaluation.selectors.endpoint import endpoints_usable_by
from evaluation.selectors.pipeline import recipes_for
from evaluation.selectors.run import datasets_for
from evaluation.services.dataset import dataset_upload


class DatasetSerializer(serializers.ModelSerializer):
    """A dataset, on which pipelines run."""

    instances = serializers.IntegerField(source="instance_count", help_text="How many questions it has.")

    class Meta:
        model = Dataset
        fields = ("id", "name", "workspace", "instances")
        read_only_fields = fields


class NewDatasetSerializer(KnownKeysSerializer):
    """A file of questions, articles, queries, or posts with two responses."""

    file = serializers.FileField(help_text="JSON lines, a JSON array, CSV, Parquet or Excel.")
    task = serializers.ChoiceField(
        choices=sorted(TASKS), help_text="The task of the recipe that will use it."
    )
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text="Use only this many, from the file's start.",
    )
    workspace = serializers.IntegerField(
        required=False, min_value=1, max_value=2**63 - 1, help_text="By default your own."
    )


class RefusedValueSerializer(serializers.Serializer[Any]):
    file = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    field = serializers.CharField()
    value = serializers.CharField()
    expected = serializers.CharField()


class DatasetRefusedSerializer(serializers.Serializer[Any]):
    """Faults of the file, or ``errors`` in the request."""

    detail = serializers.CharField(required=False)
    total = serializers.IntegerField(required=False)
    faults = RefusedValueSerializer(many=True, required=False, help_text="The first hundred.")
    errors = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()), required=False
    )


class Datasets(APIView):
    """The datasets that pipelines run on."""

    parser_classes = [MultiPartParser]

    @extend_schema(responses=DatasetSerializer(many=True), operation_id="datasets_list")
    def get(self, request: Request) -> Response:
        """The datasets of your workspaces, by name (at most 1,000)."""
        found = datasets_for(user=request.user).annotate(instance_count=Count("instances"))
        return Response(DatasetSerializer(found[:1_000], many=True).data)

    @extend_schema(
        request=NewDatasetSerializer,
        responses={201: DatasetSerializer, 400: DatasetRefusedSerializer},
        operation_id="datasets_create",
    )
    def post(self, request: Request) -> Response:
        """Make a dataset of a file: all rows or none. Sending the same file again gives the same dataset."""
        sent = NewDatasetSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        chosen, user = dict(sent.validated_data), user_of(request)
        made = dataset_upload(
            file=chosen["file"],
            name=chosen["file"].name,
            task=chosen["task"],
            limit=chosen.get("limit"),
            user=user,
            workspace=self._workspace(request, chosen.get("workspace")),
        )
        shown = Dataset.objects.annotate(instance_count=Count("instances")).get(pk=made.pk)
        return Response(DatasetSerializer(shown).data, status=status.HTTP_201_CREATED)

    @staticmethod
    def _workspace(request: Request, pk: int | None) -> Workspace:
        if pk is None:
            return workspace_personal(user=user_of(request))
        found = workspaces_for(user=user_of(request), role=Membership.Role.EDITOR).filter(pk=pk).first()
        if found is None:
            raise serializers.ValidationError(
                {"workspace": ["You are an editor of no workspace with this id."]}
            )
        return found


class EndpointSerializer(serializers.ModelSerializer):
    """An endpoint of models, without its key."""

    class Meta:
        model = Endpoint
        fields = ("id", "name", "workspace", "protocol", "model")
        read_only_fields = fields


class Endpoints(APIView):
    """The endpoints that runs can use."""

    @extend_schema(responses=EndpointSerializer(many=True), operation_id="endpoints_list")
    def get(self, request: Request) -> Response:
        """The endpoints that your runs and pipelines can use, by name (at most 1,000). Keys are never shown."""
        found = endpoints_usable_by(user=request.user)[:1_000]
        return Response(EndpointSerializer(found, many=True).data)


class RecipeSerializer(serializers.Serializer[Any]):
    """A recipe: what a pipeline does, step by step."""

    id = serializers.IntegerField(
        allow_null=True, help_text="Of a saved one; null if it ships with Foretell."
    )
    name = serializers.CharField()
    title = serializers.CharField()
    task = serializers.CharField()
    steps = serializers.ListField(child=serializers.CharField(), help_text="Their names.")


class Recipes(APIView):
    """The recipes of pipelines."""

    @extend_schema(responses=RecipeSerializer(many=True), operation_id="recipes_list")
    def get(self, request: Request) -> Response:
        """The recipes that ship with Foretell, then those saved in your workspaces, the newest version first (at most 1,000)."""
        contents = [(None, recipe_file(name)) for name in recipe_names()]
        saved = recipes_for(user=request.user).order_by("name", "-version")[:1_000]
        contents += [(one.pk, one.content) for one in saved]  # type: ignore[misc]
        rows = [
            {
                "id": pk,
                "name": content["name"],
                "title": content.get("title", ""),
                "task": content["task"],
                "steps": [step["name"] for step in content["steps"]],
            }
            for pk, content in contents
        ]
        return Response(RecipeSerializer(rows, many=True).data)

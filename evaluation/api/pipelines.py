"""Pipelines over the REST API: the same services and the same access as the admin's pages."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Membership
from annotator.selectors.user import user_of
from evaluation.api.actions import ActionSerializer, act
from evaluation.models import FineTuning, Pipeline
from evaluation.pipelines.advance import pipeline_cancel, pipeline_deployment_confirm, pipeline_resume
from evaluation.pipelines.control import pipeline_budget_set, pipeline_pause, pipeline_retry_failed
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.recipe import RecipeError, recipe_check, recipe_file, recipe_names
from evaluation.pipelines.tuning_control import tuning_cancel, tuning_give_up
from evaluation.pipelines.tuning_status import TuningShown, tunings_shown, tunings_wanted
from evaluation.runs.text import clean
from evaluation.selectors.endpoint import endpoint_named
from evaluation.selectors.pipeline import pipeline_get_for, pipelines_for, recipes_for
from evaluation.selectors.run import datasets_for

ACTIONS: dict[str, Any] = {
    "pause": pipeline_pause,
    "resume": pipeline_resume,
    "cancel": pipeline_cancel,
    "same-deployment": pipeline_deployment_confirm,
    "retry": pipeline_retry_failed,
    "cancel-job": tuning_cancel,
    "give-up-job": tuning_give_up,
}


class TuningSerializer(serializers.ModelSerializer):
    """A fine-tuning job of a pipeline; costs are in the currency of the step's price."""

    endpoint: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)

    class Meta:
        model = FineTuning
        fields = (
            "id", "step", "state", "reported_state", "error", "base_model", "model", "endpoint", "deployments", "job_id",
            "file_id", "examples", "epochs", "trained_tokens", "price", "cost", "most_cost", "created_at", "started_at",
            "looked_at", "finished_at", "replaced_at",
        )  # fmt: skip
        read_only_fields = fields


class TuningShownSerializer(serializers.Serializer):
    """A fine-tuning job, and what it waits for.

    ``moved`` is where its endpoint is now, empty if that is where the job is; ``seconds`` is how long the job has been, or was,
    at the endpoint, null if it was never started there.
    """

    waits_for = serializers.CharField()
    moved = serializers.CharField()
    seconds = serializers.SerializerMethodField()

    def get_seconds(self, shown: TuningShown) -> float | None:
        return None if shown.elapsed is None else shown.elapsed.total_seconds()

    def to_representation(self, instance: TuningShown) -> dict[str, Any]:
        return dict(TuningSerializer(instance.tuning).data) | super().to_representation(instance)


class PipelineSerializer(serializers.ModelSerializer):
    """A pipeline; ``results`` maps the name of each finished step to what it left, in numbers. ``tunings`` are its fine-tuning
    jobs in order, those that another job has replaced included."""

    recipe: Any = serializers.StringRelatedField(read_only=True)
    dataset: Any = serializers.StringRelatedField(read_only=True)
    endpoint: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    runs: Any = serializers.PrimaryKeyRelatedField(many=True, read_only=True)
    tunings = serializers.SerializerMethodField()

    class Meta:
        model = Pipeline
        fields = (
            "id", "recipe", "dataset", "endpoint", "state", "reason", "step", "overrides", "results", "runs",
            "tunings", "created_at", "finished_at",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(TuningShownSerializer(many=True))
    def get_tunings(self, pipeline: Pipeline) -> Any:
        return TuningShownSerializer(tunings_shown(pipeline), many=True).data


class PipelineBudgetSerializer(KnownKeysSerializer):
    """What all runs of a pipeline may cost together; null removes the limit."""

    budget = serializers.DecimalField(allow_null=True, max_digits=12, decimal_places=6, min_value=0)


class NewPipelineSerializer(KnownKeysSerializer):
    """A recipe, the dataset that it runs on, and the endpoint that answers."""

    recipe = serializers.CharField(
        required=False,
        max_length=100,
        help_text="The name of one that ships with Foretell, or a saved one's id.",
    )
    content = serializers.JSONField(required=False, help_text="Your own recipe instead; it is saved.")
    dataset = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    endpoint = serializers.CharField(max_length=100, help_text="The name of one that the workspace may use.")
    overrides = serializers.JSONField(
        required=False,
        help_text='Choices by step: {"explain-cot": {"parameters": {"temperature": 0}}}. Those of "*" are for all steps: second,'
        " third, evaluator (models), second_endpoint and so on, simulators, budget, allow_own_model.",
    )

    def validate_overrides(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise serializers.ValidationError("expected an object {step: {choice: value}}")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("recipe" in attrs) == ("content" in attrs):
            raise serializers.ValidationError({"recipe": "expected recipe or content, one of them"})
        return attrs


def recipe_of(request: Request, name: str) -> dict[str, Any]:
    """The content of a recipe: one that ships with the product, by its name, or a saved one, by its id."""
    if name in recipe_names():
        return recipe_file(name)
    saved = recipes_for(user=request.user)
    number = int(name) if name.isascii() and name.isdecimal() and len(name) < 19 else 0
    found = saved.filter(pk=number).first()
    if found is None:
        raise serializers.ValidationError({"recipe": [f"There is no recipe {name!a}; see /recipes/."]})
    return dict(found.content)


class Pipelines(APIView):
    """The pipelines that you can see."""

    write_scope = "may_run"

    @extend_schema(responses=PipelineSerializer(many=True), operation_id="pipelines_list")
    def get(self, request: Request) -> Response:
        """Pipelines of your workspaces, newest first (at most 100)."""
        found = pipelines_for(user=request.user).prefetch_related("runs", tunings_wanted())
        return Response(PipelineSerializer(found[:100], many=True).data)

    @extend_schema(
        request=NewPipelineSerializer, responses={201: PipelineSerializer}, operation_id="pipelines_create"
    )
    def post(self, request: Request) -> Response:
        """Start a recipe on a dataset; a background job carries it out. Needs the role of an editor in the dataset's workspace."""
        sent = NewPipelineSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        chosen, user = dict(sent.validated_data), user_of(request)
        dataset = datasets_for(user=user, role=Membership.Role.EDITOR).filter(pk=chosen["dataset"]).first()
        if dataset is None:
            raise serializers.ValidationError({"dataset": ["You are an editor of no dataset with this id."]})
        name = chosen["endpoint"]
        endpoint = (
            endpoint_named(name=name, workspace_id=dataset.workspace_id) if clean(name) == name else None
        )
        if endpoint is None:
            raise serializers.ValidationError(
                {"endpoint": [f"The workspace has no endpoint named {name!a}."]}
            )
        own = "content" in chosen
        try:
            content = recipe_check(chosen["content"]) if own else recipe_of(request, chosen["recipe"])
        except RecipeError as error:
            raise serializers.ValidationError({"content": [str(error)]}) from None
        with transaction.atomic():
            recipe = recipe_save(
                content=content, workspace=dataset.workspace, created_by=user if own else None
            )
            pipeline = pipeline_create(
                recipe=recipe,
                dataset=dataset,
                endpoint=endpoint,
                overrides=chosen.get("overrides"),
                created_by=user,
                check_simulators=True,
            )
        return Response(PipelineSerializer(pipeline).data, status=status.HTTP_201_CREATED)


class PipelineDetail(APIView):
    """One pipeline."""

    write_scope = "may_run"

    @extend_schema(responses=PipelineSerializer, operation_id="pipelines_read")
    def get(self, request: Request, pk: int) -> Response:
        """The state of the pipeline, and what its finished steps left."""
        return Response(PipelineSerializer(pipeline_get_for(user=request.user, pk=pk)).data)

    @extend_schema(
        request=PipelineBudgetSerializer,
        responses={200: PipelineSerializer, 409: None},
        operation_id="pipelines_budget",
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Raise or lower the budget. 400 if more has been used already, 409 if the pipeline is over."""
        pipeline = pipeline_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        asked = PipelineBudgetSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        pipeline = pipeline_budget_set(pipeline=pipeline, **asked.validated_data)
        return Response(PipelineSerializer(pipeline).data)


class PipelineAction(APIView):
    """Pause, resume or cancel a pipeline, confirm that its endpoints' new addresses are the same deployments, retry its
    failed calls, cancel its fine-tuning job, or stop waiting until the endpoint has cancelled it."""

    write_scope = "may_run"

    @extend_schema(
        request=ActionSerializer,
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(ACTIONS))],
        responses={200: PipelineSerializer, 409: None},
        operation_id="pipelines_act",
    )
    def post(self, request: Request, pk: int, action: str) -> Response:
        """Act on the pipeline; repeating an action has no further effect. 409 if that is not possible now.

        Only two read the body: ``retry`` the calls to send again, and ``same-deployment`` where the moved endpoint is now: a 409
        says it, and refuses anything else.
        """
        pipeline = pipeline_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        act(ACTIONS, action, request, pipeline=pipeline)
        pipeline.refresh_from_db()
        return Response(PipelineSerializer(pipeline).data)

"""Runs over the REST API: the same services and the same access as the admin's pages."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Membership
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from evaluation.api.actions import ActionSerializer, act
from evaluation.models import Run
from evaluation.runs.create import RunPlan
from evaluation.runs.estimate import run_estimate
from evaluation.runs.lifecycle import (
    run_budget_set,
    run_cancel,
    run_continue_without,
    run_deployment_confirm,
    run_give_up,
    run_pause,
    run_resume,
    run_retry_failed,
    run_start,
)
from evaluation.runs.request import sampling
from evaluation.runs.text import clean
from evaluation.selectors.endpoint import endpoint_named
from evaluation.selectors.run import run_get_for, run_progress
from evaluation.simulators.merge import simulators_merge, simulators_separate
from evaluation.simulators.start import simulation_create

#: A study's slug in the address.
SLUG = OpenApiParameter("slug", {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$"}, OpenApiParameter.PATH)
ACTIONS: dict[str, Any] = {
    "start": run_start,
    "pause": run_pause,
    "resume": run_resume,
    "cancel": run_cancel,
    "same-deployment": run_deployment_confirm,
    "retry": run_retry_failed,
    "give-up": run_give_up,
    "continue-without": run_continue_without,
    "merge-simulators": simulators_merge,
    "separate-simulators": simulators_separate,
}


class NewRunSerializer(KnownKeysSerializer):
    """A simulator's run on a study; omitted values have their defaults."""

    endpoint = serializers.CharField(
        max_length=100, help_text="The name of one that the study's workspace may use."
    )
    model = serializers.CharField(required=False, allow_blank=True, max_length=200)
    allow_own_model = serializers.BooleanField(
        default=False, help_text="Allow a model whose explanations the study is about as a simulator."
    )
    by_fingerprint = serializers.BooleanField(
        default=False, help_text="Replies with another fingerprint count as another simulator's."
    )
    prompt = serializers.CharField(required=False, allow_blank=True, max_length=100_000)
    parameters = serializers.DictField(required=False)
    temperature = serializers.FloatField(required=False, min_value=0, max_value=2)
    seed = serializers.IntegerField(required=False, min_value=0, max_value=2**53)
    logprobs = serializers.BooleanField(
        required=False, help_text="Store the model's probability of each label beside it."
    )
    samples = serializers.IntegerField(required=False, min_value=1, max_value=100)
    together = serializers.IntegerField(required=False, min_value=1, max_value=50)
    workers = serializers.IntegerField(required=False, min_value=1, max_value=32)
    use_cache = serializers.BooleanField(required=False)
    max_failed_share = serializers.FloatField(required=False, min_value=0, max_value=1)
    budget_calls = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    budget_cost = serializers.DecimalField(required=False, max_digits=12, decimal_places=6, min_value=0)


class RunProgressSerializer(serializers.Serializer):
    """Counts of a run's calls; ``failures`` maps a kind to the number of calls."""

    total = serializers.IntegerField()
    done = serializers.IntegerField()
    pending = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    failed = serializers.IntegerField()
    unparsable = serializers.IntegerField()
    from_cache = serializers.IntegerField()
    tied = serializers.IntegerField()
    flagged = serializers.IntegerField()
    cut_off = serializers.IntegerField(
        help_text="Calls whose server seems to have read only a part of the prompt."
    )
    fingerprints = serializers.IntegerField(
        help_text="The number of different fingerprints that the server returned."
    )
    repeats = serializers.IntegerField()
    sent = serializers.IntegerField()
    spent = serializers.DecimalField(max_digits=14, decimal_places=8)
    perhaps_spent = serializers.DecimalField(max_digits=14, decimal_places=8)
    per_second = serializers.FloatField()
    seconds_left = serializers.FloatField(allow_null=True)
    failures = serializers.DictField(child=serializers.IntegerField())


class RunSerializer(serializers.ModelSerializer):
    """A run and its progress."""

    endpoint: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    study: Any = serializers.SlugRelatedField(slug_field="slug", read_only=True)
    rater: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    progress = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (
            "id", "kind", "study", "endpoint", "model", "rater", "prompt_digest", "samples", "state", "reason",
            "budget_calls", "budget_cost", "max_failed_share", "created_at", "started_at", "finished_at", "progress",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(RunProgressSerializer)
    def get_progress(self, run: Run) -> dict[str, Any]:
        return dict(RunProgressSerializer(run_progress(run)).data)


class RunEstimateSerializer(serializers.Serializer):
    """The calls that a run would make and their approximate cost; nothing is sent."""

    calls = serializers.IntegerField()
    stages = serializers.IntegerField()
    tokens_in = serializers.IntegerField()
    tokens_out = serializers.IntegerField()
    likely = serializers.DecimalField(max_digits=14, decimal_places=8)
    most = serializers.DecimalField(max_digits=14, decimal_places=8)
    low = serializers.DecimalField(
        max_digits=14,
        decimal_places=8,
        allow_null=True,
        help_text="The cost if all replies are as short as a tenth of the model's earlier ones; null if there are too few.",
    )
    high = serializers.DecimalField(max_digits=14, decimal_places=8, allow_null=True)
    earlier = serializers.IntegerField(
        help_text="The number of earlier replies that the estimate is based on."
    )


class StudyRuns(APIView):
    """A study's runs of models."""

    write_scope = "may_run"

    @extend_schema(parameters=[SLUG], responses=RunSerializer(many=True), operation_id="runs_list")
    def get(self, request: Request, slug: str) -> Response:
        """The runs of a study, newest first (at most 100)."""
        found = study_get_for(user=request.user, slug=slug)
        runs = Run.objects.filter(study=found).select_related("endpoint", "study", "rater")
        return Response(RunSerializer(runs[:100], many=True).data)

    @extend_schema(
        parameters=[SLUG],
        request=NewRunSerializer,
        responses={201: RunSerializer},
        operation_id="runs_create",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create a simulator's run, not yet started; items that this simulator has judged are left out."""
        found = study_get_for(user=request.user, slug=slug, role=Membership.Role.EDITOR)
        asked = NewRunSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        try:
            chosen = dict(asked.validated_data)
            name = chosen.pop("endpoint")
            choices = {name: chosen.pop(name) for name in ("allow_own_model", "by_fingerprint")}
            endpoint = (
                endpoint_named(name=name, workspace_id=found.workspace_id) if clean(name) == name else None
            )
            if endpoint is None:
                raise ValidationError({"endpoint": f"The study's workspace has no endpoint named {name!a}."})
            own = {name: chosen.pop(name) for name in ("temperature", "seed", "logprobs") if name in chosen}
            chosen["parameters"] = chosen.get("parameters", {}) | sampling(**own)
            plan = RunPlan(created_by=user_of(request), **chosen)
            run = simulation_create(study=found, endpoint=endpoint, plan=plan, **choices)
        except ValidationError as error:
            raise serializers.ValidationError(
                getattr(error, "message_dict", {"detail": error.messages})
            ) from None
        return Response(RunSerializer(run).data, status=status.HTTP_201_CREATED)


class BudgetSerializer(KnownKeysSerializer):
    """The limits of a run; null removes a budget, and what is left out stays unchanged."""

    budget_calls = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=2**31 - 1)
    budget_cost = serializers.DecimalField(
        required=False, allow_null=True, max_digits=12, decimal_places=6, min_value=0
    )
    max_failed_share = serializers.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        help_text="The run pauses if a larger share of its calls fails.",
    )


class RunDetail(APIView):
    """One run."""

    write_scope = "may_run"

    @extend_schema(request=BudgetSerializer, responses=RunSerializer, operation_id="runs_budget")
    def patch(self, request: Request, pk: int) -> Response:
        """Raise or lower the budgets, or the largest share of failed calls. 400 if a budget is less than what has been used."""
        run = _run(request, pk, Membership.Role.EDITOR)
        asked = BudgetSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        budgets = {"budget_calls": run.budget_calls, "budget_cost": run.budget_cost} | asked.validated_data
        run = run_budget_set(run=run, **budgets)
        return Response(RunSerializer(run).data)

    @extend_schema(responses=RunSerializer, operation_id="runs_read")
    def get(self, request: Request, pk: int) -> Response:
        """The state of the run and its progress."""
        return Response(RunSerializer(_run(request, pk)).data)


class RunEstimate(APIView):
    """The estimate of a run."""

    @extend_schema(responses=RunEstimateSerializer, operation_id="runs_estimate")
    def get(self, request: Request, pk: int) -> Response:
        """Calls, tokens and cost of the rest of the run."""
        return Response(RunEstimateSerializer(run_estimate(run=_run(request, pk))).data)


class RunAction(APIView):
    """Start, pause, resume or cancel a run, confirm that its endpoint's new address is the same deployment, retry its failed
    calls, or give up those that hold it up."""

    write_scope = "may_run"

    @extend_schema(
        request=ActionSerializer,
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(ACTIONS))],
        responses={200: RunSerializer, 409: None},
        operation_id="runs_act",
    )
    def post(self, request: Request, pk: int, action: str) -> Response:
        """Act on the run; repeating an action has no further effect. 409 if the run is over.

        ``retry``, ``give-up`` and ``continue-without`` read from the body which calls are meant, all that have failed if it names
        none; the last one leaves their items out and resumes the run. ``same-deployment`` reads where the moved endpoint is now: a
        409 says it, and refuses anything else. ``merge-simulators`` counts simulators that were split by what their server returned
        as one, and ``separate-simulators`` undoes that.
        """
        run = _run(request, pk, Membership.Role.EDITOR)
        act(ACTIONS, action, request, run=run)
        run.refresh_from_db()
        return Response(RunSerializer(run).data)


def _run(request: Request, pk: int, role: str = Membership.Role.VIEWER) -> Run:
    return run_get_for(user=user_of(request), pk=pk, role=role)

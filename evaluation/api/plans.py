"""Analysis plans over the REST API: the same services and the same access as the pages."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.core.canonical import digest_of
from annotator.core.errors import Conflict
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Membership, Study
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from evaluation.api.reports import STUDY
from evaluation.models import PlanJob
from evaluation.planning.plan_document import PlanError
from evaluation.selectors.analysis_plan import plan_job_latest, plan_look_inputs, plan_state
from evaluation.services.analysis_plan import plan_save, plan_seal
from evaluation.services.plan_job import plan_job_cancel, plan_power_request
from evaluation.services.plan_look import plan_look_request


class PlanSerializer(serializers.Serializer):
    """A study's analysis plan as its file has it. ``sha256`` is the hash of the canonical JSON of the other three."""

    plan = serializers.JSONField(
        help_text="Hypotheses, options, exclusion rules, test, correction, stopping rule."
    )
    design = serializers.JSONField(
        help_text="Items, instances, systems and raters for each item; as they were when it was sealed."
    )
    sealed_at = serializers.DateTimeField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True)
    markdown = serializers.CharField(help_text="The plan for OSF or AsPredicted.")


def _shown(study: Study) -> Response:
    state = plan_state(study=study)
    found = state.to_json()
    if found is None:
        raise Http404("no plan")
    return Response(found | {"markdown": state.markdown})


class StudyAnalysisPlan(APIView):
    """A study's analysis plan."""

    @extend_schema(parameters=[STUDY], responses=PlanSerializer, operation_id="plan_read")
    def get(self, request: Request, study: str) -> Response:
        """The plan; 404 if the study has none."""
        return _shown(study_get_for(user=request.user, pk=study))

    @extend_schema(
        parameters=[STUDY], request=OpenApiTypes.OBJECT, responses=PlanSerializer, operation_id="plan_save"
    )
    def put(self, request: Request, study: str) -> Response:
        """Store a plan in place of an earlier one. 400 names each wrong field; 409 if the plan is sealed."""
        found = study_get_for(user=request.user, pk=study, role=Membership.Role.EDITOR)
        try:
            plan_save(study=found, document=request.data, user=user_of(request))
        except PlanError as error:
            raise serializers.ValidationError({name: [text] for name, text in error.errors.items()}) from None
        return _shown(found)


class StudyPlanSeal(APIView):
    """The seal of a study's analysis plan."""

    @extend_schema(parameters=[STUDY], request=None, responses=PlanSerializer, operation_id="plan_seal")
    def post(self, request: Request, study: str) -> Response:
        """Seal the plan; 409 if it is sealed already, or if people have judged."""
        found = study_get_for(user=request.user, pk=study, role=Membership.Role.EDITOR)
        plan_seal(study=found, user=user_of(request))
        return _shown(found)


class PlanPowerAskSerializer(KnownKeysSerializer):
    """What a power calculation takes for granted."""

    precision = serializers.FloatField(
        default=0.7,
        min_value=0.001,
        max_value=0.999,
        help_text="Value of the second system: its precision, or its share of the label; for gain and NSG, accuracy without the explanation.",
    )
    accuracy = serializers.FloatField(
        default=0.85,
        min_value=0.001,
        max_value=0.999,
        help_text="How often a rater gives the label of a careful reader.",
    )
    clustering = serializers.FloatField(
        default=0.1, min_value=0.001, max_value=0.999, help_text="Correlation within instances."
    )


class PlanPowerSerializer(serializers.ModelSerializer):
    """A calculation of a plan's power; ``result`` is null until it is done."""

    assumed = serializers.JSONField(source="inputs.assumed", help_text="What it takes for granted.")
    result = serializers.JSONField(
        allow_null=True,
        help_text="rows: power by hypothesis, instances and raters; spread: the standard deviation that a hypothesis's power is computed from; without: why a hypothesis has none.",
    )

    class Meta:
        model = PlanJob
        fields = ["state", "done", "total", "assumed", "result", "error", "created_at", "finished_at"]


class StudyPlanPower(APIView):
    """The power of a study's analysis plan, which a worker computes."""

    @extend_schema(parameters=[STUDY], responses=PlanPowerSerializer, operation_id="plan_power_read")
    def get(self, request: Request, study: str) -> Response:
        """The latest calculation; 404 if there is none."""
        found = plan_job_latest(study=study_get_for(user=request.user, pk=study))
        if found is None:
            raise Http404("no calculation")
        return Response(PlanPowerSerializer(found).data)

    @extend_schema(
        parameters=[STUDY],
        request=PlanPowerAskSerializer,
        responses={202: PlanPowerSerializer},
        operation_id="plan_power_compute",
    )
    def post(self, request: Request, study: str) -> Response:
        """Compute the power. A result from the same plan and assumptions is returned at once; 409 while another calculation is running."""
        found = study_get_for(user=request.user, pk=study, role=Membership.Role.EDITOR)
        asked = PlanPowerAskSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        made = plan_power_request(study=found, assumed=asked.validated_data, user=user_of(request))
        return Response(PlanPowerSerializer(made).data, status=202)

    @extend_schema(parameters=[STUDY], responses={204: None}, operation_id="plan_power_cancel")
    def delete(self, request: Request, study: str) -> Response:
        """Cancel the calculation that waits or is running; 404 if there is none."""
        if not plan_job_cancel(study=study_get_for(user=request.user, pk=study, role=Membership.Role.EDITOR)):
            raise Http404("no calculation")
        return Response(status=204)


class PlanSoFarSerializer(serializers.ModelSerializer):
    """The planned comparisons so far, as a worker computed them; ``values`` is null until it has."""

    values = serializers.JSONField(
        source="result.values",
        default=None,
        allow_null=True,
        help_text="For each hypothesis: name, value, low and high of the interval that is valid at looks, and which interval that is.",
    )
    current = serializers.SerializerMethodField(
        help_text="Whether no judgment has been added or excluded since they were requested."
    )

    class Meta:
        model = PlanJob
        fields = ["state", "values", "current", "error", "created_at", "finished_at"]

    def get_current(self, job: PlanJob) -> bool:
        inputs = plan_look_inputs(study=job.study)
        return inputs is not None and job.digest == digest_of(inputs)


class StudyPlanSoFar(APIView):
    """The planned comparisons of a study with a stopping rule, while it runs."""

    @extend_schema(parameters=[STUDY], responses=PlanSoFarSerializer, operation_id="plan_so_far_read")
    def get(self, request: Request, study: str) -> Response:
        """The latest calculation; 404 if there is none."""
        found = plan_job_latest(study=study_get_for(user=request.user, pk=study), kind=PlanJob.Kind.LOOK)
        if found is None:
            raise Http404("no calculation")
        return Response(PlanSoFarSerializer(found).data)

    @extend_schema(
        parameters=[STUDY],
        request=None,
        responses={202: PlanSoFarSerializer},
        operation_id="plan_so_far_compute",
    )
    def post(self, request: Request, study: str) -> Response:
        """Compute them with the latest judgments; a worker does it. 409 without a sealed plan that has a stopping rule."""
        found = study_get_for(user=request.user, pk=study, role=Membership.Role.REVIEWER)
        inputs = plan_look_inputs(study=found)
        if inputs is None:
            raise Conflict("The study has no sealed plan with a stopping rule.")
        made = plan_look_request(study=found, inputs=inputs, user=user_of(request))
        return Response(PlanSoFarSerializer(made).data, status=202)

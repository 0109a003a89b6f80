"""The participants and the members of a study over the API."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import OWNER, person, study_of
from annotator.api.serializers import DetailSerializer
from annotator.api.studies import ERRORS, ById
from annotator.core.known_keys import KnownKeys, KnownKeysSerializer
from annotator.models import Invitation, Membership, Participation
from annotator.selectors.panel import LINK_FILTERS, participants_of
from annotator.selectors.study import studies_for
from annotator.services.audit import people_viewed
from annotator.services.membership import (
    invitation_create,
    invitation_revoke,
    member_change,
    member_remove,
)


class ParticipantSerializer(serializers.ModelSerializer[Participation]):
    rater = serializers.IntegerField(source="rater_id")
    name = serializers.CharField(source="rater.name")
    done = serializers.IntegerField(help_text="Tasks submitted.")

    class Meta:
        model = Participation
        fields = (
            "id", "rater", "name", "state", "recruiter", "recruiter_id", "recruiter_session", "recruiter_verified",
            "panel_status", "panel_status_at", "done", "joined_at", "finished_at",
        )  # fmt: skip


class Participants(GenericAPIView[Participation]):
    """Everybody who has joined the study; rehearsal raters haven't."""

    read_scope = "may_see_people"
    serializer_class = ParticipantSerializer
    pagination_class = ById
    queryset = Participation.objects.none()

    @extend_schema(
        parameters=[
            OpenApiParameter("q", str, description="Part of a name, or of an id at the panel."),
            OpenApiParameter("status", str, description="The panel's status of the submission."),
            OpenApiParameter("link", str, enum=list(LINK_FILTERS), description="How they came."),
        ],
        responses={200: ParticipantSerializer(many=True), **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The participants by id, with their panel's ids and how much they have done."""
        study = study_of(request, slug)
        people_viewed(by=person(request), page="participants", studies=[study])
        asked = request.query_params
        link = asked.get("link", "")
        if link and link not in LINK_FILTERS:
            raise serializers.ValidationError({"link": [f"expected one of: {', '.join(LINK_FILTERS)}"]})
        query, state = asked.get("q", "").replace("\x00", ""), asked.get("status", "").replace("\x00", "")
        found = participants_of(study, query=query[:200], status=state[:40], link=link)
        page = self.paginate_queryset(found)
        return self.get_paginated_response(ParticipantSerializer(page, many=True).data)


class MemberSerializer(KnownKeys, serializers.ModelSerializer[Membership]):
    username = serializers.CharField(source="user.username", read_only=True)

    class Meta:
        model = Membership
        fields = ("id", "username", "role")
        extra_kwargs = {"role": {"required": True}}


class OpenInvitationSerializer(serializers.ModelSerializer[Invitation]):
    class Meta:
        model = Invitation
        fields = ("id", "email", "role", "expires_at")


class MembersSerializer(serializers.Serializer[Any]):
    members = MemberSerializer(many=True)
    invitations = OpenInvitationSerializer(many=True, help_text="Those that nobody has accepted yet.")


class InviteSerializer(KnownKeysSerializer):
    role = serializers.ChoiceField(Membership.Role.choices)
    email = serializers.EmailField(
        required=False, default="", allow_blank=True, help_text="For your own list; no email is sent."
    )


class InvitedSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    link = serializers.CharField(help_text="For your colleague; it works once and isn't shown again.")


class Members(APIView):
    """The members of a study, and invitations."""

    @extend_schema(responses={200: MembersSerializer, **ERRORS}, operation_id="members_retrieve")
    def get(self, request: Request, slug: str) -> Response:
        """Who has which role, and whose invitation is open."""
        study = study_of(request, slug)
        open_ones = study.invitations.filter(accepted_at__isnull=True, revoked_at__isnull=True)
        members = study.memberships.select_related("user").order_by("user__username")
        return Response(MembersSerializer({"members": members, "invitations": open_ones}).data)

    @extend_schema(request=InviteSerializer, responses={201: InvitedSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Make an invitation for a colleague. Needs the role of an owner."""
        study = study_of(request, slug, OWNER)
        form = InviteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        invitation, token = invitation_create(study=study, by=person(request), **form.validated_data)
        link = request.build_absolute_uri(reverse("annotator:colleague", args=[token]))
        return Response({"id": invitation.pk, "link": link}, status=status.HTTP_201_CREATED)


class Member(APIView):
    """One membership."""

    @extend_schema(request=MemberSerializer, responses={200: MemberSerializer, **ERRORS})
    def patch(self, request: Request, pk: int) -> Response:
        """Give a member another role. Needs the role of an owner."""
        found = _mine(Membership, request, pk)
        form = MemberSerializer(found, data=request.data)
        form.is_valid(raise_exception=True)
        changed = member_change(membership=found, role=form.validated_data["role"])
        return Response(MemberSerializer(changed).data)

    @extend_schema(request=None, responses={204: None, **ERRORS})
    def delete(self, request: Request, pk: int) -> Response:
        """End a membership. Needs the role of an owner."""
        member_remove(membership=_mine(Membership, request, pk))
        return Response(status=status.HTTP_204_NO_CONTENT)


class InvitationWithdraw(APIView):
    """Withdraw an invitation."""

    @extend_schema(request=None, responses={204: None, 404: DetailSerializer})
    def delete(self, request: Request, pk: int) -> Response:
        """Its link no longer works. Needs the role of an owner."""
        invitation_revoke(invitation=_mine(Invitation, request, pk))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _mine(model: Any, request: Request, pk: int) -> Any:
    """A row of a study that the caller owns; else not found."""
    found = model.objects.filter(pk=pk, study__in=studies_for(user=request.user, role=OWNER))
    one = found.select_related("study").first()
    if one is None:
        raise Http404("no such row")
    return one

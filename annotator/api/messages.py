"""Messages of participants over the API: read them, answer several at once, settle them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import REVIEWER, person, study_of
from annotator.api.serializers import IDS
from annotator.api.studies import ERRORS, ById
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Message, Study
from annotator.selectors.message import messages_of
from annotator.services.audit import people_viewed
from annotator.services.message import message_settle, messages_reply


class MessageSerializer(serializers.ModelSerializer[Message]):
    rater = serializers.CharField(source="rater.name")
    item = serializers.CharField(source="item.key", default=None, allow_null=True)
    author = serializers.CharField(
        source="author.username", default=None, allow_null=True, help_text="The researcher who replied."
    )

    class Meta:
        model = Message
        fields = ("id", "kind", "rater", "item", "text", "author", "created_at", "settled_at")


class AnswerSerializer(KnownKeysSerializer):
    messages = serializers.ListField(child=serializers.IntegerField(), help_text=IDS)
    text = serializers.CharField(
        max_length=5_000, help_text="Each participant gets it once, and what they asked is settled."
    )


class SettledSerializer(KnownKeysSerializer):
    messages = serializers.ListField(child=serializers.IntegerField(), help_text=IDS)


class AnsweredSerializer(serializers.Serializer[Any]):
    participants = serializers.IntegerField(help_text="How many got the answer.")


class SettledCountSerializer(serializers.Serializer[Any]):
    settled = serializers.IntegerField()


class Messages(GenericAPIView[Message]):
    """Questions, problems with items, deletion requests, and researchers' replies."""

    read_scope = "may_see_people"
    write_scope = "may_write"
    serializer_class = MessageSerializer
    pagination_class = ById
    queryset = Message.objects.none()

    @extend_schema(
        parameters=[OpenApiParameter("waiting", bool, description="Only those that wait for an answer.")],
        responses={200: MessageSerializer(many=True), **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The study's messages by id."""
        study = study_of(request, slug)
        people_viewed(by=person(request), page="messages", studies=[study])
        waiting = request.query_params.get("waiting", "").lower() in ("1", "true", "yes")
        page = self.paginate_queryset(messages_of(study, waiting=waiting))
        return self.get_paginated_response(MessageSerializer(page, many=True).data)

    @extend_schema(request=AnswerSerializer, responses={200: AnsweredSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Answer messages with one text. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = AnswerSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        chosen = _named(study, form.validated_data["messages"])
        sent = messages_reply(
            study=study, messages=chosen, by=person(request), text=form.validated_data["text"]
        )
        return Response({"participants": len(sent)})


class MessagesSettle(APIView):
    """Take messages off the list of those that wait."""

    @extend_schema(request=SettledSerializer, responses={200: SettledCountSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Settle messages without an answer. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = SettledSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        settled = [message_settle(message=one) for one in _named(study, form.validated_data["messages"])]
        return Response({"settled": len(settled)})


def _named(study: Study, pks: list[int]) -> list[Message]:
    """The study's messages with these ids; a missing one is an error."""
    found = messages_of(study).in_bulk([pk for pk in pks if 0 < pk < 2**63])
    if strange := [pk for pk in dict.fromkeys(pks) if pk not in found]:
        raise serializers.ValidationError({"messages": [f"The study has no message {strange[0]}."]})
    return list(found.values())

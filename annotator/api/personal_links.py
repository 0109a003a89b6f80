"""Personal links over the API: add people, read their links, revoke one, make it anew, remove somebody."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, people_shown, person, study_of
from annotator.api.studies import ERRORS, ById
from annotator.core.known_keys import KnownKeysSerializer
from annotator.core.tables.faults import FaultLog
from annotator.models import PersonalLink, Study
from annotator.selectors.personal_links import personal_links_of
from annotator.services.audit import people_viewed
from annotator.services.personal_links import (
    LENGTHS,
    MOST,
    PersonListed,
    people_check,
    personal_link_remove,
    personal_link_renew,
    personal_link_revoke,
    personal_links_make,
)


class PersonSerializer(KnownKeysSerializer):
    name = serializers.CharField(max_length=LENGTHS["name"], required=False, default="")
    email = serializers.CharField(max_length=LENGTHS["email"], required=False, default="")
    id = serializers.CharField(max_length=LENGTHS["own_id"], required=False, default="")


class PeopleSerializer(KnownKeysSerializer):
    people = serializers.ListField(
        child=PersonSerializer(), min_length=1, max_length=MOST,
        help_text="Each with a name, an email address or an id. All are added, or none.",
    )  # fmt: skip
    expires_at = serializers.DateTimeField(
        required=False, default=None, allow_null=True, help_text="Until when the links work."
    )


class PersonalLinkSerializer(serializers.Serializer[Any]):
    key = serializers.IntegerField(source="row.pk", help_text="The number of this entry of the list.")
    name = serializers.CharField(source="row.name")
    email = serializers.CharField(source="row.email")
    id = serializers.CharField(source="row.own_id")
    person = serializers.CharField(source="row.person", help_text="The made-up id that the study's data has.")
    link = serializers.CharField(source="address")
    state = serializers.CharField(source="row.state", help_text="`works`, `revoked` or `expired`.")
    expires_at = serializers.DateTimeField(source="row.expires_at", allow_null=True)
    rater = serializers.CharField(help_text="The participant's name once they have joined; else empty.")


class PeopleAddedSerializer(serializers.Serializer[Any]):
    added = PersonalLinkSerializer(many=True)


class LinkActionSerializer(KnownKeysSerializer):
    action = serializers.ChoiceField(choices=(("revoke", "revoke"), ("renew", "renew")))


class PersonalLinks(GenericAPIView[PersonalLink]):
    """The people on a study's list, each with a link of their own."""

    read_scope = "may_see_people"
    write_scope = "may_write"
    serializer_class = PersonalLinkSerializer
    pagination_class = ById
    queryset = PersonalLink.objects.none()

    @extend_schema(responses={200: PersonalLinkSerializer(many=True), **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The list with everybody's link. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        people_viewed(by=person(request), page="personal links", studies=[study])
        page = self.paginate_queryset(study.personal_links.order_by("pk"))
        return self.get_paginated_response(_shown(request, study, page or []))

    @extend_schema(request=PeopleSerializer, responses={201: PeopleAddedSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Add people; the reply has their links. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        form = PeopleSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        log = FaultLog("people")
        people = [
            PersonListed(line, one["name"], one["email"], one["id"])
            for line, one in enumerate(form.validated_data["people"], 1)
        ]
        for one in people:
            people_check(one, log)
        made = personal_links_make(
            study=study, people=people, by=person(request), log=log, expires_at=form.validated_data["expires_at"]
        )  # fmt: skip
        return Response({"added": _shown(request, study, made)}, status.HTTP_201_CREATED)


class PersonalLinkDetail(APIView):
    """One person on the list."""

    @extend_schema(request=LinkActionSerializer, responses={200: PersonalLinkSerializer, **ERRORS})
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Revoke the link, or make a new one, after which the earlier one doesn't work. Needs the role of an editor."""
        people_shown(request)
        study = study_of(request, slug, EDITOR)
        row = _row(study, pk)
        form = LinkActionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        change = personal_link_revoke if form.validated_data["action"] == "revoke" else personal_link_renew
        row = change(row=row, by=person(request))
        return Response(_shown(request, study, [row])[0])

    @extend_schema(responses={204: None, **ERRORS})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Take somebody off the list who hasn't joined. Needs the role of an editor."""
        personal_link_remove(row=_row(study_of(request, slug, EDITOR), pk), by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _row(study: Study, pk: int) -> PersonalLink:
    row = PersonalLink.objects.filter(study=study, pk=pk).first()
    if row is None:
        raise Http404("not on the list")
    return row


def _shown(request: Request, study: Study, rows: list[PersonalLink]) -> Any:
    people = personal_links_of(study, site=request.build_absolute_uri("/"), rows=rows)
    return PersonalLinkSerializer(people, many=True).data

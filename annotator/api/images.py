"""Images of a study over the API."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, person, study_of
from annotator.api.serializers import (
    DetailSerializer,
    ErrorsSerializer,
    ImageSerializer,
    ImagesSentSerializer,
    ImagesUploadedSerializer,
)
from annotator.services.images import image_delete, images_add, uploads_unpacked


class Images(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(responses={200: ImageSerializer(many=True), 404: DetailSerializer})
    def get(self, request: Request, slug: str) -> Response:
        """The study's images, by name."""
        return Response(ImageSerializer(study_of(request, slug).images.all(), many=True).data)

    @extend_schema(
        request={"multipart/form-data": ImagesSentSerializer},
        responses={201: ImagesUploadedSerializer, 400: ErrorsSerializer, 404: DetailSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add images, or zip archives of them, all or none; then import material that names them. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        files = request.FILES.getlist("images")
        if not files:
            raise serializers.ValidationError({"images": ["send at least one file"]})
        try:
            result = images_add(study=study, files=uploads_unpacked(files), by=person(request))
        except ValidationError as error:
            raise serializers.ValidationError({"images": error.messages}) from None
        shown = {"images": ImageSerializer(result.added, many=True).data, "unchanged": result.unchanged}
        return Response(shown, status=status.HTTP_201_CREATED)


class ImageDetail(APIView):
    """One image of a study."""

    @extend_schema(responses={204: None, 400: ErrorsSerializer, 404: DetailSerializer})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Delete an image that nothing shows. Needs the role of an editor."""
        found = study_of(request, slug, EDITOR).images.filter(pk=pk).first()
        if found is None:
            raise Http404("no such image")
        image_delete(image=found, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

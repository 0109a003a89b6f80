"""Operations on images. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Required, TypedDict, Unpack

from foretell_client.transport import File, Transport, part


class Image(TypedDict):
    id: int
    name: str
    digest: str
    media_type: str
    width: int
    height: int
    size: int


class ImagesSent(TypedDict, total=False):
    images: Required[list[File]]


class ImagesUploaded(TypedDict):
    images: list[Image]
    unchanged: int


class ImagesOperations:
    """Operations on images."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def all(self, slug: str, /) -> list[Image]:
        """The study's images, by name."""
        reply: list[Image] = self._http.json("GET", f"studies/{part(slug)}/images/")
        return reply

    def create(self, slug: str, /, **sent: Unpack[ImagesSent]) -> ImagesUploaded:
        """Add images, or zip archives of them, all or none; then import material that names them. Needs the
        role of an editor.
        """
        reply: ImagesUploaded = self._http.json("POST", f"studies/{part(slug)}/images/", form=sent)
        return reply

    def delete(self, slug: str, id: int, /) -> None:
        """Delete an image that nothing shows. Needs the role of an editor."""
        self._http.nothing("DELETE", f"studies/{part(slug)}/images/{id}/")

"""Uploads that are larger than any import may be are refused before they are read."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler

from annotator.services.imports.readers import max_bytes

#: What a form may weigh beside its file.
SLACK = 1_000_000


class LimitedUploadHandler(FileUploadHandler):
    """The first of the upload handlers: looks at the request's length and passes everything on."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, Any],
        content_length: int,
        boundary: Any,
        encoding: str | None = None,
    ) -> None:
        if content_length > max_bytes() + SLACK:
            raise RequestDataTooBig(f"at most {max_bytes():,} bytes can be uploaded")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None

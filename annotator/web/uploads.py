"""Refuse uploads that are too large for any import before they are read."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler

from annotator.services.imports.readers import max_bytes

#: The largest size of a form without its file, in bytes.
SLACK = 1_000_000


class LimitedUploadHandler(FileUploadHandler):
    """The first upload handler: checks the request's length and passes the data on."""

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

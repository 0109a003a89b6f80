"""Messages with images, as strict about them as real APIs: the bytes must be an image of the type that is given."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from typing import Any

JSON = dict[str, Any]
#: Media type -> how such a file begins.
BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/webp": b"RIFF",
    "image/gif": b"GIF8",
}


class BadParts(ValueError):
    """Content that no API accepts."""


def messages_read(messages: list[JSON]) -> tuple[list[JSON], int]:
    """The messages with texts only, and how many images they had. Each image becomes the beginning of its digest, so that
    a reply depends on it. Raises ``BadParts``.
    """
    images = 0
    read = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            texts = []
            for part in content:
                if not isinstance(part, dict) or part.get("type") not in ("text", "image_url"):
                    raise BadParts(f"Invalid value: {str(part)[:60]}. Supported values are: text, image_url.")
                if part["type"] == "text":
                    texts.append(str(part["text"]))
                    continue
                if message.get("role") != "user":
                    raise BadParts("Images are only allowed in messages of the user.")
                images += 1
                texts.append(f"[image {_digest(part)[:12]}]")
            message = message | {"content": "".join(texts)}
        read.append(message)
    return read, images


def _digest(part: JSON) -> str:
    url = str((part.get("image_url") or {}).get("url") or "")
    head, _, data = url.partition(";base64,")
    media_type = head.removeprefix("data:")
    try:
        content = b64decode(data, validate=True)
    except ValueError:
        raise BadParts("The image is not valid base64.") from None
    if media_type not in BEGINNINGS or not content.startswith(BEGINNINGS[media_type]):
        raise BadParts(f"You uploaded an unsupported image: it is not {media_type or 'a data address'}.")
    return hashlib.sha256(content).hexdigest()

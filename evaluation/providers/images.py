"""The images of a chat: from the markers in its texts to the parts that an API takes.

A stored request names each image by a marker with its digest, so requests stay small and the cache's keys are exact. The
bytes are read when the request is sent.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from annotator.hit_types.images import parts_of
from evaluation.providers.base import ChatImage, ChatRequest

#: Stands for an image in a message that can't hold one, such as the instructions.
ELSEWHERE = "[An image: see the next message of the user]"


def messages_in_parts(request: ChatRequest) -> Iterator[tuple[str, list[str | ChatImage]]]:
    """(role, parts) of each message. Images are in the user's messages only, as the APIs demand: one that another
    message names comes with the user's next message.
    """
    waiting: list[ChatImage] = []
    for message in request.messages:
        parts = parts_of(message["content"], request.images)
        pictures = [part for part in parts if isinstance(part, ChatImage)]
        if message["role"] == "user":
            yield "user", [*waiting, *parts]
            waiting = []
        elif pictures:
            waiting += pictures
            texts = [part if isinstance(part, str) else ELSEWHERE for part in parts]
            yield message["role"], ["".join(texts)]
        else:
            yield message["role"], parts


def base64_of(image: ChatImage) -> str:
    return b64encode(image.read()).decode()


def chat_body(request: ChatRequest) -> dict[str, Any]:
    """The JSON body of a request in the OpenAI protocol, with its images as data addresses."""
    body = request.body()
    if request.images:
        body["messages"] = [
            {"role": role, "content": content_of(parts, _image_part)}
            for role, parts in messages_in_parts(request)
        ]
    return body


def content_of(
    parts: Sequence[str | ChatImage], image_part: Callable[[ChatImage], dict[str, Any]]
) -> str | list[dict[str, Any]]:
    """A message's content: its text, or with images a list of parts, of which ``image_part`` makes those of images."""
    if all(isinstance(part, str) for part in parts):
        return "".join(map(str, parts))
    return [{"type": "text", "text": part} if isinstance(part, str) else image_part(part) for part in parts]


def _image_part(image: ChatImage) -> dict[str, Any]:
    return {
        "type": "image_url",
        "image_url": {"url": f"data:{image.media_type};base64,{base64_of(image)}"},
    }

"""Images in chats: each API's own parts, which the scripted provider decodes."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from evaluation.providers.apis.anthropic import Anthropic
from evaluation.providers.apis.gemini import Gemini
from evaluation.providers.base import ChatImage, ChatRequest, ProviderError
from evaluation.providers.images import chat_body
from tests.evaluation.providers.asking import ask
from tests.evaluation.scripted_process import ScriptedProcess
from tests.pictures import picture

PNG, JPEG = picture(), picture("brown", kind="JPEG")
IMAGES = {
    hashlib.sha256(PNG).hexdigest(): ChatImage("image/png", lambda: PNG),
    hashlib.sha256(JPEG).hexdigest(): ChatImage("image/jpeg", lambda: JPEG),
}
FIRST, SECOND = (f"[[image sha256:{digest}]]" for digest in IMAGES)
OTHER = f"[[image sha256:{'0' * 64}]]"
APIS: dict[str, dict[str, Any]] = {
    "openai": {"api": "openai", "path": "/v1"},
    "anthropic": {"api": "anthropic", "path": "/anthropic/v1"},
    "gemini": {"api": "gemini", "path": "/gemini/v1beta"},
}


def request(*messages: tuple[str, str], images: dict[str, ChatImage] | None = None) -> ChatRequest:
    chat = tuple({"role": role, "content": content} for role, content in messages)
    return ChatRequest("scripted", chat, {"max_tokens": 100}, images=IMAGES if images is None else images)


def test_images_are_where_the_text_names_them() -> None:
    asked = request(("user", f"One: {FIRST} Two: {SECOND}{OTHER}"))
    [message] = chat_body(asked)["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "text", "image_url", "text"]
    assert message["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert message["content"][4]["text"] == OTHER, "an image that isn't the item's is not sent"
    [message] = Anthropic().chat_body(asked)["messages"]
    assert message["content"][3]["source"]["media_type"] == "image/jpeg"
    [content] = Gemini().chat_body(asked)["contents"]
    assert content["parts"][1]["inlineData"]["mimeType"] == "image/png"
    assert asked.body()["messages"] == list(asked.messages), "what is stored has markers only"


def test_an_image_in_the_instructions_comes_with_the_users_message() -> None:
    asked = request(("system", f"Look at {FIRST}."), ("user", "What is it?"))
    system, user = chat_body(asked)["messages"]
    assert system["content"] == "Look at [An image: see the next message of the user]."
    assert [part["type"] for part in user["content"]] == ["image_url", "text"]
    assert Anthropic().chat_body(asked)["system"] == system["content"]
    assert len(Gemini().chat_body(asked)["systemInstruction"]["parts"]) == 1


@pytest.mark.parametrize("api", APIS)
def test_each_api_is_sent_the_images_themselves(scripted: ScriptedProcess, api: str) -> None:
    scripted.reset()
    reply = ask(scripted, lambda client: client.chat(request(("user", f"{FIRST} and {SECOND}"))), **APIS[api])
    assert reply.text
    assert scripted.stats()["counts"]["images"] == 2


@pytest.mark.parametrize("api", APIS)
def test_a_file_of_another_type_is_refused(scripted: ScriptedProcess, api: str) -> None:
    """The scripted provider looks at the bytes, so a test would notice the wrong type or encoding."""
    digest = next(iter(IMAGES))
    asked = request(("user", FIRST), images={digest: ChatImage("image/jpeg", lambda: PNG)})
    with pytest.raises(ProviderError, match="it is not image/jpeg") as error:
        ask(scripted, lambda client: client.chat(asked), **APIS[api])
    assert error.value.kind == "bad_request"

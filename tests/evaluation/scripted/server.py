"""The scripted provider as tests use it: it also imitates other APIs and servers, misbehaves, and can be held.

``python -m tests.evaluation.scripted.server --port 0``
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.http import Request, Response, json_response
from evaluation.providers.scripted.server import main
from tests.evaluation.scripted.gate import Gate
from tests.evaluation.scripted.llama_cpp_python import llama_cpp_python
from tests.evaluation.scripted.misbehave import KINDS
from tests.evaluation.scripted.ollama import ollama
from tests.evaluation.scripted.particular import no_system, streams
from tests.evaluation.scripted.vendors import anthropic, gemini

#: Provider -> the path of its base URL here.
BASE_PATHS = {"openai": "/v1", "anthropic": "/anthropic/v1", "gemini": "/gemini/v1beta"}
IMITATIONS = {
    "/anthropic/v1/": anthropic,
    "/gemini/v1beta/": gemini,
    "/ollama/": ollama,
    "/llama-cpp-python/": llama_cpp_python,
    "/no-system/": no_system,
    "/streams/": streams,
}


class Imitator(Scripted):
    """``POST /hold?after=8``: eight more requests get replies, the others wait until ``POST /release``."""

    broken_replies: ClassVar[Mapping[str, Any]] = KINDS

    def __init__(self, *, key: str = "") -> None:
        self.gate = Gate()
        super().__init__(key=key)

    def reset(self) -> None:
        super().reset()
        self.gate.release()

    async def admit(self) -> None:
        await self.gate()

    async def __call__(self, request: Request) -> Response:
        path = request.path.rstrip("/")
        if path == "/hold":
            self.gate.hold(int(dict(parse_qsl(request.query)).get("after", 0)))
            return json_response(self.stats())
        if path == "/release":
            self.gate.release()
            return json_response(self.stats())
        if path == "/redirect/v1/chat/completions":
            return Response(307, b"", {"location": "/v1/chat/completions"})
        for start, imitate in IMITATIONS.items():
            if path.startswith(start):
                return await imitate(request, self)
        return await super().__call__(request)


if __name__ == "__main__":
    main(Imitator)

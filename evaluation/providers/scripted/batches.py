"""The batch API: a file of requests in, a file of replies out, in any order and possibly incomplete."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from typing import Any, Protocol
from urllib.parse import parse_qs

from evaluation.providers.scripted.http import Request, Response, json_response
from evaluation.providers.scripted.options import BadOptions, Options
from evaluation.providers.scripted.parts import BadParts, messages_read
from evaluation.providers.scripted.world import chance


class Completer(Protocol):
    """The part of the provider that batches use."""

    counts: Counter[str]

    def options(self, model: str) -> Options: ...

    def completion(self, body: dict[str, Any], options: Options) -> dict[str, Any]: ...


class ScriptedBatches:
    """Files and batches of one provider. Replies come back shuffled; with ``faults``, some are missing and some are
    repeated."""

    def __init__(self, provider: Completer) -> None:
        self.provider = provider
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}

    async def handle(self, request: Request) -> Response:
        parts = request.path.strip("/").split("/")[1:]
        if parts == ["files"] and request.method == "POST":
            return self._file_create(request)
        if len(parts) == 3 and parts[0] == "files" and parts[2] == "content" and parts[1] in self.files:
            return Response(200, self.files[parts[1]], {"content-type": "application/jsonl"})
        if len(parts) == 2 and parts[0] == "files" and parts[1] in self.files:
            return json_response(
                {"id": parts[1], "object": "file", "status": "processed", "purpose": "batch"}
            )
        if parts == ["batches"] and request.method == "POST":
            return self._batch_create(request)
        if len(parts) >= 2 and parts[0] == "batches" and parts[1] in self.batches:
            batch = self.batches[parts[1]]
            if parts[2:] == ["cancel"] and batch["status"] == "in_progress":
                batch["status"] = "cancelled"
            return json_response(batch)
        return json_response({"error": {"message": "not found", "type": "not_found"}}, 404)

    def _file_create(self, request: Request) -> Response:
        boundary = re.search(r'boundary="?([^";]+)', request.headers.get("content-type", ""))
        content = None
        for part in request.body.split(b"--" + boundary[1].encode()) if boundary else []:
            head, _, body = part.partition(b"\r\n\r\n")
            if b'name="file"' in head:
                content = body.removesuffix(b"\r\n")
        if content is None:
            return json_response({"error": {"message": "no file in the form", "type": "bad_request"}}, 400)
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return json_response(
            {
                "id": name,
                "object": "file",
                "bytes": len(content),
                "created_at": int(time.time()),
                "filename": "batch.jsonl",
                "purpose": "batch",
                "status": "processed",
            }
        )

    def _batch_create(self, request: Request) -> Response:
        body = json.loads(request.body)
        if body.get("input_file_id") not in self.files:
            return json_response({"error": {"message": "no such file", "type": "bad_request"}}, 400)
        name = f"batch_{len(self.batches) + 1}"
        seconds = float(parse_qs(request.query).get("seconds", ["0.2"])[0])
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": body.get("endpoint"),
            "input_file_id": body["input_file_id"],
            "completion_window": "24h",
            "status": "in_progress",
            "created_at": int(time.time()),
            "metadata": body.get("metadata"),
            "output_file_id": None,
            "error_file_id": None,
        }
        self.provider.counts["batches"] += 1
        asyncio.get_running_loop().call_later(seconds, self._finish, name)
        return json_response(self.batches[name])

    def _finish(self, name: str) -> None:
        batch = self.batches[name]
        if batch["status"] != "in_progress":
            return
        lines: list[str] = []
        for line in self.files[batch["input_file_id"]].decode().splitlines():
            asked = json.loads(line)
            lines += self._replies(asked["custom_id"], asked["body"], name)
        random.Random(name).shuffle(lines)
        output = f"file-{len(self.files) + 1}"
        self.files[output] = "\n".join(lines).encode()
        batch |= {"status": "completed", "output_file_id": output, "completed_at": int(time.time())}

    def _replies(self, custom_id: str, body: dict[str, Any], batch: str) -> list[str]:
        try:
            options = self.provider.options(str(body["model"]))
            body = body | {"messages": messages_read(body["messages"])[0]}
        except (BadOptions, BadParts) as error:
            content: dict[str, Any] = {"status_code": 400, "body": {"error": {"message": str(error)}}}
            return [json.dumps({"id": custom_id, "custom_id": custom_id, "response": content, "error": None})]
        drawn = chance("batch", options.seed, custom_id, batch)
        self.provider.counts["requests"] += 1
        if drawn < options.faults / 2:
            return []
        self.provider.counts["answered"] += 1
        content = {
            "status_code": 200,
            "request_id": custom_id,
            "body": self.provider.completion(body, options),
        }
        reply = json.dumps({"id": custom_id, "custom_id": custom_id, "response": content, "error": None})
        return [reply, reply] if drawn < options.faults else [reply]

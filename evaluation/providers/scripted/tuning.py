"""The scripted provider's fine-tuning: it checks files, runs jobs that take some time and fail or succeed, and its
tuned models remember their training. With a reward token, a tuned model repeats a rationale that it saw with that token
for the same question; it never repeats an answer that only had low rewards; and on new questions it follows its rules
more often, the more of its examples had high rewards. The model's options set what goes wrong: ``tuning=reject`` (the
job refuses the file), ``tuning=fail``, ``tuning=cancel``, ``tuning=quota``; ``tuning_seconds`` is how long a job takes.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from evaluation.providers.scripted.http import Request, Response, json_response
from evaluation.providers.scripted.options import BadOptions, Options, parse_model
from evaluation.providers.scripted.world import pick

_TOKEN = re.compile(r"^<reward_(\d+)>")
_QUESTION = re.compile(r"^Question: (.+)$", re.MULTILINE)
_ANSWER = re.compile(r"^Answer: (\w+)", re.MULTILINE)


@dataclass
class Tuned:
    """The training data of a tuned model: reward token -> question -> replies."""

    base: Options
    seen: dict[int, dict[str, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def recalled(self, token: int, question: str, sample: int) -> str:
        """A reply seen for this question with this reward, or else with another that isn't the lowest; empty if there
        is none."""
        for other in (token, *sorted((n for n in self.seen if n > 0), reverse=True)):
            replies = self.seen[other].get(question, []) if other in self.seen else []
            if replies:
                return pick(replies, "recalled", question, sample)
        return ""

    def avoided(self, question: str) -> set[str]:
        """Answers that occurred only with the lowest reward."""
        return {
            found.group(1).lower()
            for text in self.seen.get(0, {}).get(question, [])
            if (found := _ANSWER.search(text))
        }

    @property
    def improved(self) -> Options:
        """The base model's options, with a higher quality the more examples had a reward above the lowest."""
        counts = {token: sum(map(len, held.values())) for token, held in self.seen.items()}
        good = sum(count for token, count in counts.items() if token > 0) / max(sum(counts.values()), 1)
        return replace(self.base, quality=self.base.quality + (1 - self.base.quality) * good)


class Tuning:
    """Jobs and models of one provider; ``files`` are shared with the batch API."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.jobs: dict[str, dict[str, Any]] = {}
        self.models: dict[str, Tuned] = {}

    def handle(self, request: Request) -> Response:
        """``/v1/fine_tuning/jobs`` and below."""
        parts = urlsplit(request.path).path.strip("/").split("/")[3:]
        if not parts:
            if request.method == "GET":
                return json_response(
                    {
                        "object": "list",
                        "data": [self._shown(j) for j in self.jobs.values()],
                        "has_more": False,
                    }
                )
            return self._create(json.loads(request.body))
        job = self.jobs.get(parts[0])
        if job is None:
            return _error(404, "no such fine-tuning job", "not_found")
        if parts[1:] == ["cancel"] and job["status"] == "running":
            job["status"] = "cancelled"
        return json_response(self._shown(job))

    def _create(self, body: dict[str, Any]) -> Response:
        try:
            options = self.options_of(str(body["model"]))
        except (BadOptions, KeyError) as error:
            return _error(400, f"cannot read the request: {error}", "bad_request")
        if body.get("training_file") not in self.files:
            return _error(400, "invalid training_file: no such file", "bad_request")
        if options.tuning == "quota":
            return _error(429, "You exceeded your current quota.", "insufficient_quota")
        name = f"ftjob-{len(self.jobs) + 1}"
        self.jobs[name] = {
            "id": name, "object": "fine_tuning.job", "created_at": int(time.time()), "model": body["model"],
            "training_file": body["training_file"], "status": "running", "fine_tuned_model": None, "error": None,
            "trained_tokens": None, "suffix": body.get("suffix") or "", "organization_id": "scripted", "seed": 0,
            "result_files": [], "hyperparameters": {"n_epochs": 1}, "finished_at": None, "validation_file": None,
            "ready": time.monotonic() + options.tuning_seconds,
        }  # fmt: skip
        return json_response(self._shown(self.jobs[name]))

    def _shown(self, job: dict[str, Any]) -> dict[str, Any]:
        if job["status"] == "running" and time.monotonic() >= job["ready"]:
            self._finish(job)
        return {name: value for name, value in job.items() if name != "ready"}

    def _finish(self, job: dict[str, Any]) -> None:
        options = self.options_of(job["model"])
        job["finished_at"] = int(time.time())
        if options.tuning == "cancel":
            job["status"] = "cancelled"
            return
        tuned = Tuned(options)
        content = self.files[job["training_file"]]
        try:
            if options.tuning == "reject":
                raise ValueError("line 1: expected at least 10 examples")
            for number, line in enumerate(content.decode().splitlines(), 1):
                _learn(tuned, json.loads(line)["messages"], number)
            if options.tuning == "fail":
                raise ValueError("the job failed on the training cluster")
        except (ValueError, KeyError, TypeError) as error:
            job |= {
                "status": "failed",
                "error": {"code": "invalid_file", "message": str(error), "param": "training_file"},
            }
            return
        base, _, query = str(job["model"]).partition("?")
        root = base.removeprefix("ft:").split(":")[0]
        name = f"ft:{root}:{job['suffix']}:{job['id']}" + (f"?{query}" if query else "")
        self.models[name] = tuned
        job |= {"status": "succeeded", "fine_tuned_model": name, "trained_tokens": len(content) // 4}

    def options_of(self, model: str) -> Options:
        """The options of a model; for a tuned one, those of its base."""
        return self.models[model].base if model in self.models else parse_model(model)

    def recall(
        self, model: str, messages: Sequence[Mapping[str, Any]], sample: int
    ) -> tuple[str, set[str], Options | None]:
        """What a tuned model recalls, the answers that it avoids, and the options for its other answers."""
        tuned = self.models.get(model)
        if tuned is None or not messages:
            return "", set(), None
        token, question = (
            _TOKEN.match(str(messages[0].get("content"))),
            _QUESTION.findall(str(messages[-1].get("content"))),
        )
        if token is None or not question:
            return "", set(), tuned.base
        recalled = tuned.recalled(int(token.group(1)), question[-1], sample)
        return recalled, tuned.avoided(question[-1]), tuned.improved


def _learn(tuned: Tuned, messages: Sequence[dict[str, str]], number: int) -> None:
    token = _TOKEN.match(messages[0]["content"])
    question = _QUESTION.findall(messages[-2]["content"])
    if messages[-1]["role"] != "assistant" or not question:
        raise ValueError(f"line {number}: expected a chat that ends with an assistant's message")
    tuned.seen[int(token.group(1)) if token else 0][question[-1]].append(messages[-1]["content"])


def _error(status: int, message: str, code: str) -> Response:
    return json_response({"error": {"message": message, "type": code, "param": None, "code": code}}, status)

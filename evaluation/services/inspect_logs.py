"""A run as a log of Inspect (``.eval``), with a sample for each item and an epoch for each sample of the model.

https://inspect.aisi.org.uk/eval-logs.html. Written without Inspect's package, and read by it in
``tests/evaluation/services/test_inspect_logs.py``.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import groupby
from typing import IO, Any

from annotator.hit_types.base import JSON, HitType
from annotator.models import Item, User
from annotator.selectors.study import known_hit_type
from evaluation.core.version import VERSION
from evaluation.models import Call, Run
from evaluation.ratings.people import Labels, PeopleSaid, disagrees, labels_of, people_said
from evaluation.selectors.transcript import thoughts_of
from evaluation.services.call_files import calls_audit

#: The version of the log's format.
FORMAT = 2
#: The scorer that compares a simulator with people.
SCORER = "people"
_STATUS = {
    Run.State.DONE: "success",
    Run.State.INCOMPLETE: "success",
    Run.State.CANCELLED: "cancelled",
    Run.State.FAILED: "error",
}
#: Parameters that Inspect's configuration of a request has under the same name.
_CONFIG = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
)
_IN_MEMORY = 8_000_000
_SHORT = 1000


def run_log_download(*, run: Run, by: User | None = None) -> IO[bytes]:
    """``run_log`` for somebody who takes the file away, which the audit trail records."""
    calls_audit(run=run, by=by)
    return run_log(run=run)


def run_log(*, run: Run) -> IO[bytes]:
    """The log of a run in a temporary file, without keys and addresses.

    A sample has the item's key, the chats of all its stages, the reply to the last one, and what was read from them. If people have
    judged the item, its ``target`` is what most of them said on the study's headline variable, and the score ``people`` is C if no label contradicts
    the majority of people, and I otherwise. A call that failed is a sample with an error.
    """
    kind = known_hit_type(run.study) if run.study else None
    said = people_said(study=run.study) if run.study and kind else {}
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - returned
    summaries: list[JSON] = []
    marks: list[str] = []
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for calls, payload in _calls(run):
            sample = _sample(run, calls, kind, payload, said.get(calls[-1].item_id or 0))
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", _json(sample))
            summaries.append(_summary(sample))
            marks += [score["value"] for score in sample["scores"].values()]
            for name in usage:
                usage[name] += sample["model_usage"].get(run.model, {}).get(name, 0)
        start = {"version": FORMAT, "eval": _spec(run, summaries, scored=bool(marks)), "plan": _plan(run)}
        archive.writestr("_journal/start.json", _json(start))
        archive.writestr("_journal/summaries/1.json", _json(summaries))
        archive.writestr("summaries.json", _json(summaries))
        archive.writestr("header.json", _json(start | _ending(run, summaries, marks, usage)))
    file.seek(0)
    return file


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _calls(run: Run) -> Iterator[tuple[list[Call], JSON]]:
    """The calls of each item and sample by stage, and the item's content; calls that wait for their turn are left out."""
    calls = Call.objects.filter(run=run).exclude(state__in=[Call.State.PENDING, Call.State.IN_FLIGHT])
    rows = calls.select_related("item").defer("history").order_by("key", "sample", "stage", "pk")
    for _, group in groupby(rows.iterator(chunk_size=500), key=lambda call: (call.key, call.sample)):
        found = list(group)
        item: Item | None = found[-1].item
        yield found, item.payload if item else {}


def _sample(
    run: Run, calls: list[Call], kind: HitType | None, payload: JSON, said: PeopleSaid | None
) -> JSON:
    last = calls[-1]
    response = last.context.get("before", {}) | (last.parsed or {})
    is_done = last.state == Call.State.DONE
    labels = labels_of(kind, payload, response) if kind and is_done else {}
    usage = _usage(calls)
    first = _asked(calls[0])
    sample: JSON = {
        "id": last.key,
        "epoch": last.sample + 1,
        "input": first,
        "target": _target(kind, said),
        "messages": [message for call in calls for message in [*_asked(call), *_replied(run, call)]],
        "output": _output(run, last, usage),
        "scores": _scores(labels, said) if is_done else {},
        "metadata": {
            "read": response,
            "labels": {_name(labelled): label for labelled, label in labels.items()},
            "flags": sorted({flag for call in calls for flag in call.flags}),
            "attempts": sum(call.attempts for call in calls),
            "cost": str(sum(call.cost for call in calls)),
            "from_cache": all(call.from_cache for call in calls),
        },
        "store": {},
        "events": [],
        "attachments": {},
        "model_usage": {run.model: usage} if usage else {},
        "total_time": sum(call.seconds or 0.0 for call in calls),
    }
    if not is_done:
        message = f"{last.error_kind}: {last.error}"
        sample["error"] = {"message": message, "traceback": message, "traceback_ansi": message}
    return sample


def _asked(call: Call) -> list[JSON]:
    messages = (call.request or {}).get("messages") or []
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def _replied(run: Run, call: Call) -> list[JSON]:
    if not (call.text or call.reply):
        return []
    content: str | list[JSON] = call.text
    if thoughts := thoughts_of(run, call.reply):
        content = [{"type": "reasoning", "reasoning": thoughts}, {"type": "text", "text": call.text}]
    return [
        {
            "role": "assistant",
            "content": content,
            "model": call.model_returned or run.model,
            "source": "generate",
        }
    ]


def _output(run: Run, call: Call, usage: JSON) -> JSON:
    stop = {"cut_off": "max_tokens", "content_filter": "content_filter", "refusal": "content_filter"}
    choices = [
        {"message": message, "stop_reason": stop.get(call.error_kind, "stop")}
        for message in _replied(run, call)
    ]
    output = {"model": call.model_returned or run.model, "choices": choices, "completion": call.text}
    return output | ({"usage": usage} if usage else {}) | ({"time": call.seconds} if call.seconds else {})


def _usage(calls: list[Call]) -> JSON:
    into, out = (sum(getattr(call, name) or 0 for call in calls) for name in ("tokens_in", "tokens_out"))
    return {"input_tokens": into, "output_tokens": out, "total_tokens": into + out} if into or out else {}


def _target(kind: HitType | None, said: PeopleSaid | None) -> str:
    return said.majority.get((kind.headline, ""), "") if kind and said else ""


def _scores(labels: Labels, said: PeopleSaid | None) -> JSON:
    if said is None or not said.majority:
        return {}
    return {
        SCORER: {
            "value": "I" if disagrees(labels, said) else "C",
            "answer": ", ".join(f"{_name(labelled)}: {label}" for labelled, label in labels.items()),
            "explanation": people_words(said),
        }
    }


def people_words(said: PeopleSaid) -> str:
    """What people said, for an explanation: "3 people. answer: yes (2), no (1)"."""
    parts = [
        f"{_name(labelled)}: " + ", ".join(f"{label} ({n})" for label, n in counts.most_common())
        for labelled, counts in said.counts.items()
    ]
    return f"{said.people} {'person' if said.people == 1 else 'people'}. {'; '.join(parts)}"


def _name(labelled: tuple[str, str]) -> str:
    return ".".join(filter(None, labelled))


def _summary(sample: JSON) -> JSON:
    last = sample["input"][-1]["content"] if sample["input"] else ""
    summary = {
        name: sample[name] for name in ("id", "epoch", "target", "scores", "model_usage", "total_time")
    }
    summary |= {"input": str(last)[:_SHORT], "metadata": {}, "completed": True}
    summary |= {"message_count": len(sample["messages"])}
    return summary | ({"error": sample["error"]["message"][:_SHORT]} if "error" in sample else {})


def _spec(run: Run, summaries: list[JSON], *, scored: bool) -> JSON:
    ids = list(dict.fromkeys(summary["id"] for summary in summaries))
    owner = run.study.slug if run.study else run.dataset.name if run.dataset else run.kind
    scorers = [{"name": SCORER, "metrics": [{"name": "accuracy"}], "options": {}, "metadata": {}}]
    return {
        "eval_id": f"foretell-{run.pk}",
        "run_id": f"foretell-{run.pk}",
        "created": _time(run.created_at),
        "task": owner,
        "task_id": f"foretell-{run.pk}",
        "task_version": 0,
        "task_attribs": {},
        "task_args": {},
        "dataset": {"name": owner, "samples": len(ids), "sample_ids": ids, "shuffled": False},
        "model": run.model,
        "model_generate_config": _config(run),
        "model_args": {},
        "config": {"epochs": max((summary["epoch"] for summary in summaries), default=1)},
        "packages": {"foretell": VERSION},
        "metadata": {"step": run.kind, "prompt_digest": run.prompt_digest},
        **({"scorers": scorers} if scored else {}),
    }


def _config(run: Run) -> JSON:
    sent = run.endpoint.parameters | run.parameters
    return {name: sent[name] for name in _CONFIG if sent.get(name) is not None}


def _plan(run: Run) -> JSON:
    step = {"solver": run.kind, "params": {"samples": run.samples, "together": run.together}}
    return {"name": "plan", "steps": [step], "config": _config(run)}


def _ending(run: Run, summaries: list[JSON], marks: list[str], usage: Mapping[str, int]) -> JSON:
    results: JSON = {
        "total_samples": len(summaries),
        "completed_samples": sum("error" not in summary for summary in summaries),
        "scores": [],
    }
    if marks:
        accuracy = {"name": "accuracy", "value": marks.count("C") / len(marks)}
        score = {
            "name": SCORER,
            "scorer": SCORER,
            "scored_samples": len(marks),
            "metrics": {"accuracy": accuracy},
        }
        results["scores"] = [score]
    started = run.started_at or run.created_at
    return {
        "status": _STATUS.get(Run.State(run.state), "started"),
        "results": results,
        "stats": {
            "started_at": _time(started),
            "completed_at": _time(run.finished_at) if run.finished_at else "",
            "model_usage": {run.model: dict(usage)},
        },
    }


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")

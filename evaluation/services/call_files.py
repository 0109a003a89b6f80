"""Calls of runs as JSON lines: share a finished run, and replay it elsewhere without paying for it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON
from annotator.models import AuditAction, Dataset, Study, User
from annotator.services.audit import audit_write
from evaluation.models import Call, Endpoint, Run
from evaluation.providers.base import ChatRequest
from evaluation.runs.request import cache_key
from evaluation.runs.text import clean
from evaluation.selectors.endpoint import endpoint_check

#: ``Run.kind`` of imported calls.
IMPORTED = "imported"
#: Rows inserted by one statement, and the longest line in characters.
ROWS = 1000
LONGEST = 8 * 1024 * 1024
_FIELDS = (
    "key", "sample", "stage", "state", "text", "parsed", "flags", "errors", "error_kind", "error", "model_returned",
    "fingerprint", "tokens_in", "tokens_cached", "tokens_out", "confidence", "seconds", "request", "reply", "history",
)  # fmt: skip


def calls_export(*, run: Run) -> Iterator[str]:
    """The calls of a run as JSON lines, in order: each with its request, its reply and every earlier attempt.

    They contain the texts of items as they were sent, but no keys or addresses.
    """
    about = {"run": run.pk, "kind": run.kind, "model": run.model, "prompt_digest": run.prompt_digest}
    rows = Call.objects.filter(run=run).order_by("pk").values(*_FIELDS, "cost")
    for row in rows.iterator(chunk_size=ROWS):
        yield json.dumps(about | row | {"cost": str(row["cost"])}, ensure_ascii=False) + "\n"


def calls_download(*, run: Run, by: User | None = None) -> Iterator[str]:
    """``calls_export`` for somebody who takes the file away, which the audit trail records."""
    calls_audit(run=run, by=by)
    return calls_export(run=run)


def calls_audit(*, run: Run, by: User | None = None) -> None:
    """Record that somebody takes the calls of a run away."""
    owner = run.study or run.dataset
    audit_write(
        action=AuditAction.EXPORTED,
        study=run.study,
        workspace=owner.workspace if owner else None,
        by=by,
        target=f"calls of run {run.pk}",
    )


def calls_import(
    *,
    lines: Iterable[str],
    endpoint: Endpoint,
    study: Study | None = None,
    dataset: Dataset | None = None,
    created_by: User | None = None,
) -> Run:
    """Store exported calls as a finished run, whose replies later runs take for the same requests to the endpoint.

    All or nothing. The run belongs to the study or the dataset, and costs nothing. Raises ``ValidationError`` (file)
    naming the line that is wrong.
    """
    owner = study or dataset
    if owner is None:
        raise ValidationError({"file": "Name the study or the dataset that the calls belong to."})
    endpoint_check(endpoint=endpoint, workspace_id=owner.workspace_id)
    with transaction.atomic():
        now = timezone.now()
        run = Run.objects.create(
            kind=IMPORTED,
            study=study,
            dataset=dataset,
            endpoint=endpoint,
            model=endpoint.model,
            prompt="",
            prompt_digest=text_digest(""),
            state=Run.State.DONE,
            reason="Calls imported from a file.",
            created_by=created_by,
            started_at=now,
            finished_at=now,
        )
        rows: list[Call] = []
        models: set[str] = set()
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            row = _read(line, number)
            models.add(str(row["request"]["model"]))
            attempts = [
                _call(run, row, attempt, line=number, place=place)
                for place, attempt in enumerate([*row.get("history", []), row])
            ]
            # If a request was sent again, the run used the last reply.
            rows += {call.cache_key: call for call in attempts if call is not None}.values()
            if len(rows) >= ROWS:
                Call.objects.bulk_create(rows)
                rows = []
        Call.objects.bulk_create(rows)
        if not run.calls.exists():
            raise ValidationError({"file": "The file has no call with a reply."})
        if len(models) == 1:
            run.model = models.pop()[:200]
            run.save(update_fields=["model"])
    return run


def _read(line: str, number: int) -> JSON:
    where = f"Line {number}: "
    if len(line) > LONGEST:
        raise ValidationError({"file": f"{where}longer than {LONGEST:,} characters."})
    try:
        row = clean(json.loads(line, parse_constant=str))
    except (ValueError, RecursionError) as error:
        raise ValidationError({"file": f"{where}this is not JSON: {error}"}) from None
    request = row.get("request") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(request, dict | None):
        raise ValidationError({"file": f"{where}expected an object with a request, as exported from a run."})
    if request is None:  # never sent
        return row | {"request": {"model": ""}, "history": [], "reply": None}
    if not isinstance(request.get("messages"), list) or not isinstance(request.get("model"), str):
        raise ValidationError({"file": f"{where}request: expected a model and messages."})
    return row


def _call(run: Run, row: JSON, attempt: Any, *, line: int, place: int) -> Call | None:
    """The row of one attempt; None if it has no reply."""
    request = attempt.get("request") if isinstance(attempt, dict) else None
    if not isinstance(request, dict) or not isinstance(attempt.get("reply"), dict):
        return None
    endpoint = run.endpoint
    try:
        asked = _request(request)
        sample = int(row.get("sample") or 0)
        own: JSON = {name: attempt.get(name) for name in ("tokens_in", "tokens_out", "seconds")}
        call = Call(
            run=run,
            key=f"{line}.{place}: {row.get('key', '')}"[:250],
            sample=sample,
            stage=int(row.get("stage") or 0),
            state=Call.State.DONE,
            applied=True,
            text=str(attempt.get("text") or ""),
            reply=attempt["reply"],
            request=request,
            model_returned=str(attempt.get("model_returned") or "")[:200],
            fingerprint=str(row.get("fingerprint") or "")[:200],
            cache_key=cache_key(
                base_url=endpoint.base_url,
                headers=endpoint.headers,
                api_version=endpoint.api_version,
                request=asked,
                sample=sample,
            ),
            cost=Decimal(0),
            finished_at=timezone.now(),
            **own,
        )
        call.clean_fields(exclude=["run"])
    except (TypeError, ValueError, ValidationError) as error:
        message = "; ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        raise ValidationError({"file": f"Line {line}: {message}"}) from None
    return call


def _request(body: JSON) -> ChatRequest:
    """The request whose body was stored."""
    parameters = {k: v for k, v in body.items() if k not in ("model", "messages", "response_format")}
    held = body.get("response_format") or {}
    return ChatRequest(
        model=body["model"],
        messages=tuple(
            {"role": str(message["role"]), "content": message["content"]} for message in body["messages"]
        ),
        parameters=parameters,
        schema=(held.get("json_schema") or {}).get("schema"),
    )

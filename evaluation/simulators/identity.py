"""The identity of a simulator. Its name has everything that changes a model's answers, and nothing else: the deployment
(its name, or the server's address and api version), the model, the HIT type and its version, the prompt, the
form of reply, whether images are sent, whether it is asked how sure it is, the parameters, samples and items per request; and the model that the server says it ran, see ``returned_as``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from annotator.core.canonical import digest_of, text_digest
from annotator.hit_types.base import HitType
from annotator.hit_types.confidence import AsksConfidence
from annotator.models import Rater
from evaluation.models import Call, Endpoint, Run
from evaluation.runs.create import RunPlan
from evaluation.runs.endpoint_settings import deployment_of

#: ``Rater.source`` of all simulators.
SOURCE = "simulator"
#: Precedes what the server returned, in the name of a rater for replies from another version of the model.
RETURNED = " · returned "


def rater_name(*, kind: HitType, endpoint: Endpoint, plan: RunPlan) -> str:
    """The name of the simulator of a run with this plan; equal names mean the same simulator."""
    sent = endpoint.parameters | plan.parameters
    settings: dict[str, Any] = {
        **({"parameters": sent} if sent else {}),
        **({"samples": plan.samples} if plan.samples > 1 else {}),
        **({"together": plan.together} if plan.together > 1 else {}),
        **({"headers": endpoint.headers} if endpoint.headers else {}),
        **({"api_version": endpoint.api_version} if version_counts(endpoint) else {}),
        **({"thinking_tokens": endpoint.thinking_tokens} if endpoint.thinking_tokens is not None else {}),
        **({"fold_system": True} if endpoint.fold_system else {}),
    }
    parts = [
        f"{short(plan.model or endpoint.model, 60)} at {short(deployment_of(endpoint), 40)}",
        f"{kind.name} v{kind.version}",
        f"prompt {text_digest(plan.prompt)[:8]}",
    ]
    if settings:
        parts.append(f"settings {digest_of(settings)[:8]}")
    if endpoint.structured and plan.together == 1:
        parts.append("JSON schema")
    if endpoint.images:
        parts.append("images")
    if isinstance(kind, AsksConfidence):
        parts.append(f"confidence in {kind.confidence}")
    return " · ".join(parts)


def version_counts(endpoint: Endpoint) -> bool:
    """Whether the endpoint's api version tells simulators apart: not if the lab has named the deployment."""
    return bool(endpoint.api_version) and not endpoint.deployment


def short(text: str, most: int) -> str:
    """A text of at most ``most`` characters; a longer one ends in a digest, so that it stays distinct.

    >>> short("a" * 50, 20)
    'aaaaaaaaaaa…c5b86dd2'
    """
    return text if len(text) <= most else f"{text[: most - 9]}…{text_digest(text)[:8]}"


def returned_as(calls: Iterable[Call], *, by_fingerprint: bool) -> str:
    """The model, and with ``by_fingerprint`` the fingerprint, that the server returned for these calls; empty if it returned none."""
    found = {f"{call.model_returned} {call.fingerprint if by_fingerprint else ''}".strip() for call in calls}
    return " + ".join(sorted(found - {""}))


def raters_by_reply(run: Run, groups: Sequence[Sequence[Call]]) -> list[Rater]:
    """The rater of each group of calls, one per item.

    The run's own rater has the judgments of the model that its first replies came from. If the server later returns another,
    those judgments get a separate rater, so that two models are never mixed. Fingerprints are recorded, but tell raters apart only in a run
    with ``BY_FINGERPRINT``: servers with several replicas return them in turn. Call it in a transaction.
    """
    # Not ``run.rater``: the run may have followed its endpoint to another address since the caller read it.
    own = Rater.objects.select_for_update(no_key=True, of=("self",)).filter(runs=run.pk).first()
    if own is None:
        raise ValueError("rater: a simulation needs one")
    by_fingerprint = bool(run.options.get(Run.BY_FINGERPRINT))
    first = _first_returned(own, by_fingerprint)
    found: dict[str, Rater] = {}
    raters = []
    for group in groups:
        returned = returned_as(group, by_fingerprint=by_fingerprint)
        if first is None:
            first = returned
        if returned == first:
            raters.append(own)
            continue
        if returned not in found:
            name = f"{own.name}{RETURNED}{short(returned, 40) or 'nothing'}"
            found[returned], _ = Rater.objects.get_or_create(
                kind=Rater.Kind.SIMULATOR, source=SOURCE, name=name
            )
        raters.append(found[returned])
    return raters


def siblings(rater: Rater) -> list[int]:
    """The primary keys of a simulator and of its versions for other returned models."""
    versions = Rater.objects.filter(
        kind=Rater.Kind.SIMULATOR, source=SOURCE, name__startswith=f"{rater.name}{RETURNED}"
    )
    return [rater.pk, *versions.values_list("pk", flat=True)]


def _first_returned(rater: Rater, by_fingerprint: bool) -> str | None:
    """What ``returned_as`` says of the rater's first judgments; None if it has none."""
    for run in Run.objects.filter(rater=rater).order_by("pk").only("pk", "options"):
        if run.is_trial:
            continue
        applied = Call.objects.filter(run=run, state=Call.State.DONE, applied=True, parsed__isnull=False)
        call = applied.only("model_returned", "fingerprint", "flags", "key").order_by("pk").first()
        if call is not None:
            same = Call.objects.filter(run=run, key=call.key, state=Call.State.DONE)
            last = same.order_by("-stage")[:1].values_list("stage", flat=True)[0]
            calls = same.filter(stage=last).only("model_returned", "fingerprint")
            return returned_as(calls, by_fingerprint=by_fingerprint)
    return None

"""Simulators: a model, a prompt and its settings as a rater of a study."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.canonical import digest_of, text_digest
from annotator.hit_types.base import HitType
from annotator.hit_types.registry import hit_type_get
from annotator.models import Rater, Study
from evaluation.models import Endpoint, Run
from evaluation.runs.create import RunPlan, run_draft, run_save

#: ``Rater.source`` of all simulators.
SOURCE = "simulator"


def rater_name(*, model: str, hit_type: str, version: int, prompt: str, settings: dict[str, Any]) -> str:
    """A simulator's name: what changes its judgments changes its name.

    >>> rater_name(model="m", hit_type="simulation", version=1, prompt="p", settings={})
    'm · simulation v1 · prompt f2c7cdef'
    """
    name = f"{model[:100]} · {hit_type} v{version} · prompt {text_digest(prompt)[:8]}"
    return f"{name} · settings {digest_of(settings)[:8]}" if settings else name


def simulation_draft(*, study: Study, endpoint: Endpoint, plan: RunPlan | None = None) -> Run:
    """An unsaved run that asks a model about every item of a study; nothing is written.

    The prompt is the HIT type's own unless the plan has one. The rater is unset where this simulator is new.
    Raises ``ValidationError`` and ``NothingToAsk``.
    """
    try:
        kind = hit_type_get(study.hit_type)
    except KeyError as error:
        raise ValidationError({"study": str(error)}) from None
    plan = plan or RunPlan()
    plan = replace(plan, prompt=plan.prompt or kind.prompt_text)
    name = _rater_name(kind, endpoint, plan)
    rater = Rater.objects.filter(kind=Rater.Kind.SIMULATOR, source=SOURCE, name=name).first()
    return run_draft(kind="simulate", endpoint=endpoint, plan=plan, study=study, rater=rater)


def simulation_create(*, study: Study, endpoint: Endpoint, plan: RunPlan | None = None) -> Run:
    """A run that asks a model about every item of a study, not yet started.

    The same model, prompt and settings make the same rater: items that it has judged aren't asked again.
    Raises ``ValidationError`` and ``NothingToAsk``.
    """
    draft = simulation_draft(study=study, endpoint=endpoint, plan=plan)
    plan = replace(plan or RunPlan(), prompt=draft.prompt)
    with transaction.atomic():
        if draft.rater is None:
            name = _rater_name(hit_type_get(study.hit_type), endpoint, plan)
            draft.rater, _ = Rater.objects.get_or_create(kind=Rater.Kind.SIMULATOR, source=SOURCE, name=name)
        return run_save(run=draft)


def _rater_name(kind: HitType, endpoint: Endpoint, plan: RunPlan) -> str:
    sent = endpoint.parameters | plan.parameters
    settings = {
        **({"parameters": sent} if sent else {}),
        **({"samples": plan.samples} if plan.samples > 1 else {}),
        **({"together": plan.together} if plan.together > 1 else {}),
    }
    return rater_name(
        model=plan.model or endpoint.model,
        hit_type=kind.name,
        version=kind.version,
        prompt=plan.prompt,
        settings=settings,
    )

"""Simulators: a model, a prompt and its settings as a rater of a study."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.canonical import digest_of, text_digest
from annotator.hit_types.registry import hit_type_get
from annotator.models import Rater, Study, User
from evaluation.models import Endpoint, Pipeline, Run
from evaluation.runs.lifecycle import run_create


def rater_name(*, model: str, hit_type: str, version: int, prompt: str, settings: dict[str, Any]) -> str:
    """A simulator's name: what changes its judgments changes its name.

    >>> rater_name(model="m", hit_type="simulation", version=1, prompt="p", settings={})
    'm · simulation v1 · prompt f2c7cdef'
    """
    name = f"{model[:100]} · {hit_type} v{version} · prompt {text_digest(prompt)[:8]}"
    return f"{name} · settings {digest_of(settings)[:8]}" if settings else name


def simulation_create(
    *,
    study: Study,
    endpoint: Endpoint,
    model: str = "",
    prompt: str = "",
    parameters: dict[str, Any] | None = None,
    samples: int = 1,
    together: int = 1,
    mode: str = Run.Mode.LIVE,
    workers: int = 1,
    use_cache: bool = True,
    budget_calls: int | None = None,
    budget_cost: Decimal | None = None,
    pipeline: Pipeline | None = None,
    created_by: User | None = None,
    max_attempts: int = 6,
    max_unparsable: int = 3,
) -> Run:
    """A run that puts every item of a study to a model, not yet started.

    ``prompt`` is the HIT type's own unless given. The rater is the same for the same model, prompt and settings:
    items that it has judged are not asked again. Raises ``ValidationError``.
    """
    try:
        kind = hit_type_get(study.hit_type)
    except KeyError as error:
        raise ValidationError({"study": str(error)}) from None
    model = model or endpoint.model
    prompt = prompt or kind.prompt_text
    sent = endpoint.parameters | (parameters or {})
    settings = {
        **({"parameters": sent} if sent else {}),
        **({"samples": samples} if samples > 1 else {}),
        **({"together": together} if together > 1 else {}),
    }
    name = rater_name(model=model, hit_type=kind.name, version=kind.version, prompt=prompt, settings=settings)
    with transaction.atomic():
        rater, _ = Rater.objects.get_or_create(kind=Rater.Kind.SIMULATOR, source="simulator", name=name)
        return run_create(
            kind="simulate",
            endpoint=endpoint,
            model=model,
            prompt=prompt,
            study=study,
            rater=rater,
            parameters=parameters,
            samples=samples,
            together=together,
            mode=mode,
            workers=workers,
            use_cache=use_cache,
            budget_calls=budget_calls,
            budget_cost=budget_cost,
            pipeline=pipeline,
            created_by=created_by,
            max_attempts=max_attempts,
            max_unparsable=max_unparsable,
        )

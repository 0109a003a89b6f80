"""Start simulators: a model with a prompt and settings, as a rater of a study."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.models import Rater, Study
from annotator.selectors.study import study_hit_type
from evaluation.models import Endpoint, Run
from evaluation.runs.create import RunPlan, run_draft, run_save
from evaluation.selectors.endpoint import provider_check
from evaluation.selectors.material import models_explained
from evaluation.simulators.identity import SOURCE, rater_name
from evaluation.simulators.prepare import Simulate, rater_of


def simulation_draft(
    *,
    study: Study,
    endpoint: Endpoint,
    plan: RunPlan | None = None,
    items: int | None = None,
    allow_own_model: bool = True,
    by_fingerprint: bool = False,
) -> Run:
    """An unsaved run that asks a model about every item of a study; nothing is written.

    With ``items`` it is a trial on this many items, the first: its answers stay with its calls and become no judgments.

    The prompt is the HIT type's own unless the plan has one. The rater is unset if this simulator is new. Pages, the
    API and commands set ``allow_own_model`` only if somebody asked for it: a model may find its own explanations easier
    to follow than others do. With ``by_fingerprint``, replies with another fingerprint are those of another rater. Raises ``ValidationError`` and ``NothingToAsk``.
    """
    try:
        kind = study_hit_type(study)
    except KeyError as error:
        raise ValidationError({"study": str(error)}) from None
    if kind.undescribed and not endpoint.images:
        raise ValidationError(
            {
                "endpoint": f"Tasks of {kind.title} show images ({', '.join(kind.undescribed)}) that can't be described in words, and"
                f" {endpoint} isn't set up to be sent images. Choose an endpoint that takes images, or tick “images” in its settings if"
                " its model can see them."
            }
        )
    plan = plan or RunPlan()
    model = plan.model or endpoint.model
    if not allow_own_model and model in models_explained(study=study):
        raise ValidationError(
            {
                "model": f"This study is about explanations by {model!a}, so it would judge itself. Choose another model, or"
                " allow the studied model as a simulator."
            }
        )
    plan = replace(
        plan,
        prompt=plan.prompt or kind.prompt_text,
        parameters=with_temperature(plan, endpoint),
    )
    name = rater_name(kind=kind, endpoint=endpoint, plan=plan)
    rater = Rater.objects.filter(kind=Rater.Kind.SIMULATOR, source=SOURCE, name=name).first()
    options: dict[str, Any] = {Run.TRIAL: items} if items else {}
    if by_fingerprint:
        options[Run.BY_FINGERPRINT] = True
    return run_draft(
        kind=Simulate.name, endpoint=endpoint, plan=plan, study=study, rater=rater, options=options
    )


def with_temperature(plan: RunPlan, endpoint: Endpoint) -> dict[str, Any]:
    """The plan's parameters, with a temperature of 0 if nobody chose one and each item is asked about once.

    The papers give no temperature for their simulators. With 0, a repeated run has the same labels as far as the server
    can. Some models that think before they answer accept no temperature; a parameter that is null is never sent.
    """
    chosen = endpoint.parameters | plan.parameters
    takes = provider_check(endpoint).takes_temperature(plan.model or endpoint.model)
    if "temperature" in chosen or plan.samples > 1 or not takes:
        return plan.parameters
    return {"temperature": 0.0} | plan.parameters


def simulation_create(
    *,
    study: Study,
    endpoint: Endpoint,
    plan: RunPlan | None = None,
    items: int | None = None,
    allow_own_model: bool = True,
    by_fingerprint: bool = False,
) -> Run:
    """A run that asks a model about every item of a study, not yet started; takes and raises the same as ``simulation_draft``.

    The same model, prompt and settings make the same rater: items that it has judged aren't asked again.
    """
    draft = simulation_draft(
        study=study, endpoint=endpoint, plan=plan, items=items, allow_own_model=allow_own_model,
        by_fingerprint=by_fingerprint,
    )  # fmt: skip
    with transaction.atomic():
        draft.rater = draft.rater or rater_of(draft, draft.endpoint)
        return run_save(run=draft)

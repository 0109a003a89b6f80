"""Write a study's analysis plan, seal it before the first judgment, and record who looks at its comparisons early."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotator.core.canonical import digest_of
from annotator.core.errors import Conflict
from annotator.hit_types.base import HitType
from annotator.models import AuditAction, Rater, Study, User
from annotator.selectors.study import study_hit_type
from annotator.services.audit import audit_write
from evaluation.models import AnalysisPlan, PlanLook
from evaluation.planning.plan_document import ALL, Hypothesis, Plan, PlanError, plan_parse, planned_names
from evaluation.planning.plan_metrics import METRICS, OF_UTILITY
from evaluation.reports.choices import Choices, ChoicesError
from evaluation.selectors.analysis_plan import (
    moment_text,
    people_judgments,
    study_completeness,
    study_design,
    system_names,
)
from evaluation.services.plan_job import plan_job_cancel

#: Metrics of predictions, and of predictions with and without the explanation.
_OF_PREDICTIONS, _OF_ARMS = ("precision", "simulatable", "generality"), ("gain", "nsg")
SEALED = "The plan is sealed, so it can't be changed."
TOO_LATE = (
    "People have already judged, so the plan can't be sealed any more. Reports of this study are exploratory."
)


@transaction.atomic
def plan_save(*, study: Study, document: Any, user: User | None = None) -> AnalysisPlan:
    """Store a plan for the study in place of an earlier one.

    Raises ``PlanError`` that names each wrong field, its value and what was expected, and ``Conflict`` if the plan is sealed.
    """
    plan = plan_check(study=study, document=document)
    row = AnalysisPlan.objects.select_for_update().filter(study=study).first() or AnalysisPlan(study=study)
    if row.sealed_at:
        raise Conflict(SEALED)
    before, row.document, row.power = row.document, plan.to_json(), None
    if row.pk and before == row.document:
        return row
    row.full_clean()
    row.save()
    plan_job_cancel(study=study)
    audit_write(
        action=AuditAction.PLAN_SAVED, study=study, by=user, after={"sha256": digest_of(row.document)}
    )
    return row


def plan_copy(*, study: Study, copy: Study, by: User | None) -> AnalysisPlan | None:
    """Give a study's duplicate the same plan, not sealed: it can be changed until it is. None if there is no plan."""
    row = AnalysisPlan.objects.filter(study=study).first()
    if row is None:
        return None
    made = AnalysisPlan.objects.create(study=copy, document=row.document)
    audit_write(action=AuditAction.PLAN_SAVED, study=copy, by=by, after={"sha256": digest_of(row.document)})
    return made


def plan_check(*, study: Study, document: Any) -> Plan:
    """The plan of a file or form, if it is one for this study; raises ``PlanError`` otherwise."""
    if isinstance(document, dict) and "hypotheses" not in document and isinstance(document.get("plan"), dict):
        document = document["plan"]  # a downloaded file, with its seal
    plan = plan_parse(document)
    errors: dict[str, str] = {}
    try:
        Choices.parse(plan.options)
    except ChoicesError as error:
        for name, text in error.errors.items():
            errors[f"options.{name}"] = f"got {plan.options.get(name)!r}; {text}"
    alone = str(plan.options.get("rule", "")).partition("single:")[2]
    if alone and Rater.objects.filter(name=alone, kind="human").exists():
        # Plans are read by whoever sees the study, also with tokens that mayn't read participants' data.
        errors["options.rule"] = (
            "got the name of a person; expected a rule over raters, or single: with a simulator"
        )
    kind, known = study_hit_type(study), system_names(study)
    for number, one in enumerate(plan.hypotheses):
        at = f"hypotheses[{number}]"
        if why := _not_measured(study, kind, one):
            errors[f"{at}.metric"] = f"got {one.metric!r}; expected {why}"
        elif expected := _about_unknown(kind, one):
            errors[f"{at}.about"] = f"got {one.about!r}; expected {expected}"
        if METRICS[one.metric].whom == "systems":
            for field, name in (("of", one.of), ("against", one.against)):
                if known and name and name not in (*known, ALL):
                    errors[f"{at}.{field}"] = (
                        f"got {name!r}; expected one of the study's systems: {', '.join(known)}"
                    )
    if errors:
        raise PlanError(errors)
    return plan


def _not_measured(study: Study, kind: HitType, one: Hypothesis) -> str:
    """What else a hypothesis could be about where the study doesn't measure its metric; empty if it does."""
    if one.metric in _OF_PREDICTIONS and "simulatability" not in kind.measures:
        return f"share, mean, alpha, kappa or cell: {kind.title} measures no predictions"
    if one.metric in OF_UTILITY and "utility" not in kind.measures:
        return f"another metric: {kind.title} asks for no answers before and after an explanation"
    if one.metric in _OF_ARMS and not study.control_arms:
        return "another metric, or a study with control arms"
    return ""


def _about_unknown(kind: HitType, one: Hypothesis) -> str:
    """What a hypothesis could be about where the study has no such variable or label; empty if it has."""
    variables = {variable.name: variable for variable in kind.variables}
    if not one.variable or not variables:
        return ""
    if one.variable not in variables:
        return f"one of the variables: {', '.join(variables)}"
    variable, label = variables[one.variable], one.about.partition("=")[2]
    if one.metric == "mean" and variable.level == "nominal" and not variable.scores:
        return "a variable whose labels have numbers or an order"
    if label and variable.labels and label not in variable.labels:
        return f"one of the labels of {variable.name}: {', '.join(variable.labels)}"
    return ""


@transaction.atomic
def plan_seal(*, study: Study, user: User | None = None) -> AnalysisPlan:
    """Seal the study's plan: from now on it can't be changed.

    The hash is SHA-256 of the canonical JSON of plan, design and time. Raises ``Conflict`` without a plan, if it is sealed already, or if people
    have judged; rehearsals don't count.
    """
    row = AnalysisPlan.objects.select_for_update().filter(study=study).first()
    if row is None:
        raise Conflict("The study has no analysis plan yet.")
    if row.sealed_at:
        raise Conflict(SEALED)
    # Waits for judgments of the study that are being stored, and keeps new ones waiting: each has a key to this row.
    Study.objects.select_for_update().only("pk").get(pk=study.pk)
    if people_judgments(study).exists():
        raise Conflict(TOO_LATE)
    plan = plan_check(study=study, document=row.document)
    missing = set(planned_names(plan)) - set(system_names(study))
    if missing:
        raise Conflict(
            f"No item of the study is about {', '.join(sorted(missing))}. Import the material first."
        )
    now = timezone.now().replace(microsecond=0)
    row.design, row.sealed_at = study_design(study), now
    row.digest = sealed_digest(row.document, row.design, now)
    row.full_clean()
    row.save()
    audit_write(action=AuditAction.PLAN_SEALED, study=study, by=user, after={"sha256": row.digest})
    return row


def sealed_digest(document: Any, design: Any, sealed_at: datetime) -> str:
    """The hash of a sealed plan: SHA-256 of the canonical JSON of its file's ``plan``, ``design`` and ``sealed_at``."""
    return digest_of({"plan": document, "design": design, "sealed_at": moment_text(sealed_at)})


@transaction.atomic
def plan_look_log(*, study: Study, user: User | None = None) -> PlanLook | None:
    """Record that a report or the planned comparisons of the study are made while it isn't complete; None without a sealed plan or people's judgments, or if it is
    complete."""
    row = AnalysisPlan.objects.filter(study=study, sealed_at__isnull=False).first()
    if row is None:
        return None
    done, planned = study_completeness(study)
    if not 0 < done < planned:
        return None
    look = PlanLook.objects.create(plan=row, by=user, judgments=done, planned=planned)
    audit_write(
        action=AuditAction.PLAN_LOOKED, study=study, by=user, after={"judgments": done, "planned": planned}
    )
    return look

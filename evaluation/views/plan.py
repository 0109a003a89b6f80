"""A study's analysis plan: the form and the plan as Markdown, its file, its power, and its seal."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from annotator.core.errors import Conflict
from annotator.models import Membership, Study
from annotator.selectors.study import roles_from, study_get_for, study_role
from annotator.selectors.user import user_of
from evaluation.forms.analysis_plan import PlanForm, PowerForm
from evaluation.planning.plan_document import PlanError
from evaluation.planning.plan_metrics import metric_guide
from evaluation.selectors.analysis_plan import PlanState, plan_job_latest, plan_state
from evaluation.services.analysis_plan import plan_save, plan_seal
from evaluation.services.plan_job import plan_job_cancel, plan_power_request
from evaluation.views.plan_curves import curves

#: The largest file of a plan.
_MOST = 1_000_000


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def plan(request: HttpRequest, study_pk: int) -> HttpResponse:
    """The plan of a study; a POST saves the form, reads a file, seals it, or has a worker compute its power."""
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = study_get_for(user=request.user, pk=study_pk, role=role)
    state = plan_state(study=study)
    form = PlanForm(initial=PlanForm.values_of(state.plan) if state.plan else None)
    power = PowerForm(request.POST if "power" in request.POST else None)
    if request.method == "POST" and "power_cancel" in request.POST:
        if plan_job_cancel(study=study):
            messages.success(request, "Calculation cancelled.")
        return redirect("evaluation:plan", study_pk)
    if request.method == "POST" and "power" in request.POST:
        if power.is_valid():
            try:
                plan_power_request(study=study, assumed=vars(power.assumed), user=user_of(request))
            except Conflict as error:
                messages.error(request, str(error))
            return redirect("evaluation:plan", study_pk)
    elif request.method == "POST":
        if "seal" in request.POST or "plan" in request.FILES:
            try:
                _act(request, study)
            except (Conflict, PlanError) as error:
                messages.error(request, str(error))
            return redirect("evaluation:plan", study_pk)
        form = PlanForm(request.POST)
        if form.is_valid():
            try:
                plan_save(study=study, document=form.document(state.plan), user=user_of(request))
                messages.success(request, "Plan saved.")
                return redirect("evaluation:plan", study_pk)
            except PlanError as error:
                form.show(error)
            except Conflict as error:
                messages.error(request, str(error))
                return redirect("evaluation:plan", study_pk)
    return render(
        request,
        "evaluation/plan.html",
        _context(request, study, state, form, power),
        status=422 if form.errors or power.errors else 200,
    )


def _act(request: HttpRequest, study: Study) -> None:
    """Seal the plan, or read the uploaded file."""
    if "seal" in request.POST:
        row = plan_seal(study=study, user=user_of(request))
        messages.success(request, f"Plan sealed. SHA-256: {row.digest}")
        return
    file: Any = request.FILES["plan"]
    if (file.size or 0) > _MOST:
        raise PlanError({"file": f"got {file.size:,} bytes; expected a JSON file of at most {_MOST:,}"})
    plan_save(study=study, document=plan_read(file.read()), user=user_of(request))
    messages.success(request, "Plan read from the file.")


def plan_read(body: bytes) -> Any:
    """The document in a JSON file; raises ``PlanError`` with the line if it isn't JSON."""
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}: {error.msg}"
    except UnicodeDecodeError:
        where = "not UTF-8 text"
    except RecursionError:
        where = "nested too deeply"
    except ValueError:
        where = "a number of more digits than can be read"
    raise PlanError({"file": f"{where}; expected a JSON file of a plan"})


def _context(
    request: HttpRequest, study: Study, state: PlanState, form: PlanForm, power: PowerForm
) -> dict[str, Any]:
    role = study_role(user=request.user, study=study)
    job = plan_job_latest(study=study)
    if job is None or state.row is None or job.inputs.get("plan") != state.row.document:
        job = None  # of an earlier plan
    study.my_role = role or ""  # type: ignore[attr-defined]  # the study's tabs need it again
    return {
        "study": study,
        "state": state,
        "form": form,
        "metrics": metric_guide(),
        "power_form": power,
        "power_lines": [(f"{share:.1f}", 1 - share) for share in (1.0, 0.8, 0.5, 0.0)],
        "job": job,
        "curves": curves(state.row.power) if state.row and state.row.power else [],
        "can_edit": role in roles_from(Membership.Role.EDITOR),
    }


@login_required
@never_cache
@require_GET
def plan_file(request: HttpRequest, study_pk: int, format: str) -> HttpResponse:
    """The plan as a file: JSON, or Markdown for a registry."""
    study = study_get_for(user=request.user, pk=study_pk)
    state = plan_state(study=study)
    if state.row is None:
        raise Http404("no plan")
    text = (
        state.markdown if format == "md" else json.dumps(state.to_json(), indent=2, ensure_ascii=False) + "\n"
    )
    kind = "text/markdown" if format == "md" else "application/json"
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-plan.{format}"'
    return response

"""Exports of a study, and the researcher's API token."""

from __future__ import annotations

from typing import cast

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from annotator.accounts.api_tokens import token_works
from annotator.admin.study_pages.frame import VIEWER, render, study_page
from annotator.core.downloads import download_send
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add
from annotator.forms.study_pages import ExportForm, TokenForm
from annotator.models import ApiToken, Export, Study, User
from annotator.selectors.judgment import UnknownFilter
from annotator.selectors.user import user_of
from annotator.services.api_tokens import api_token_make, api_token_revoke
from annotator.services.exports import STREAMED, export_download, export_request, judgments_export

TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def exports(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Request an export: small ones download at once, a worker builds large ones. Lists the researcher's own."""
    form = ExportForm(request.POST or None, initial={"form": "judgments", "format": "csv"})
    large = study.judgments.all()[STREAMED : STREAMED + 1].exists()
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        if not large:
            query = urlencode({"form": data["form"], "format": data["format"], **form.filters()})
            response = redirect("admin:study_download", study.pk)
            response["Location"] += f"?{query}"
            return response
        by = cast(User, request.user)
        try:
            export_request(
                study=study,
                by=by,
                format=data["format"],
                form=data["form"],
                filters=form.filters(),
            )
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(request, "The export is being built. It will appear on this page.")
            return redirect("admin:study_exports", study.pk)
    mine = study.exports.filter(created_by=request.user)[:50]  # type: ignore[misc]
    return render(
        request, study, "exports", tab="judgments", title=f"Exports of {study.title}", form=form, exports=mine,
        large=large, limit=STREAMED, status=400 if form.errors else 200,
        building=any(one.state == Export.State.QUEUED for one in mine),
    )  # fmt: skip


@study_page(VIEWER)
def download(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Stream an export with the filters of the query string."""
    format, form = request.GET.get("format", "csv"), request.GET.get("form", "judgments")
    filters = {name: str(value) for name, value in request.GET.items() if name not in ("format", "form")}
    try:
        chunks = judgments_export(study=study, format=format, form=form, filters=filters)
    except (UnknownFilter, ValidationError) as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    if study.judgments.all()[STREAMED : STREAMED + 1].exists():
        messages.error(
            request,
            f"More than {STREAMED:,} judgments: choose the rows and format here, and the file is built in the background.",
        )
        return redirect("admin:study_exports", study.pk)
    response = StreamingHttpResponse(chunks, content_type=TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{form}.{format}"'
    return response


@study_page(VIEWER)
def file(request: HttpRequest, study: Study, export_pk: int) -> HttpResponseBase:
    """Download a finished export; only for the person who requested it."""
    found = study.exports.filter(created_by=request.user, state=Export.State.DONE)  # type: ignore[misc]
    return download_send(export_download(get_object_or_404(found.select_related("study"), pk=export_pk)))


@require_http_methods(["GET", "HEAD", "POST"])
def token(request: HttpRequest) -> HttpResponse:
    """List the researcher's API tokens; create one, which is shown once, or revoke one."""
    user = user_of(request)
    mine = ApiToken.objects.filter(user=user).order_by("-created")
    form, shown = TokenForm(), ""
    if "revoke" in request.POST:
        api_token_revoke(token=get_object_or_404(mine, pk=row_id(request.POST["revoke"])))
        messages.success(request, "Token revoked. Programs can no longer use it.")
        return redirect("admin:api_token")
    if request.method == "POST":
        form = TokenForm(request.POST)
        if form.is_valid():
            try:
                shown = api_token_make(user=user, **form.cleaned_data)
            except ValidationError as error:
                errors_add(form, error)
            else:
                form = TokenForm()
    context = {
        **admin.site.each_context(request),
        "title": "API tokens",
        "form": form,
        "shown": shown,
        "tokens": [(one, token_works(one)) for one in mine],
    }
    response = TemplateResponse(
        request, "admin/annotator/study_pages/token.html", context, status=400 if form.errors else 200
    )
    response["Cache-Control"] = "no-store"
    return response

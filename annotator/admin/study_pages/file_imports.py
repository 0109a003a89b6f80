"""Large imports: uploads in pieces, progress of the import, its problems, and cancelling it."""

from __future__ import annotations

import tempfile
from typing import IO

from django.contrib import messages
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from annotator.admin.study_pages.frame import EDITOR, render, study_page
from annotator.models import FileImport, Study
from annotator.services.imports.file_imports import file_import_cancel
from annotator.services.imports.pending_uploads import parked, upload_add, upload_begin, upload_end
from annotator.services.imports.readers import max_bytes

PAGES = {"material": "admin:annotator_study_import", "judgments": "admin:annotator_study_import_judgments"}


@study_page(EDITOR, methods=("POST",))
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Begin an upload (``name``), add a piece to it (``ticket``, ``offset``, the body) or end it (``ticket``, ``size``, ``to``)."""
    user_pk = int(request.user.pk or 0)
    asked = request.GET
    if "ticket" not in asked:
        begun = upload_begin(study_pk=study.pk, user_pk=user_pk, name=asked.get("name", ""))
        return JsonResponse({"ticket": begun.ticket}, status=201)
    found = parked(ticket=asked["ticket"], study_pk=study.pk, user_pk=user_pk)
    if found is None:
        return JsonResponse({"error": "The upload has expired. Choose the file again."}, status=404)
    try:
        if "size" in asked:
            upload_end(upload=found, size=int(asked["size"]))
            page = reverse(PAGES.get(asked.get("to", ""), PAGES["material"]), args=[study.pk])
            return JsonResponse({"next": f"{page}?ticket={found.ticket}"})
        with tempfile.TemporaryFile() as piece:
            piece_read(request, piece)
            received = upload_add(
                upload=found, offset=int(asked.get("offset", "")), piece=piece, most=max_bytes()
            )
    except ValueError as error:
        return JsonResponse({"error": f"The upload was refused: {error}."}, status=409)
    return JsonResponse({"received": received})


def piece_read(request: HttpRequest, file: IO[bytes]) -> None:
    """Copy a request's body. ``request.body`` would hold it in memory."""
    while chunk := request.read(1 << 16):
        file.write(chunk)


@study_page(EDITOR, methods=("GET", "HEAD", "POST"))
def file_import(request: HttpRequest, study: Study, import_pk: int) -> HttpResponse:
    """How far an import is; a POST cancels it."""
    found = get_object_or_404(study.file_imports, pk=import_pk)
    if request.method == "POST":
        if not file_import_cancel(file_import=found):
            messages.error(request, "The import had already ended.")
        return redirect("admin:study_file_import", study.pk, found.pk)
    material = found.kind == FileImport.Kind.MATERIAL
    return render(
        request, study, "file_import", tab="items" if material else "judgments", title=f"Import of {found.name}", job=found,
        again_url=reverse(PAGES[found.kind], args=[study.pk]),
        stored_url=reverse("admin:study_items" if material else "admin:study_judgments", args=[study.pk]),
    )  # fmt: skip


@study_page(EDITOR)
def problems(request: HttpRequest, study: Study, import_pk: int) -> HttpResponseBase:
    """Every problem of a refused file that was kept, as CSV."""
    found = get_object_or_404(study.file_imports.exclude(problems_file=""), pk=import_pk)
    try:
        file = default_storage.open(found.problems_file)
    except FileNotFoundError:
        raise Http404("the file is gone") from None
    return FileResponse(
        file, as_attachment=True, filename=f"{found.name}-problems.csv", content_type="text/csv"
    )

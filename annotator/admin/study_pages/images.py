"""The images that a study's material and questions show: upload, list, delete."""

from __future__ import annotations

import csv
import io

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from annotator.admin.study_pages.frame import EDITOR, VIEWER, may, render, study_page
from annotator.core.csv_cells import cell_neutral
from annotator.forms.importing import ImagesForm
from annotator.models import Study
from annotator.selectors.images import image_url, image_uses, images_used
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.services.images import image_delete, images_add, uploads_unpacked

USES = ("item", "part", "image", "alt", "digest", "width", "height")


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def images(request: HttpRequest, study: Study) -> HttpResponse:
    """List the study's images; a POST of an editor adds some, all or none."""
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
    editing = may(request, study, EDITOR)
    form = ImagesForm(request.POST or None, request.FILES or None) if editing else None
    faults: list[str] = []
    if form is not None and request.method == "POST" and form.is_valid():
        try:
            added = images_add(
                study=study, files=uploads_unpacked(form.cleaned_data["images"]), by=user_of(request)
            )
        except ValidationError as error:
            faults = list(error.messages)
        else:
            messages.success(request, str(added))
            return redirect("admin:study_images", study.pk)
    used = images_used(study=study)
    rows = [
        {
            "image": image,
            "url": image_url(user_pk=user_of(request).pk, study_pk=study.pk, digest=image.digest),
            "items": used.get(image.digest, 0),
            "used": image.digest in used,
        }
        for image in study.images.all()
    ]
    return render(
        request, study, "images", tab="items", title=f"Images of {study.title}", form=form, faults=faults, rows=rows,
        limit=settings.IMAGE_MAX_BYTES // 1_000_000, most=settings.IMAGES_PER_UPLOAD,
        status=400 if faults or (form is not None and form.errors) else 200,
    )  # fmt: skip


@study_page(EDITOR, methods=("POST",))
def delete(request: HttpRequest, study: Study, image_pk: int) -> HttpResponse:
    """Delete an image that nothing shows."""
    found = get_object_or_404(study.images, pk=image_pk)
    try:
        image_delete(image=found, by=user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{found.name} deleted.")
    return redirect("admin:study_images", study.pk)


@study_page(VIEWER)
def uses(request: HttpRequest, study: Study) -> HttpResponse:
    """Which item shows which image, with its digest and alternative text, as CSV."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(USES)
    for row in image_uses(study=study):
        writer.writerow([cell_neutral(row[name]) for name in USES])
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-images.csv"'
    return response

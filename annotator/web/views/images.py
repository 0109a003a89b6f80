"""The images that material shows."""

from __future__ import annotations

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from annotator.selectors.images import image_get_for


@require_safe
def image(request: HttpRequest, token: str) -> HttpResponseBase:
    """One image, for the person for whom the address was made.

    It never changes, so their browser may keep it. It can't run anything, even if it is opened by itself.
    """
    found = image_get_for(user=request.user, token=token)
    try:
        file = default_storage.open(found.file)
    except FileNotFoundError:
        raise Http404("the file is gone") from None
    response = FileResponse(file, content_type=found.media_type)
    response["Cache-Control"] = "private, max-age=604800, immutable"
    response["Content-Disposition"] = "inline"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response

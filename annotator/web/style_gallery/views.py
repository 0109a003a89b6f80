"""The style page (`/style/`): every screen in every state, with invented content. Development only; no database."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from annotator.web.style_gallery.samples import screens
from annotator.web.style_gallery.stages import LONG

View = Callable[..., HttpResponse]


def development_only(view: View) -> View:
    """Respond 404 in production."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.DEBUG:
            raise Http404
        return view(request, *args, **kwargs)

    return wrapped


@development_only
def index(request: HttpRequest) -> HttpResponse:
    """All components, and the list of screens."""
    sample = {
        "sample": LONG,
        "sample_response": {"faults": ["false"]},
        "sample_errors": {"note": "write an answer"},
    }
    return render(request, "style/index.html", {"screens": screens()} | sample)


@development_only
def screen(request: HttpRequest, name: str) -> HttpResponse:
    """One screen in one state, as its visitors see it."""
    found = {one.name: one for one in screens()}.get(name)
    if found is None:
        raise Http404
    if not found.with_request:
        return HttpResponse(render_to_string(found.template, found.context))
    return render(request, found.template, found.context)

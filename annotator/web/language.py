"""Sets the language of each page. ``annotator.core.language`` has the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.translation import activate, get_language, override

from annotator.core.language import (
    language_for_study,
    language_known,
    languages_accepted,
)
from annotator.models import Study, User

#: Below these, only researchers and programs have pages. They are in English.
ENGLISH_PATHS = ("/admin/", "/studies/", "/reports/", "/api/", "/two-factor/", "/sso/", "/no-emails/")
#: The session's key for the language of the study that somebody works on, if it isn't the browser's.
STUDY_LANGUAGE = "study_language"


class LanguageMiddleware:
    """Every page in its reader's language."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(ENGLISH_PATHS):
            return self.get_response(request)
        with override(language_of_request(request)):
            response = self.get_response(request)
            language = get_language() or settings.LANGUAGE_CODE
        if response.streaming and language != settings.LANGUAGE_CODE:
            response.streaming_content = _in_language(language, response.streaming_content)  # type: ignore[attr-defined]
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


def _in_language(language: str, parts: Iterable[bytes]) -> Iterator[bytes]:
    """Each part of a streamed response in this language. Parts are rendered after the middleware has returned."""
    these = iter(parts)
    while True:
        with override(language):
            part = next(these, None)
        if part is None:
            return
        yield part


def language_chosen(request: HttpRequest) -> str:
    """The language that the person chose, in this browser or in their account; empty if they chose none."""
    here = language_known(request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME))
    if here or settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return here
    user = getattr(request, "user", None)
    return language_known(user.language) if isinstance(user, User) else ""


def language_of_request(request: HttpRequest) -> str:
    """The language of a page that isn't known to belong to a study yet."""
    if chosen := language_chosen(request):
        return chosen
    of_study = request.session.get(STUDY_LANGUAGE) if settings.SESSION_COOKIE_NAME in request.COOKIES else ""
    return language_known(of_study) or language_of_browser(request)


def language_of_browser(request: HttpRequest) -> str:
    return next(languages_accepted(request.headers.get("Accept-Language", "")), settings.LANGUAGE_CODE)


def study_language_use(request: HttpRequest, study: Study) -> None:
    """Show the rest of the page in a language of this study, unless the person chose one.

    It is kept in the session of people who are logged in, for requests that don't name their study.
    """
    if language_chosen(request):
        return
    accepted = languages_accepted(request.headers.get("Accept-Language", ""))
    browser = language_of_browser(request)
    wanted = language_for_study(own=study.language, others=study.translations, accepted=accepted) or browser
    if wanted != get_language():
        activate(wanted)  # the middleware undoes it
    kept = wanted if wanted != browser else ""
    if request.user.is_authenticated and request.session.get(STUDY_LANGUAGE, "") != kept:
        request.session[STUDY_LANGUAGE] = kept

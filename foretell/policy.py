"""The content security policy: strict everywhere; the admin alone gets what its components need."""

from __future__ import annotations

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

#: django-unfold writes its theme's colours into a <style> and runs Alpine, which evaluates expressions.
#: Scripts still come from our own files only, so text in a page can never run.
ADMIN = {"script-src": ["'self'", "'unsafe-eval'"], "style-src": ["'self'", "'unsafe-inline'"]}


class ContentPolicyMiddleware(CSPMiddleware):
    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if not report_only and request.path_info.startswith("/admin/"):
            parts.replace = {**ADMIN, **(parts.replace or {})}
        return parts

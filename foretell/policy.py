"""The content security policy: strict everywhere, with exceptions in the admin for what its components need."""

from __future__ import annotations

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

#: django-unfold writes the colours of its theme into a <style> and uses Alpine, which evaluates expressions.
#: Scripts still come only from our own files, so text in a page never runs.
ADMIN = {"script-src": ["'self'", "'unsafe-eval'"], "style-src": ["'self'", "'unsafe-inline'"]}


class ContentPolicyMiddleware(CSPMiddleware):
    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if not report_only and request.path_info.startswith("/admin/"):
            parts.replace = {**ADMIN, **(parts.replace or {})}
        return parts

"""Operations on plan. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, TypedDict

from foretell_client.transport import Transport, part


class Plan(TypedDict):
    """A study's analysis plan as its file has it. ``sha256`` is the hash of the canonical JSON of the
    other three.
    """

    plan: Any
    design: Any
    sealed_at: str | None
    sha256: str | None
    markdown: str


class PlanOperations:
    """Operations on plan."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, study: str, /) -> Plan:
        """The plan; 404 if the study has none."""
        reply: Plan = self._http.json("GET", f"studies/{part(study)}/plan/")
        return reply

    def replace(self, study: str, /, **sent: Any) -> Plan:
        """Store a plan in place of an earlier one. 400 names each wrong field; 409 if the plan is sealed."""
        reply: Plan = self._http.json("PUT", f"studies/{part(study)}/plan/", body=sent)
        return reply

    def seal(self, study: str, /) -> Plan:
        """Seal the plan; 409 if it is sealed already, or if people have judged."""
        reply: Plan = self._http.json("POST", f"studies/{part(study)}/plan/seal/")
        return reply

"""Operations on plan. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

from foretell_client.transport import Transport, part

PlanJobState = Literal["queued", "running", "done", "failed", "cancelled"]


class Plan(TypedDict):
    """A study's analysis plan as its file has it. ``sha256`` is the hash of the canonical JSON of the
    other three.
    """

    plan: Any
    design: Any
    sealed_at: str | None
    sha256: str | None
    markdown: str


class PlanPower(TypedDict):
    """A calculation of a plan's power; ``result`` is null until it is done."""

    state: PlanJobState
    done: int
    total: int
    assumed: Any
    result: Any
    error: str
    created_at: str
    finished_at: str | None


class PlanPowerAsk(TypedDict, total=False):
    """What a power calculation takes for granted."""

    precision: float
    accuracy: float
    clustering: float


class PlanSoFar(TypedDict):
    """The planned comparisons so far, as a worker computed them; ``values`` is null until it has."""

    state: PlanJobState
    values: Any
    current: bool
    error: str
    created_at: str
    finished_at: str | None


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

    def power(self, study: str, /) -> PlanPower:
        """The latest calculation; 404 if there is none."""
        reply: PlanPower = self._http.json("GET", f"studies/{part(study)}/plan/power/")
        return reply

    def power_create(self, study: str, /, **sent: Unpack[PlanPowerAsk]) -> PlanPower:
        """Compute the power. A result from the same plan and assumptions is returned at once; 409 while
        another calculation is running.
        """
        reply: PlanPower = self._http.json("POST", f"studies/{part(study)}/plan/power/", body=sent)
        return reply

    def power_delete(self, study: str, /) -> None:
        """Cancel the calculation that waits or is running; 404 if there is none."""
        self._http.nothing("DELETE", f"studies/{part(study)}/plan/power/")

    def seal(self, study: str, /) -> Plan:
        """Seal the plan; 409 if it is sealed already, or if people have judged."""
        reply: Plan = self._http.json("POST", f"studies/{part(study)}/plan/seal/")
        return reply

    def so_far(self, study: str, /) -> PlanSoFar:
        """The latest calculation; 404 if there is none."""
        reply: PlanSoFar = self._http.json("GET", f"studies/{part(study)}/plan/so-far/")
        return reply

    def so_far_create(self, study: str, /) -> PlanSoFar:
        """Compute them with the latest judgments; a worker does it. 409 without a sealed plan that has a
        stopping rule.
        """
        reply: PlanSoFar = self._http.json("POST", f"studies/{part(study)}/plan/so-far/")
        return reply

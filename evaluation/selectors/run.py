"""Runs: access to them, and their progress for pages and commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet, Sum
from django.http import Http404
from django.utils import timezone

from annotator.core.words import money
from annotator.models import Dataset, Item, Membership
from annotator.selectors.study import studies_for, study_hit_type
from annotator.selectors.workspace import log, owned_by
from evaluation.models import Call, Pipeline, Run
from evaluation.providers.base import ChatRequest
from evaluation.providers.profiles import Profile, profile_named, profile_proposed

#: The period over which throughput is measured.
WINDOW_SECONDS = 60.0


@dataclass(frozen=True)
class RunProgress:
    """Counts of one run. ``failures``: kind -> number of calls, including unparsable ones; the denominator is
    ``total``. ``cut_off``: calls whose server seems to have read only a part of the prompt. ``fingerprints``: how many different ones the server
    returned. ``may_follow``: calls of the first
    stage that calls of later stages follow; ``later``: those that have. ``per_second`` is over the last minute; ``seconds_left``, for the calls that
    exist, is None if there was no progress.
    """

    total: int
    done: int
    pending: int
    in_flight: int
    failed: int
    unparsable: int
    from_cache: int
    tied: int
    flagged: int
    cut_off: int
    fingerprints: int
    repeats: int
    spent: Decimal
    perhaps_spent: Decimal
    sent: int
    may_follow: int
    later: int
    per_second: float
    seconds_left: float | None
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def settled(self) -> int:
        return self.done + self.failed + self.unparsable

    @property
    def share(self) -> float:
        """The share of calls that have ended, in [0, 1]; 1 for a run without calls."""
        return self.settled / self.total if self.total else 1.0


def run_progress(run: Run) -> RunProgress:
    """The progress of a run, in two queries."""
    calls = Call.objects.filter(run=run)
    now = timezone.now()
    state = Call.State
    counts = calls.aggregate(
        total=Count("id"),
        done=Count("id", filter=Q(state=state.DONE)),
        pending=Count("id", filter=Q(state=state.PENDING)),
        in_flight=Count("id", filter=Q(state=state.IN_FLIGHT)),
        failed=Count("id", filter=Q(state=state.FAILED)),
        unparsable=Count("id", filter=Q(state=state.UNPARSABLE)),
        from_cache=Count("id", filter=Q(from_cache=True)),
        tied=Count("id", filter=Q(flags__contains=["tie"])),
        flagged=Count("id", filter=Q(flags__contains=["injection"])),
        cut_off=Count("id", filter=Q(flags__contains=["prompt_cut_off"])),
        fingerprints=Count("fingerprint", distinct=True, filter=~Q(fingerprint="")),
        may_follow=Count("id", filter=Q(stage=0) & ~Q(state__in=[state.FAILED, state.UNPARSABLE])),
        later=Count("id", filter=Q(stage__gt=0)),
        tries=Sum("attempts"),
        tried=Count("id", filter=Q(attempts__gt=0)),
        lately=Count("id", filter=Q(finished_at__gt=now - timedelta(seconds=WINDOW_SECONDS))),
        first=Min("finished_at", filter=Q(finished_at__gt=now - timedelta(seconds=WINDOW_SECONDS))),
    )
    failures = calls.filter(state__in=[state.FAILED, state.UNPARSABLE]).values("error_kind")
    lately, first, tries, tried = (counts.pop(name) for name in ("lately", "first", "tries", "tried"))
    speed = lately / max((now - first).total_seconds(), 1.0) if lately and first else 0.0
    left = counts["pending"] + counts["in_flight"]
    return RunProgress(
        **counts,
        repeats=(tries or 0) - tried,
        spent=run.spent_cost + run.overrun_cost,
        perhaps_spent=run.lost_cost,
        sent=run.sent_calls,
        per_second=speed,
        seconds_left=0.0 if not left else left / speed if speed and run.state == Run.State.RUNNING else None,
        failures={row["error_kind"]: row["n"] for row in failures.annotate(n=Count("id")).order_by("-n")},
    )


def calls_to_come(run: Run, progress: RunProgress) -> int:
    """At most how many calls of later stages will follow those that a simulator's run has now; in one query."""
    if run.study is None or run.finished_at is not None or not progress.may_follow:
        return 0
    item = Item.objects.filter(study=run.study_id).order_by("pk").first()
    if item is None:
        return 0
    stages = len(study_hit_type(run.study).stages(item.payload))
    return max(progress.may_follow * (stages - 1) - progress.later, 0)


def profile_for(run: Run) -> Profile | None:
    """The settings that the latest failure of a paused run asks for; None if none are known."""
    if run.state != Run.State.PAUSED:
        return None
    failed = Call.objects.filter(run=run, request__isnull=False).exclude(error="")
    call = failed.order_by("-claimed_at", "-pk").first()
    if call is None:
        return None
    name = profile_proposed(
        request=ChatRequest.of_body(call.request or {}),
        kind=call.error_kind,
        said=call.error,
        thinking_tokens=run.endpoint.thinking_tokens,
    )
    return profile_named(name)


def runs_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Run]:
    """Runs on studies in which the researcher has this role, and on datasets of workspaces in which they have it."""
    runs = Run.objects.select_related("endpoint", "study", "dataset", "rater")
    owned = owned_by(user=user, role=role, path="dataset__workspace", maker="created_by")
    return runs.filter(
        Q(study__in=studies_for(user=user, role=role).values("pk")) | Q(study__isnull=True) & owned
    )


def run_get_for(*, user: Any, pk: int, role: str = Membership.Role.VIEWER) -> Run:
    """One of ``runs_for``; raises ``Http404`` for any other, and logs it."""
    run = runs_for(user=user, role=role).filter(pk=pk).first()
    if run is None:
        log.warning("run %s: access denied to user %s as %s", pk, user.pk, role)
        raise Http404("no such run")
    return run


def datasets_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Dataset]:
    """Datasets of the workspaces in which the researcher has this role.

    A dataset without a workspace belongs to them if a study has its name, or if they started a pipeline on it.
    """
    studies = studies_for(user=user, role=role).values("slug")
    started = Pipeline.objects.filter(created_by=user).values("dataset")
    nobodys = Q(workspace__isnull=True) & (Q(name__in=studies) | Q(pk__in=started))
    return Dataset.objects.filter(owned_by(user=user, role=role) | nobodys).order_by("name", "pk")


def _runs_of(workspace_id: int) -> QuerySet[Run]:
    return Run.objects.filter(
        Q(study__workspace=workspace_id) | Q(study__isnull=True, dataset__workspace=workspace_id)
    )


def calls_under_way(workspace_id: int) -> str:
    """How many calls of a workspace's runs are claimed by a worker, as words."""
    return f"{Call.objects.filter(run__in=_runs_of(workspace_id), state=Call.State.IN_FLIGHT).count():,}"


def workspace_spent_words(workspace_id: int) -> str:
    """``workspace_spent`` as words."""
    return money(workspace_spent(workspace_id))


def workspace_spent(workspace_id: int) -> Decimal:
    """What all runs of a workspace have cost, may have cost, or have reserved, in the currency of its prices."""
    amounts = F("spent_cost") + F("reserved_cost") + F("lost_cost") + F("overrun_cost")
    return _runs_of(workspace_id).order_by().aggregate(total=Sum(amounts))["total"] or Decimal(0)

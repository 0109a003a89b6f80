"""The demo: a researcher, an annotator, and one rehearsed study for each file of demo material.

Everything goes through the services that real studies go through. The raters are synthetic and marked so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from django.db import transaction

from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import Membership, Study, User
from annotator.services.imports.material_import import material_import
from annotator.services.rehearsal.fill import rehearsal_raters, rehearsal_spread_times, rehearse
from annotator.services.study import study_create, study_launch

FOLDER = Path(__file__).resolve().parent.parent / "demo"
RESEARCHER = "researcher"
ANNOTATOR = "annotator"
PASSWORD = "foretell-demo"  # noqa: S105 - the demo's log-in is printed and public; production never loads it

CONSENT = """\
## About this study

You will read short texts that a robot wrote and answer questions about them. It takes as long as you like.

- **What we keep:** your answers and the time they took, under a random name.
- **Who sees it:** the researchers of this study. Published data carry no names.
- **Stopping:** at any time, without giving a reason. What you submitted stays and is paid.
- **Risks:** none that we know of beyond those of reading on a screen.

This is a demonstration on this machine. Nobody is paid.
"""


@dataclass(frozen=True)
class Plan:
    """How one demo study is set up and rehearsed. ``fill`` is the share of judgments that is made."""

    title: str
    summary: str
    accuracy: float = 0.86
    fill: float = 0.75
    pay: str = "0.12"


PLANS = {
    "simulation": Plan(
        "What will the robot answer?",
        "Read how a robot explained one answer, and guess what it will answer next.",
        fill=0.9,
    ),
}


def demo_load() -> Iterator[str]:
    """Make what is not there yet; yields a line for each step. Safe to run again, also after a kill."""
    researcher = _person(RESEARCHER, staff=True)
    _person(ANNOTATOR, staff=False)
    for name in hit_types():
        path = FOLDER / f"{name}.jsonl"
        if path.is_file():
            yield from _study(name, path, researcher)


def demo_ways_in() -> list[dict[str, str]]:
    """Who can try what: ``label`` and ``url``, a log-in where one is needed, ``about``: the study invited to."""
    ways = [
        {"label": "researcher", "url": "/admin/", "username": RESEARCHER, "password": PASSWORD},
        {"label": "annotator", "url": "/login/", "username": ANNOTATOR, "password": PASSWORD},
    ]
    for study in Study.objects.filter(slug__startswith="demo-", state=Study.State.LIVE).order_by("slug"):
        ways.append({"label": "invitation", "url": f"/join/{study.join_token}/", "about": study.title})
    return ways


def _person(username: str, *, staff: bool) -> User:
    user, made = User.objects.get_or_create(
        username=username, defaults={"is_staff": staff, "is_superuser": staff}
    )
    if made:
        user.set_password(PASSWORD)
        user.save()
    return user


def _study(name: str, path: Path, researcher: User) -> Iterator[str]:
    slug = f"demo-{name.replace('_', '-')}"
    plan = PLANS.get(name) or Plan(
        hit_type_get(name).task_title, f"A demonstration of “{hit_type_get(name).title}”."
    )
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        with transaction.atomic(), path.open("rb") as file:
            study = study_create(
                by=researcher,
                hit_type=name,
                slug=slug,
                title=plan.title,
                summary=plan.summary,
                contact="The demo of Foretell, on this machine",
                consent_text=CONSENT,
                pay_per_item=plan.pay,
                minutes_per_item=0.6,
                completion_code="FORETELL-DEMO",
            )
            material_import(study=study, file=file, name=path.name)
            study_launch(study=study, by=researcher)
    Membership.objects.get_or_create(study=study, user=researcher, defaults={"role": Membership.Role.OWNER})
    study.refresh_from_db()
    wanted = int(study.items.count() * study.redundancy * plan.fill)
    missing = wanted - study.judgments.filter(source="rehearsal").count()
    if missing <= 0:
        yield f"{slug}: there already"
        return
    raters = rehearsal_raters(
        study=study, count=_raters_needed(study, wanted), accuracy=plan.accuracy, spread=0.07, seed=1
    )
    made = rehearse(study=study, raters=raters, seed=1, most=missing)
    rehearsal_spread_times(study=study, seed=1)
    yield f"{slug}: {study.items.count()} items, {made} rehearsal judgments"


def _raters_needed(study: Study, wanted: int) -> int:
    """Enough people for ``wanted`` judgments; more where each of them may see an instance only once."""
    if not study.one_condition_per_instance:
        return 12
    instances = study.items.values("instance").distinct().count()
    return max(12, ceil(wanted / instances) + 2)

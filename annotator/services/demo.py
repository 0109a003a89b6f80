"""The demo: a researcher, an annotator, and one rehearsed study for each file of demo material.

Everything goes through the services that real studies go through. The raters are synthetic and marked so.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from django.db import transaction

from annotator.core.errors import Refused
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import Membership, Study, User
from annotator.services.imports.material_import import material_import
from annotator.services.participation import participation_join
from annotator.services.rehearsal.fill import rehearsal_raters, rehearsal_spread_times, rehearse
from annotator.services.study import study_create, study_launch

FOLDER = Path(__file__).resolve().parent.parent / "demo"
RESEARCHER = "researcher"
ANNOTATOR = "annotator"
#: What every demo account had in version 0.1; replaced wherever it is found.
PUBLISHED_PASSWORD = "foretell-demo"  # noqa: S105

CONSENT = """\
## About this study

You will read short texts that a robot wrote and answer questions about them. It takes as long as you like.

- **What we keep:** your answers and the time they took, under a random name.
- **Who sees it:** the researchers of this study. Published data carry no names.
- **Stopping:** at any time, without giving a reason. What you submitted is kept.
- **Pay:** the amounts on these pages are examples. This is a demonstration on this machine, and nobody is paid.
- **Risks:** none that we know of beyond those of reading on a screen.
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


def demo_accounts(*, known: Mapping[str, str]) -> dict[str, str]:
    """The demo's accounts, made where they are missing; returns the password of each.

    Passwords belong to this installation: they are random, kept only where ``known`` comes from (a file that its
    owner alone can read), and made anew where that is lost.
    """
    passwords = {}
    for username, staff in ((RESEARCHER, True), (ANNOTATOR, False)):
        user, made = User.objects.get_or_create(
            username=username, defaults={"is_staff": staff, "is_superuser": staff, "demo": True}
        )
        password = known.get(username, "")
        if not (made or user.demo or user.check_password(PUBLISHED_PASSWORD)):
            continue  # somebody's own account of that name
        if not password or not user.check_password(password):
            password = secrets.token_urlsafe(9)
            user.set_password(password)
        user.demo = True
        user.save(update_fields=["password", "demo"])
        passwords[username] = password
    return passwords


def demo_lines(hit_type: str, count: int) -> list[str]:
    """The first lines of a HIT type's demo material; empty where it has none."""
    path = FOLDER / f"{hit_type}.jsonl"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as file:
        return [line for line, _ in zip(file, range(count), strict=False)]


def demo_load() -> Iterator[str]:
    """Make what is not there yet; yields a line for each step. Safe to run again, also after a kill."""
    researcher = User.objects.get(username=RESEARCHER)
    for name in hit_types():
        path = FOLDER / f"{name}.jsonl"
        if path.is_file():
            yield from _study(name, path, researcher)


def demo_ways_in(*, passwords: Mapping[str, str]) -> list[dict[str, str]]:
    """Who can try what: ``label`` and ``url``, a login where one is needed, ``about``: the study invited to."""
    ways = [
        {"label": label, "url": url, "username": username, "password": passwords[username]}
        for label, url, username in (
            ("researcher", "/admin/", RESEARCHER),
            ("annotator", "/login/", ANNOTATOR),
        )
        if username in passwords
    ]
    for study in Study.objects.filter(slug__startswith="demo-", state=Study.State.LIVE).order_by("slug"):
        ways.append({"label": "invitation", "url": f"/join/{study.join_token}/", "about": study.title})
    return ways


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
                contact="The demo of Foretell, on this machine. The pay is an example: nobody is paid.",
                consent_text=CONSENT,
                pay_per_item=plan.pay,
                minutes_per_item=0.6,
                completion_code="FORETELL-DEMO",
            )
            material_import(study=study, file=file, name=path.name)
            study_launch(study=study, by=researcher)
    Membership.objects.get_or_create(study=study, user=researcher, defaults={"role": Membership.Role.OWNER})
    study.refresh_from_db()
    _annotator_join(study)
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


def _annotator_join(study: Study) -> None:
    """The demo's annotator takes part in every study: their page lists them all, and each begins with its consent."""
    annotator = User.objects.filter(username=ANNOTATOR, demo=True).first()
    if annotator is not None and study.state == Study.State.LIVE:
        with suppress(Refused):  # somebody has taken all places, or this person has joined many studies today
            participation_join(study=study, user=annotator)


def _raters_needed(study: Study, wanted: int) -> int:
    """Enough people for ``wanted`` judgments; more where each of them may see an instance only once."""
    if not study.one_condition_per_instance:
        return 12
    instances = study.items.values("instance").distinct().count()
    return max(12, ceil(wanted / instances) + 2)

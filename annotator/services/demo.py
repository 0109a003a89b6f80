"""The demo: a researcher, an annotator, and one rehearsed study for each file of demo material. It uses the same
services as real studies. The raters are synthetic and marked as such.
"""

from __future__ import annotations

import io
import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

from django.db import transaction

from annotator.core.errors import Refused
from annotator.core.words import plural
from annotator.hit_types.base import HitType
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import Membership, Study, User
from annotator.selectors.workload import study_workload
from annotator.services.imports.material_import import material_import
from annotator.services.participation import participation_join
from annotator.services.rehearsal.fill import rehearsal_raters, rehearsal_spread_times, rehearse
from annotator.services.study import study_create, study_launch

FOLDER = Path(__file__).resolve().parent.parent / "demo"
RESEARCHER = "researcher"
ANNOTATOR = "annotator"
#: The password of every demo account in version 0.1; replaced if an account still has it.
PUBLISHED_PASSWORD = "foretell-demo"  # noqa: S105

#: The chance that a rehearsal rater gives a correct answer.
ACCURACY = 0.86
#: Ends the slug of the study with control arms; its instances, and how many follow-ups each of their explanations has.
GAIN, GAIN_INSTANCES, GAIN_FOLLOW_UPS = "gain", 12, 3
#: An example, in US dollars.
PAY = "0.12"
CONSENT = """\
## About this study

You will read short texts that a robot wrote and answer questions about them. It takes as long as you like.

- **What we keep:** your answers and the time they took, under a random name.
- **Who sees it:** the researchers of this study. Published data carry no names.
- **Stopping:** at any time, without giving a reason. What you submitted is kept.
- **Pay:** the amounts on these pages are examples. This is a demonstration on this machine, and nobody is paid.
- **Risks:** none that we know of beyond those of reading on a screen.
"""


def demo_accounts(*, known: Mapping[str, str]) -> dict[str, str]:
    """Create the demo's accounts if they are missing; returns the password of each. Passwords are random and differ
    between installations. They are stored only in the file that ``known`` is read from, which only its owner can read;
    if that is lost, new ones are set.
    """
    passwords = {}
    for username, staff in ((RESEARCHER, True), (ANNOTATOR, False)):
        user, made = User.objects.get_or_create(
            username=username, defaults={"is_staff": staff, "is_superuser": staff, "demo": True}
        )
        password = known.get(username, "")
        if not (made or user.demo or user.check_password(PUBLISHED_PASSWORD)):
            continue  # an account with that name that isn't the demo's
        if not password or not user.check_password(password):
            password = secrets.token_urlsafe(9)
            user.set_password(password)
        user.demo = True
        user.save(update_fields=["password", "demo"])
        passwords[username] = password
    return passwords


def demo_lines(hit_type: str, count: int | None = None, *, variant: str = "") -> list[str]:
    """The first lines of a HIT type's demo material, or of one of its variants; else its sample rows, empty if there are none."""
    path = FOLDER / f"{hit_type}.jsonl"
    if not path.is_file():
        return sample_lines(hit_type_get(hit_type), count)
    field = hit_type_get(hit_type).variant_field
    with path.open(encoding="utf-8") as file:
        fitting = (line for line in file if not variant or json.loads(line).get(field) == variant)
        return list(islice(fitting, count))


def sample_lines(kind: HitType, count: int | None = None) -> list[str]:
    """The first of a HIT type's sample rows as lines of JSON; empty if it has none."""
    return [json.dumps(row, ensure_ascii=False) + "\n" for row in kind.samples[:count]]


def gain_lines(hit_type: str) -> list[str]:
    """The lines of a HIT type's demo material for the study with control arms: a few follow-ups of its first instances."""
    instances, taken, lines = dict[str, None](), Counter[tuple[str, str]](), []
    for line in demo_lines(hit_type):
        row = json.loads(line)
        instances.setdefault(row["instance"])
        taken[row["instance"], row["system"]] += 1
        if len(instances) <= GAIN_INSTANCES and taken[row["instance"], row["system"]] <= GAIN_FOLLOW_UPS:
            lines.append(line)
    return lines


def demo_slug(hit_type: str, variant: str = "") -> str:
    """The slug of the demo's study of a HIT type, or of one of its variants.

    >>> demo_slug("rationale_properties", "surface_form")
    'demo-rationale-properties-surface-form'
    """
    return "-".join(["demo", hit_type, *([variant] if variant else [])]).replace("_", "-")


def demo_load() -> Iterator[str]:
    """Create whatever is missing; yields a line for each step. Safe to run again, even after being killed."""
    researcher = User.objects.get(username=RESEARCHER)
    for name in hit_types():
        if not (FOLDER / f"{name}.jsonl").is_file():
            continue
        kind = hit_type_get(name)
        for variant in kind.variants if kind.demo.by_variant else ("",):
            yield from _study(kind, variant, researcher)
        if kind.demo.gain:
            yield from _study(kind, GAIN, researcher)


def demo_ways_in(*, passwords: Mapping[str, str]) -> list[dict[str, str]]:
    """The links to try: ``label`` and ``url``, a login if one is needed, and ``about``, the study that the link invites
    to."""
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


def _title(kind: HitType, variant: str) -> str:
    if variant == GAIN:
        return kind.demo.gain_title
    if kind.demo.title or not variant:
        return kind.demo.title or kind.task_title
    first = json.loads(demo_lines(kind.name, 1, variant=variant)[0])
    return kind.stages(kind.parse_item(first).payload)[0].title


def _study(kind: HitType, variant: str, researcher: User) -> Iterator[str]:
    slug = demo_slug(kind.name, variant)
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        with transaction.atomic():
            study = study_create(
                by=researcher,
                hit_type=kind.name,
                variant="" if variant == GAIN else variant,
                slug=slug,
                title=_title(kind, variant),
                summary=kind.demo.summary or f"A demonstration of “{kind.title}”.",
                contact="The demo of Foretell, on this machine. The pay is an example: nobody is paid.",
                consent_text=CONSENT,
                pay_per_item=PAY,
                minutes_per_item=0.6,
                completion_code="FORETELL-DEMO",
                **(_arms(kind) if variant == GAIN else {}),
            )
            of_study = gain_lines(kind.name) if variant == GAIN else demo_lines(kind.name, variant=variant)
            lines = "".join(of_study)
            material_import(study=study, file=io.BytesIO(lines.encode()), name=f"{kind.name}.jsonl")
            study_launch(study=study, by=researcher)
    Membership.objects.get_or_create(study=study, user=researcher, defaults={"role": Membership.Role.OWNER})
    study.refresh_from_db()
    _annotator_join(study)
    wanted = int(study_workload(study).places * kind.demo.fill)
    missing = wanted - study.judgments.filter(source="rehearsal").count()
    if missing <= 0:
        yield f"{slug}: there already"
        return
    raters = rehearsal_raters(
        study=study, count=_raters_needed(study, wanted), accuracy=ACCURACY, spread=0.07, seed=1
    )
    made = rehearse(study=study, raters=raters, seed=1, most=missing)
    rehearsal_spread_times(study=study, seed=1)
    yield f"{slug}: {plural(study.items.count(), 'item')}, {plural(made, 'rehearsal judgment')}"


def _arms(kind: HitType) -> dict[str, Any]:
    """The settings for the numbers of raters by arm."""
    return {f"{arm}_raters" if arm else "redundancy": raters for arm, raters in kind.demo.gain.items()}


def _annotator_join(study: Study) -> None:
    """The demo's annotator takes part in every study: their page lists them all, and each begins with its consent."""
    annotator = User.objects.filter(username=ANNOTATOR, demo=True).first()
    if annotator is not None and study.state == Study.State.LIVE:
        with suppress(Refused):  # somebody has taken all places, or this person has joined many studies today
            participation_join(study=study, user=annotator)


def _raters_needed(study: Study, wanted: int) -> int:
    """The number of raters needed for ``wanted`` judgments; more if each may see an instance only once."""
    if not study.one_condition_per_instance:
        return 12
    instances = study.items.values("instance").distinct().count()
    return max(12, ceil(wanted / instances) + 2)

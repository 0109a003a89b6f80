"""Studies with control arms for tests."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from typing import Any

from django.db import transaction

from annotator.hit_types.arms import arm_of
from annotator.models import Assignment, Rater, Study
from annotator.services.control_arms import control_items_make
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from tests.factories import make_item, make_study, simulation_payload


def control_study(
    *, instances: int, systems: int = 2, follow_ups: int = 2, launched: bool = True, **fields: Any
) -> Study:
    """Each system explains each instance and has several follow-ups on it, in three arms unless told otherwise."""
    arms = {"redundancy": 2, "answer_only_raters": 2, "nothing_raters": 2}
    study = make_study(**arms | fields)
    for instance in range(instances):
        for system in range(systems):
            for number in range(follow_ups):
                payload = simulation_payload(f"{instance}.{system}.{number}")
                payload |= {"question": f"Can bird {instance} fly?"}
                make_item(
                    study,
                    key=f"x{instance}-s{system}-{number}",
                    instance=f"x{instance}",
                    system=f"robot-{system}",
                    payload=payload,
                )
    with transaction.atomic():
        control_items_make(study=study)
    if launched:
        study_launch(study=study)
        study.refresh_from_db()
    return study


def two_armed_study(instances: int) -> Study:
    """A draft in which three people judge each follow-up of two systems with the explanation, and three with nothing shown."""
    arms = {"redundancy": 3, "answer_only_raters": 0, "nothing_raters": 3}
    return control_study(instances=instances, follow_ups=1, launched=False, **arms)


def imported(study: Study, *rows: dict[str, str]) -> Study:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    material_import(study=study, file=io.BytesIO(lines.encode()), name="m.jsonl")
    return study


def arms_seen(*studies: Study) -> dict[tuple[int, str], set[str]]:
    """The arms that each person has had of each input, in these studies together: (rater, input) -> arms."""
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    rows = Assignment.objects.filter(item__study__in=studies)
    for rater, text, payload in rows.values_list("rater", "item__instance__input", "item__payload"):
        found[rater, text].add(arm_of(payload))
    return found


def nobody_saw_two_arms(*studies: Study) -> bool:
    seen = arms_seen(*studies)
    return bool(seen) and all(len(arms) == 1 for arms in seen.values())


def raters_of(study: Study) -> int:
    return Rater.objects.filter(assignments__item__study=study).distinct().count()

"""A database of ten million judgments, or another number: half of them in one study, the rest in fifty, in two workspaces.

Each item is judged by ten people, and the last items of each study have free places, so that people can go on. The people are the
same in all studies: everybody is in the large one, and each small one has a fifth of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

K, SMALL, DAYS = 10, 50, 60
#: The judgments of one statement.
STEP = 500_000
ANSWERS = {
    "no": {"helpful": "no"},
    "wrong": {"helpful": "yes", "answer": "no"},
    "right": {"helpful": "yes", "answer": "yes"},
}
_TABLES = ("instance", "explanation", "followup", "item", "participation", "assignment", "place", "judgment")
_FIELDS = {"followup": "follow_up"}


def data_make(judgments: int, say: Callable[[str], None] = print) -> None:
    """Create the data set in an empty database; nothing happens where it exists."""
    from annotator.models import Study

    if Study.objects.filter(slug="large").exists():
        return
    from django.db import connection

    from benchmarks.ten_million import statements
    from foretell.bare_tables import bare_tables

    began = time.perf_counter()

    def tell(text: str) -> None:
        say(f"{time.perf_counter() - began:7.0f} s  {text}")

    half = judgments // 2 // K * K
    small = half // SMALL // K * K
    pool = max(5 * K + 1, judgments // 2_000)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET maintenance_work_mem = '512MB'")
    _execute(statements.PEOPLE, {"pool": pool})
    studies = _studies(half, small, pool)
    tell("studies")
    with bare_tables(statements.MATERIAL + statements.WORK):
        for number, values in enumerate(studies):
            _fill(values, reviewed=number % 2 == 1)
            tell(f"study {number + 1} of {len(studies)}")
        for table in _TABLES:
            _sequence_set(f"annotator_{table}")
    tell("indexes and foreign keys")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    tell("VACUUM and ANALYZE")


def _studies(half: int, small: int, pool: int) -> list[dict[str, Any]]:
    """The studies, launched but empty, with the values of their statements."""
    from annotator.core.canonical import digest_of
    from annotator.models import Dataset, Rater, System, User
    from annotator.services.workspace import workspace_create

    answers = {name: json.dumps(answer) for name, answer in ANSWERS.items()}
    answers |= {f"{name}_digest": digest_of(answer) for name, answer in ANSWERS.items()}
    rater = Rater.objects.order_by("pk").values_list("pk", flat=True)[0]
    next_id = dict.fromkeys(_TABLES, 1)
    made = []
    for lab in range(2):
        owner = User.objects.create_user(f"lab-{lab}", password="a-long-password-7", is_staff=True)
        workspace = workspace_create(by=owner, name=f"Laboratory {lab}")
        dataset = Dataset.objects.create(workspace=workspace, name="birds")
        systems = [
            System.objects.create(
                workspace=workspace, name=f"system-{n}", model=f"model-{n // 2}", method=f"method-{n % 2}"
            )
            for n in range(4)
        ]
        names = [f"small-{n}" for n in range(lab * SMALL // 2, (lab + 1) * SMALL // 2)]
        for slug in ["large", *names] if lab == 0 else names:
            judgments = half if slug == "large" else small
            people = pool if slug == "large" else pool // 5
            items = judgments // K + max(20, judgments // K // 50)
            study = _launched(slug, owner, workspace)
            values = {
                **answers, "study": study.pk, "snapshot": study.snapshot_id, "owner": owner.pk, "dataset": dataset.pk,
                "system": systems[0].pk, "rater": rater, "pool": pool, "people": people, "shift": 97 * len(made), "k": K,
                "judgments": judgments, "items": items, "days": DAYS, "began": study.created_at - timedelta(days=DAYS),
                **{_FIELDS.get(table, table): number for table, number in next_id.items()},
            }  # fmt: skip
            if slug != "large":  # each study has questions of its own
                values["dataset"] = Dataset.objects.create(workspace=workspace, name=slug).pk
            made.append(values)
            used = {
                "participation": people,
                "instance": items,
                "explanation": items,
                "followup": items,
                "item": items,
            }
            for table in _TABLES:
                next_id[table] += used.get(table, items * K)
    return made


def _launched(slug: str, owner: Any, workspace: Any) -> Any:
    """A live study without items: a study can't be launched without any, so it's launched with one that is deleted again."""
    from annotator.models import Item, Place, Study
    from annotator.services.study import study_create, study_launch

    study = study_create(
        by=owner, workspace=workspace, hit_type="simulation", slug=slug, title=f"The {slug} study", redundancy=K,
        consent_text="", practice_required=False, exam_required=False, pay_per_item="0.1", joins_per_hour=None,
        joins_per_address=None,
    )  # fmt: skip
    payload = {"question": "?", "explanation": "!", "answer": "yes", "follow_up": "?"}
    Item.objects.create(study=study, key="first", payload=payload)
    study_launch(study=study)
    Place.objects.filter(study=study).delete()
    Item.objects.filter(study=study).delete()
    return Study.objects.get(pk=study.pk)


def _fill(values: dict[str, Any], *, reviewed: bool) -> None:
    from benchmarks.ten_million import statements as sql

    _execute(sql.STUDY_MATERIAL + sql.PARTICIPATIONS, values)
    for low in range(0, values["judgments"], STEP):
        _execute(sql.STUDY_WORK, {**values, "low": low, "high": min(low + STEP, values["judgments"]) - 1})
    _sequence_set("annotator_place")  # free places get the next ids
    _execute(sql.OPEN_PLACES + sql.EXCLUSIONS + (sql.REVIEWS if reviewed else ""), values)


def _execute(statements: str, values: dict[str, Any]) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in statements.split(";\n"):
            if statement.strip():
                cursor.execute(statement, values)


def _sequence_set(table: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))"
        )


if __name__ == "__main__":
    import os
    import sys

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    django.setup()
    data_make(int(sys.argv[1]))

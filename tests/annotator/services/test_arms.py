"""If an item has several arms, its raters take different steps; the drawn arm is stored."""

from __future__ import annotations

import html
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

import annotator.demo
from annotator.core.tables.faults import FileRefused
from annotator.hit_types.base import FieldErrors
from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Judgment, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.exports import judgments_export
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from annotator.services.participation import participation_join
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse, take_steps
from annotator.services.study import study_create, study_launch
from annotator.services.submit_and_next import turn_take
from tests.factories import make_rater, record_judgment

ROWS = (Path(annotator.demo.__path__[0]) / "generalization_utility.jsonl").read_text().splitlines()
FIELDS = [{"before", "after", "follow_up_after"}, {"follow_up_before", "follow_up_after"}]


@pytest.fixture
def study(researcher: User) -> Study:
    rows = []
    for line in ROWS[:8]:
        row = {**json.loads(line), "arms": ["figure_11", "follow_up_only"]}
        row["gold"] = {"follow_up_after": row["gold"]["follow_up_after"]}
        rows.append(json.dumps(row))
    study = study_create(
        by=researcher,
        hit_type="generalization_utility",
        slug="arms",
        title="Arms",
        one_condition_per_instance=False,
    )
    material_import(study=study, file=io.BytesIO("\n".join(rows).encode()), name="arms.jsonl")
    study_launch(study=study, by=researcher)
    study.refresh_from_db()
    return study


@pytest.mark.django_db
def test_every_judgment_has_the_fields_of_its_arm(study: Study) -> None:
    raters = rehearsal_raters(study=study, count=4, accuracy=0.8, spread=0.05, seed=3)
    assert rehearse(study=study, raters=raters, seed=3) == 8 * 4
    drawn = set()
    for judgment in Judgment.objects.select_related("assignment", "item"):
        assert judgment.assignment
        arm = judgment.assignment.presentation["arm"]
        drawn.add(arm)
        assert set(judgment.response) == FIELDS[arm]
        kind = hit_type_get(study.hit_type)
        assert len(kind.to_ratings(judgment.item.payload, judgment.response)) == len(FIELDS[arm])
        assert len(kind.describe(judgment.item.payload, judgment.response)) == len(FIELDS[arm])
    assert drawn == {0, 1}


@pytest.mark.django_db
def test_the_arms_of_every_item_differ_by_at_most_one_and_exports_name_them(study: Study) -> None:
    raters = rehearsal_raters(study=study, count=6, accuracy=0.8, spread=0.05, seed=4)
    rehearse(study=study, raters=raters, seed=4)
    rows = [
        json.loads(line)
        for line in b"".join(
            judgments_export(study=study, format="jsonl", filters={"rehearsal": "both"})
        ).splitlines()
    ]
    assert len(rows) == 8 * 5
    arms = Counter((row["item"], row["presentation"]["arm"]) for row in rows)
    assert len(arms) == 16
    assert set(arms.values()) == {2, 3}
    assert sum(n for (_, arm), n in arms.items() if arm == 0) == 20, "over all items, exactly half"
    assert b'""arm"": 1' in b"".join(
        judgments_export(study=study, format="csv", filters={"rehearsal": "both"})
    )


@pytest.mark.django_db
def test_an_imported_judgment_is_read_with_its_arm(study: Study) -> None:
    item, rater = study.items.first(), make_rater("somebody")
    assert item
    response = {"follow_up_before": "yes", "follow_up_after": "no"}
    with pytest.raises(FieldErrors):
        record_judgment(item, rater, response)
    assert record_judgment(item, rater, response, presentation={"arm": 1}).response == response


@pytest.mark.django_db
def test_a_page_shows_its_own_arm_and_the_previous_answer(study: Study, client: Client) -> None:
    user = User.objects.create_user("ada")
    participation = participation_join(study=study, user=user)
    take_steps(participation)
    assignment = assignment_next(participation=participation)
    assert assignment
    Assignment.objects.filter(pk=assignment.pk).update(presentation={"arm": 1})
    payload = assignment.item.payload
    client.force_login(user)
    first = html.unescape(client.get(reverse("annotator:tasks", args=[study.slug])).content.decode())
    assert payload["follow_up"] in first
    assert payload["question"] not in first
    assert payload["rationale"] not in first
    turn_take(user_id=user.pk, assignment_pk=assignment.pk, stage=0, raw={"follow_up_before": "yes"})
    second = html.unescape(client.get(reverse("annotator:tasks", args=[study.slug])).content.decode())
    assert payload["question"] in second
    assert payload["rationale"] in second
    assert "What is the answer to the follow-up question?" in second, "the answer before, as a quiet line"


@pytest.mark.django_db
def test_the_arm_of_an_imported_judgment_is_inferred_from_its_fields(study: Study) -> None:
    keys = list(study.items.order_by("id").values_list("key", flat=True)[:2])
    columns = JudgmentColumns(
        item="item", rater="rater",
        values=tuple(ValueColumn(name) for name in ("before", "after", "follow_up_before", "follow_up_after")),
    )  # fmt: skip
    head = "item,rater,before,after,follow_up_before,follow_up_after\n"

    def take(*rows: str) -> None:
        text = head + "".join(rows)
        judgments_import(study=study, file=io.BytesIO(text.encode()), name="j.csv", columns=columns)

    take(f"{keys[0]},w1,yes,no,,yes\n", f"{keys[1]},w1,,,no,yes\n")
    found = [
        set(response) for response in study.judgments.order_by("item_id").values_list("response", flat=True)
    ]
    assert found == FIELDS
    with pytest.raises(FileRefused) as refused:
        take(f"{keys[0]},w2,yes,,no,\n")
    assert {fault.field for fault in refused.value.faults} == {"after", "follow_up_after"}

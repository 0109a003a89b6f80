"""Participants are told when the instructions changed, and each judgment keeps which ones its rater had read."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.test import Client

from annotator.hit_types.registry import hit_type_get
from annotator.models import Judgment, Participation, Study
from annotator.selectors.instructions import instructions_changed, passages_changed
from annotator.services.assignment import assignment_next
from annotator.services.exports import judgments_export
from annotator.services.participation import participation_join
from annotator.services.study import study_update
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
FIRST = "## Your task\n\nGuess the answer.\n\nTake your time."
SECOND = "## Your task\n\nGuess the **robot's** answer.\n\nTake your time."
NOTICE = "The instructions have changed since you read them."


def worker(**fields: object) -> tuple[Study, Participation, Client]:
    study = make_study(items=6, launched=True, instructions_text=FIRST, **fields)
    participation = make_participation(study)
    client = Client()
    client.force_login(participation.rater.user)
    return study, participation, client


def answer(client: Client, participation: Participation) -> str:
    """Submit the task in hand as the page does; returns what the response shows."""
    participation = Participation.objects.select_related("study").get(pk=participation.pk)
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    reply = client.post(
        f"/task/{assignment.pk}/", {"helpful": "no", "stage": "0"}, headers={"HX-Request": "true"}
    )
    assert reply.status_code == 200
    return reply.content.decode()


def seen() -> list[tuple[int, int | None]]:
    rows = Judgment.objects.order_by("id").values_list("snapshot__number", "instructions_seen__number")
    return list(rows)


def test_the_next_task_shows_the_changes_until_they_are_confirmed() -> None:
    study, participation, client = worker()
    task = f"/study/{study.slug}/task/"
    assert NOTICE not in client.get(task).content.decode()
    study_update(study=study, instructions_text=SECOND)
    page = answer(client, participation)
    assert NOTICE in page
    assert '<del dir="auto"><p>Guess the answer.</p>' in page
    assert '<ins dir="auto"><p>Guess the <strong>robot\'s</strong> answer.</p>' in page.replace("&#x27;", "'")
    assert "Take your time" not in page, "only what changed is shown"
    assert f'href="/study/{study.slug}/instructions/drawer/"' in page
    assert NOTICE in client.get(task).content.decode()
    reply = client.post(f"/study/{study.slug}/instructions/confirm/", {"version": "2"})
    assert reply.headers["Location"] == task
    assert NOTICE not in client.get(task).content.decode()


def test_with_htmx_confirming_removes_the_notice_and_keeps_the_answer() -> None:
    study, participation, client = worker()
    study_update(study=study, instructions_text=SECOND)
    reply = client.post(
        f"/study/{study.slug}/instructions/confirm/", {"version": "2"}, headers={"HX-Request": "true"}
    )
    assert (reply.status_code, reply.content) == (200, b"")
    participation.refresh_from_db()
    assert participation.instructions_seen is not None
    assert participation.instructions_seen.number == 2


def test_each_judgment_refers_to_the_instructions_its_rater_had_read() -> None:
    study, participation, client = worker()
    answer(client, participation)  # the second task is given out too, under version 1
    study_update(study=study, instructions_text=SECOND)
    answer(client, participation)
    answer(client, participation)  # under version 2, without having read it
    client.post(f"/study/{study.slug}/instructions/confirm/", {"version": "2"})
    answer(client, participation)
    assert seen() == [(1, 1), (1, 1), (2, 1), (2, 2)]
    table = b"".join(judgments_export(study=study)).decode()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["instructions_version"] for row in rows] == ["1", "1", "1", "2"]
    ratings = b"".join(judgments_export(study=study, form="ratings")).decode()
    assert "instructions_version" in ratings.splitlines()[0]


def test_other_changes_are_not_announced() -> None:
    study, participation, client = worker()
    study_update(study=study, summary="Another summary.")
    page = answer(client, participation)
    answer(client, participation)
    assert NOTICE not in page
    assert seen() == [(2, 2), (2, 2)], "the instructions of version 2 are those that they read"


def test_a_reverted_change_is_not_announced() -> None:
    study, participation, _ = worker()
    study_update(study=study, instructions_text=SECOND)
    study_update(study=study, instructions_text=FIRST)
    assert (
        instructions_changed(Participation.objects.select_related("study").get(pk=participation.pk)) is None
    )


@pytest.mark.parametrize("sent", ["1", "99", "", "two", "9" * 30])
def test_a_page_opened_before_the_change_does_not_confirm_it(sent: str) -> None:
    study, participation, client = worker()
    study_update(study=study, instructions_text=SECOND)
    client.post(f"/study/{study.slug}/instructions/confirm/", {"version": sent})
    participation.refresh_from_db()
    assert participation.instructions_seen is not None
    assert participation.instructions_seen.number == 1


def test_people_who_join_later_read_the_new_instructions() -> None:
    study, _, _ = worker()
    study_update(study=study, instructions_text=SECOND)
    study.refresh_from_db()
    later = make_participation(study)
    assert later.instructions_seen is not None
    assert later.instructions_seen.number == 2


def test_a_change_while_the_instructions_are_read_is_announced() -> None:
    study = make_study(items=2, launched=True, instructions_text=FIRST)
    participation = make_participation(study)
    Participation.objects.filter(pk=participation.pk).update(instructions_at=None, instructions_seen=None)
    client = Client()
    client.force_login(participation.rater.user)
    page = client.get(f"/study/{study.slug}/instructions/").content.decode()
    assert '<input type="hidden" name="version" value="1">' in page
    study_update(study=study, instructions_text=SECOND)
    client.post(f"/study/{study.slug}/instructions/", {"version": "1"})
    assert NOTICE in client.get(f"/study/{study.slug}/task/").content.decode()


def test_confirming_does_not_skip_the_instructions() -> None:
    study = make_study(items=2, launched=True, instructions_text=FIRST)
    participation = participation_join(study=study, user=make_user())
    client = Client()
    client.force_login(participation.rater.user)
    client.post(f"/study/{study.slug}/instructions/confirm/", {"version": "1"})
    reply = client.get(f"/study/{study.slug}/")
    assert reply.headers["Location"] == f"/study/{study.slug}/instructions/"


def test_worked_examples_are_compared_as_a_whole() -> None:
    def example(title: str, reasoning: str) -> str:
        payload = {"question": "q", "explanation": "e", "answer": "yes", "follow_up": "f"}
        content = {
            "title": title, "payload": payload, "response": {"helpful": "no"}, "reasoning": reasoning
        }  # fmt: skip
        return f"```example\n{json.dumps(content)}\n```\n"

    before = f"Do this.\n\n{example('Birds', 'So.')}\n{example('Fish', 'So.')}"
    after = f"Do this.\n\n{example('Fish', 'So.')}\n{example('Ants', 'Thus.')}"
    found = passages_changed(hit_type_get("simulation"), before=before, after=after)
    assert [(one.new, one.example) for one in found] == [(False, "Birds"), (True, "Ants")]

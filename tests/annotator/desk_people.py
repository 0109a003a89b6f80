"""People of a review desk, made directly: careful ones, and one for each kind of sign."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotator.core.canonical import digest_of
from annotator.models import Assignment, Item, Judgment, Participation, Place, Rater, Study, User
from tests.factories import make_item

YES, NO = {"helpful": "yes", "answer": "yes"}, {"helpful": "yes", "answer": "no"}


def people_make(study: Study, names: list[str], **about: Any) -> list[Participation]:
    """Participants who have finished, in a fixed number of statements."""
    users = User.objects.bulk_create(User(username=name, password="!") for name in names)
    raters = Rater.objects.bulk_create(
        Rater(kind="human", source="web", name=user.username, user=user) for user in users
    )
    now = timezone.now()
    made = Participation.objects.bulk_create(
        Participation(study=study, rater=rater, finished_at=now, **about) for rater in raters
    )
    Participation.objects.filter(pk__in=[one.pk for one in made]).update(
        joined_at=now - timedelta(minutes=20)
    )
    return made


def work_make(study: Study, people: list[Participation], given: Any) -> None:
    """Judgments of these people on every item, made directly: ``given(person's number, item) -> (response, seconds, signals)``."""
    items, now = list(study.items.order_by("id")), timezone.now()
    first = 1000 + study.judgments.count()
    tasks = [
        (number, item, Assignment(
            participation=one, item=item, rater_id=one.rater_id, state="submitted", leased_at=now, lease_until=now, stage_opened_at=now,
            closed_at=now, snapshot=study.snapshot,
        ))
        for number, one in enumerate(people) for item in items
    ]  # fmt: skip
    Assignment.objects.bulk_create(task for _, _, task in tasks)
    places = Place.objects.bulk_create(
        Place(study=study, item=item, number=first + number, position=0, assignment=task)
        for number, item, task in tasks
    )
    rows = []
    for (number, item, task), place in zip(tasks, places, strict=True):
        response, seconds, signals = given(number, item)
        rows.append(
            Judgment(
                study=study, item=item, rater_id=task.rater_id, snapshot=study.snapshot, assignment=task, place=place, response=response,
                digest=digest_of(response), seconds=seconds, signals=signals, source="web",
            )
        )  # fmt: skip
    Judgment.objects.bulk_create(rows)


def item_answer(item: Item) -> dict[str, str]:
    """What careful people answer: yes and no in turn, and the right answer where there is one."""
    return dict(item.gold) if item.gold else YES if int(item.key.rsplit("-", 1)[-1]) % 2 else NO


def items_make(study: Study) -> None:
    """Ten ordinary items, of which two are the same as two others; two gold items and two attention checks."""
    for number in range(10):
        same = number - 2 if number in (8, 9) else number
        make_item(study, key=f"plain-{number}", payload={
            "question": f"Q{same}?", "explanation": "E.", "answer": "yes", "follow_up": f"F{same}?",
        })  # fmt: skip
    for role in ("gold", "attention"):
        for number in range(2):
            make_item(study, key=f"{role}-{number}", role=role, gold=YES)

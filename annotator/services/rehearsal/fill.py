"""Fill a rehearsal: synthetic raters take every step that participants take, through the same services."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from annotator.core.canonical import text_digest
from annotator.hit_types.arms import arm_of, explained_key
from annotator.hit_types.base import JSON
from annotator.models import Assignment, ExamQuestion, Judgment, Participation, Rater, Study, User
from annotator.selectors.participation import participation_step
from annotator.selectors.questionnaire import (
    AFTER,
    BEFORE,
    questionnaire_due,
    questionnaire_text,
    questionnaires_of,
)
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.services.assignment import assignment_next
from annotator.services.exam import exam_start, exam_submit, qualification_grant
from annotator.services.participation import (
    consent_give,
    instructions_finish,
    participation_finish,
    participation_join,
    practice_advance,
    practice_answer,
)
from annotator.services.questionnaire import questionnaire_submit
from annotator.services.rehearsal.answers import accuracies, rehearsal_answer
from annotator.services.rehearsal.places import rehearsal_prepare
from annotator.services.submit_and_next import turn_take

#: A task whose lease ends sooner is asked for again: it could be lost before it is answered.
_SAFE = timedelta(minutes=1)


@dataclass(frozen=True)
class RehearsalRater:
    """A synthetic annotator: its account and its accuracy."""

    user: User
    accuracy: float
    #: Empty unless the rater logs in.
    password: str = ""


def rehearsal_raters(
    *, study: Study, count: int, accuracy: float, spread: float, seed: int, log_in: bool = False
) -> list[RehearsalRater]:
    """Create the synthetic raters of a study, marked as such; called again, it finds the same ones.

    With ``log_in`` each gets a new password. Otherwise nobody can log in as one of them, and no time is spent on hashes.
    """
    rng = Random(f"rehearsal {seed}")
    raters = []
    for number, share in enumerate(accuracies(count, mean=accuracy, spread=spread, rng=rng), 1):
        username = f"rehearsal-{study.slug[:60]}-{number:03d}"
        password = secrets.token_urlsafe(12) if log_in else ""
        with transaction.atomic():
            user, _ = User.objects.get_or_create(
                username=username, defaults={"password": make_password(None)}
            )
            if password:
                user.set_password(password)
                user.save(update_fields=["password"])
            synthetic, _ = Rater.objects.get_or_create(
                user=user, defaults={"kind": "human", "source": "login", "name": username, "rehearsal": True}
            )
            for wanted in study.requires:
                name = wanted.partition("@")[0]
                qualification_grant(
                    rater=synthetic, hit_type=name, workspace=study.workspace, by=None, reason="rehearsal"
                )
        raters.append(RehearsalRater(user, share, password))
    return raters


def rehearse(
    *,
    study: Study,
    raters: list[RehearsalRater],
    seed: int,
    most: int | None = None,
    each: Callable[[], None] | None = None,
) -> int:
    """Have the raters fill the places of the study's rehearsal in turn; returns how many judgments they made. ``most``
    limits the judgments of this call; ``each`` is called after every judgment. Participants' places are never used.
    """
    study = rehearsal_prepare(study=study)
    total = 0
    queue = deque[tuple[Participation, RehearsalRater, Random, Assignment | None]]()
    for number, rater in enumerate(raters):
        participation = participation_join(study=study, user=rater.user)
        take_steps(participation)
        queue.append((participation, rater, Random(f"rehearsal {seed} {number}"), None))
    while queue and (most is None or total < most):
        participation, rater, rng, assignment = queue.popleft()
        if assignment is None or assignment.lease_until < timezone.now() + _SAFE:
            participation.refresh_from_db()
            assignment = assignment_next(participation=participation)
        if assignment is None:
            participation_finish(participation=participation)
            if questionnaire_due(participation, AFTER):
                answers = _made_up(participation, AFTER)
                questionnaire_submit(participation=participation, moment=AFTER, raw=answers)
            continue
        given = play(assignment, rater, rng)
        total += 1
        queue.append((participation, rater, rng, given))
        if each:
            each()
    return total


def take_steps(participation: Participation) -> None:
    """Consent, instructions, practice and exam, answered correctly: a rehearsal is about the tasks."""
    rules = snapshot_content(participation.study.snapshot_id)
    while True:
        step = participation_step(participation)
        if step == "consent":
            consent_give(participation=participation, digest=text_digest(rules["consent_text"]))
        elif step == "instructions":
            instructions_finish(participation=participation)
        elif step == "practice":
            for number in range(participation.practice_done, len(rules["practice"])):
                practice_answer(participation=participation, number=number)
                practice_advance(participation=participation, number=number)
            participation.refresh_from_db(fields=["practice_done", "practice_answered"])
        elif step == "exam":
            attempt = exam_start(participation=participation)
            exam_submit(attempt=attempt, answers=right_answers(participation, attempt.drawn))
        elif step == "questionnaire":
            questionnaire_submit(
                participation=participation, moment=BEFORE, raw=_made_up(participation, BEFORE)
            )
        else:
            return


def _made_up(participation: Participation, moment: str) -> JSON:
    """Any answers to the questionnaires of a moment, under the names of their form's fields."""
    from annotator.hit_types.declaration.questionnaire import prefix_of

    raw: JSON = {}
    for number, one in enumerate(questionnaires_of(questionnaire_text(participation, moment))):
        whose = f"{one.name} {participation.pk}"
        answer = rehearsal_answer(one.stage, gold=None, item_key=whose, accuracy=1.0, rng=Random(whose))
        raw |= {f"{prefix_of(number)}{name}": value for name, value in answer.items()}
    return raw


def right_answers(participation: Participation, drawn: list[str]) -> dict[str, JSON]:
    """The correct response to each drawn exam question; fields that gold leaves out get any answer."""
    return exam_answers(participation, drawn, accuracy=1.0)


def exam_answers(participation: Participation, drawn: list[str], *, accuracy: float) -> dict[str, JSON]:
    """The response to each drawn exam question of somebody who knows it with this probability: with 0, all are wrong."""
    kind = study_hit_type(participation.study)
    rules = snapshot_content(participation.study.snapshot_id)
    answers = {}
    for row in ExamQuestion.objects.filter(exam_id=rules["exam"], key__in=drawn):
        stage = kind.question_stage(row.payload, row.gold)
        answers[row.key] = rehearsal_answer(
            stage, gold=row.gold, item_key=row.key, accuracy=accuracy, rng=Random(0)
        )
    return answers


def play(assignment: Assignment, rater: RehearsalRater, rng: Random) -> Assignment | None:
    """Answer every stage of one task; returns the task that the last answer was given for, if there is one."""
    item, given = assignment.item, None
    stages = study_hit_type(assignment.participation.study).stages(item.payload, assignment.presentation)
    for number in range(assignment.stage, len(stages)):
        raw = rehearsal_answer(
            stages[number],
            gold=item.gold,
            item_key=explained_key(item.key, arm_of(item.payload)),  # the same right answer in every arm
            accuracy=rater.accuracy,
            rng=rng,
        )
        turn = turn_take(user_id=rater.user.pk, assignment_pk=assignment.pk, stage=number, raw=raw)
        given = turn.assignment
    return given


def rehearsal_spread_times(*, study: Study, seed: int, days: float = 3.0) -> None:
    """Give a rehearsal's judgments plausible times: lognormal durations, spread over the last ``days``."""
    rng = Random(f"times {seed}")
    judgments = list(Judgment.objects.filter(study=study, source="rehearsal").order_by("id"))
    start = timezone.now() - timedelta(days=days)
    for number, judgment in enumerate(judgments):
        judgment.seconds = round(rng.lognormvariate(3.3, 0.5), 1)
        judgment.created_at = start + timedelta(days=days * (number + rng.random()) / max(len(judgments), 1))
    Judgment.objects.bulk_update(judgments, ["seconds", "created_at"], batch_size=1000)

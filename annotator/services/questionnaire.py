"""Store what somebody answers in a study's questionnaires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from annotator.core.errors import Refused
from annotator.hit_types.base import JSON
from annotator.models import Participation, QuestionnaireAnswer
from annotator.selectors.questionnaire import (
    questionnaire_due,
    questionnaire_text,
    questionnaires_of,
)


@transaction.atomic
def questionnaire_submit(
    *, participation: Participation, moment: str, raw: Mapping[str, Any], skipped: bool = False
) -> QuestionnaireAnswer:
    """Store a person's answers, or, with ``skipped``, that they gave none. The first answers stay: sent again, they are returned.

    Raises ``FieldErrors`` by the names of the form's fields, and ``Refused`` (not_now) if nothing is asked at this moment. Pay and
    codes don't depend on it.
    """
    from annotator.hit_types.declaration.questionnaire import questionnaires_answers, questionnaires_version

    Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
    known = QuestionnaireAnswer.objects.filter(participation=participation, moment=moment).first()
    if known is not None:
        return known
    if not questionnaire_due(participation, moment):
        raise Refused("not_now", gettext("There is nothing to answer at the moment."))
    text = questionnaire_text(participation, moment)
    answers: dict[str, JSON] = {}
    values: dict[str, str] = {}
    if not skipped:
        answers, values = questionnaires_answers(questionnaires_of(text), raw)
    return QuestionnaireAnswer.objects.create(
        participation=participation,
        moment=moment,
        version=questionnaires_version(text),
        snapshot_id=participation.study.snapshot_id,
        response=answers,
        attributes={f"{moment}.{name}": value for name, value in values.items()},
    )

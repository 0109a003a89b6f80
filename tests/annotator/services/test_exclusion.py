from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from annotator.models import Exclusion, User
from annotator.services.exclusion import exclusion_lift, exclusion_make
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def test_each_kind_of_exclusion_can_be_created_lifted_and_created_again(
    researcher: User, simulation: str
) -> None:
    study = make_study(by=researcher, hit_type=simulation)
    judgment = make_judgment(make_item(study), make_rater("ann"))
    for target in ({"rater": judgment.rater}, {"item": judgment.item}, {"judgment": judgment}):
        made = exclusion_make(study=study, by=researcher, reason=" Too fast. ", **target)
        assert (made.reason, made.created_by, made.lifted_at) == ("Too fast.", researcher, None)
        with pytest.raises(ValidationError, match="already excluded"):
            exclusion_make(study=study, by=researcher, reason="Again", **target)
        lifted = exclusion_lift(exclusion=made)
        assert exclusion_lift(exclusion=made).lifted_at == lifted.lifted_at
        exclusion_make(study=study, by=researcher, reason="After all", **target)
    assert Exclusion.objects.count() == 6


def test_invalid_exclusions_are_refused_by_the_service(researcher: User) -> None:
    study, other = make_study(), make_study()
    mine = make_judgment(make_item(study), make_rater("ann"))
    theirs = make_judgment(make_item(other), make_rater("bob"))
    refused = [
        ({"judgment": theirs, "reason": "x"}, "does not belong to this study"),
        ({"item": theirs.item, "reason": "x"}, "does not belong to this study"),
        ({"rater": theirs.rater, "reason": "x"}, "has not taken part in this study"),
        ({"rater": mine.rater, "reason": "  "}, "Give a reason"),
        ({"reason": "x"}, "exactly one"),
        ({"rater": mine.rater, "item": mine.item, "reason": "x"}, "exactly one"),
    ]
    for arguments, message in refused:
        with pytest.raises(ValidationError, match=message):
            exclusion_make(study=study, by=researcher, **arguments)
    assert not Exclusion.objects.exists()

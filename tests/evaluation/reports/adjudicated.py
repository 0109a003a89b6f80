"""A study whose contested items two people have adjudicated."""

from __future__ import annotations

from annotator.models import Membership, Study
from annotator.services.adjudication import adjudication_record
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user


def adjudicated_study(*, items: int = 12) -> Study:
    """Items that ann says yes and ben says no to; two people decide yes on all but the last, which stays a tie."""
    boss = make_user("rosa.privat", staff=True)
    study = make_study(by=boss, title="Owls")
    other = make_user("otto.privat", staff=True)
    Membership.objects.create(study=study, user=other, role="reviewer")
    for number in range(items):
        item = make_item(study, key=f"i{number}")
        make_judgment(item, make_rater("ann"), "yes")
        make_judgment(item, make_rater("ben"), "no")
        last = number == items - 1
        adjudication_record(item=item, by=boss, raw={"helpful": "yes", "answer": "yes"})
        adjudication_record(item=item, by=other, raw={"helpful": "yes", "answer": "no" if last else "yes"})
    return study

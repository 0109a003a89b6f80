"""Give out work only as far as a study's cap allows, one transaction at a time."""

from __future__ import annotations

from decimal import Decimal

from annotator.core.jobs import lock_wait_briefly
from annotator.models import Assignment, Study
from annotator.selectors.budget import budget_of, is_reserved
from annotator.selectors.snapshot import snapshot_content


def budget_admits(*, study: Study, pay: Decimal, instead_of: Assignment | None = None) -> bool:
    """Whether work with this pay (in the study's currency) can be given out under the study's cap, inside a transaction.

    Whoever gives out work of a capped study waits here until the others have committed theirs, so the cap isn't passed by two at once. A
    study without a cap takes no lock and no query. ``instead_of`` is an open task that the work replaces: what is reserved for it doesn't
    count twice.
    """
    if study.budget_cap is None or pay <= 0:
        return True
    lock_wait_briefly("budget of", study.pk)
    held = Decimal(0)
    if instead_of is not None and is_reserved(instead_of):
        held = pay_for_item(study, instead_of.snapshot_id)
    return budget_of(study).admits(pay - held)


def pay_for_item(study: Study, snapshot: int | None) -> Decimal:
    """The pay for an item in a version of the study; from before versions were kept with tasks, the current pay."""
    return Decimal(str(snapshot_content(snapshot)["pay_per_item"])) if snapshot else study.pay_per_item

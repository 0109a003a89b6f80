"""What a page says when somebody's work has ended: their code, what it means for the pay, and the way back to the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.formats import number_format
from django.utils.translation import gettext

from annotator.models import Participation, Study
from annotator.recruitment.identity import PanelIdentity
from annotator.recruitment.panel import COMPLETED, DECLINED, PARTLY, CompletionCode
from annotator.recruitment.registry import panel_get
from annotator.recruitment.return_addresses import return_address
from annotator.selectors.exits import exit_of
from annotator.selectors.participation import Earnings, earnings_in

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


def exit_shown(participation: Participation, earnings: Earnings | None = None) -> dict[str, Any]:
    """What ``annotator/_exit.html`` and ``_return.html`` need; empty while the person can continue.

    ``ending`` is the exit itself, for pages that word it.
    """
    earnings = earnings or earnings_in(participation)
    ending = exit_of(participation, done=earnings.done)
    if ending is not None:
        return exit_context(participation, ending, earnings)
    return (
        {"exit_pay": exit_pay(DECLINED, earnings, participation.study)} if participation.panel_ended else {}
    )


def exit_context(
    participation: Participation, ending: CompletionCode, earnings: Earnings | None = None
) -> dict[str, Any]:
    """The same for an exit that the page knows."""
    earnings = earnings or earnings_in(participation)
    study = participation.study
    panel = panel_get(participation.recruiter) if participation.panel_ended and ending == PARTLY else None
    return {
        "ending": ending,
        "exit_code": getattr(study, ending.field) if ending != COMPLETED or earnings.earned_something else "",
        "exit_pay": panel.ended_pay(participation.panel_status)
        if panel
        else exit_pay(ending, earnings, study),
    } | way_back(study, ending, participation)


def exit_pay(ending: CompletionCode, earnings: Earnings, study: Study) -> str:
    """One sentence on what an exit means for the pay."""
    amount = f"{number_format(earnings.total, 2)} {study.currency}" if earnings.total else ""
    if ending == COMPLETED:
        if amount:
            return gettext("You've earned {amount}. You get it once the researchers have checked your work.").format(amount=amount)  # fmt: skip
        return gettext("You did all your tasks. Any pay for them is as the invitation says.")
    if earnings.done:
        if amount:
            return gettext("You've earned {amount} for what you submitted. Stopping doesn't reduce it.").format(amount=amount)  # fmt: skip
        return gettext("What you submitted counts. Any pay for it is as the invitation says.")
    if amount:
        return gettext("You've earned {amount}. You submitted no tasks, so there is no pay for tasks.").format(amount=amount)  # fmt: skip
    return gettext("You submitted no tasks, so there is no pay for tasks.")


def way_back(
    study: Study, ending: CompletionCode, person: Participation | PanelIdentity | None
) -> dict[str, StrOrPromise]:
    """What ``annotator/_return.html`` needs to send somebody back to their panel; nothing for people who didn't come from
    one. Only pages on which somebody's work has ended use it.
    """
    if isinstance(person, Participation):
        person = PanelIdentity(person.recruiter, person.recruiter_id, person.recruiter_session, "")
    panel = panel_get(person.panel) if person is not None else None
    if panel is None or person is None:
        return {}
    code = getattr(study, ending.field)
    if panel.returns_by_setting:
        completed = ending == COMPLETED
        url = return_address(study.panel_return, code=code, person=person.person, completed=completed)
    else:
        url = panel.return_url(ending, code=code, identity=person)
    return {"return_url": url, "return_label": panel.return_label}

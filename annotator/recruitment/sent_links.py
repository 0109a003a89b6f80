"""Links that people were sent, by mail or in class: what their pages say, since they know no panel by a name."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from annotator.core.errors import Trouble
from annotator.recruitment.panel import Panel

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


class SentLinks(Panel):
    """What such panels share: a link can be opened again, on any device, and belongs to one study."""

    named = False
    links_once = False
    ids_shared = False
    returns_by_setting = True
    codes = ()

    @cached_property
    def return_label(self) -> StrOrPromise:
        return _("Confirm that you're done")

    @cached_property
    def site_label(self) -> StrOrPromise:
        return _("Go back")

    @cached_property
    def troubles(self) -> dict[str, Trouble]:
        kept = _("Anything you have submitted is saved.")
        again = _(
            "Open the link that you were sent again. If that doesn't help, ask the researchers for a new one."
        )
        return {
            "panel_needed": Trouble(
                _("Open this study with the link you were sent"),
                _("Everybody who takes part in this study has a link of their own."),
                _("You haven't started, so nothing is lost."),
                again,
                403,
            ),
            "panel_link": Trouble(
                _("We couldn't check your link"),
                _("The link is incomplete or was changed."),
                kept,
                _("Copy the whole link from the message and open it again. If that doesn't help, ask the researchers for a new one."),
                403,
            ),
            "panel_known": Trouble(
                _("This study was started in another browser"),
                _("Somebody with this id already started this study in another browser."),
                kept,
                _("Continue in the browser where you started. If you can't, write to the researchers."),
                403,
            ),
            "panel_account": Trouble(
                _("Log in to continue"),
                _("You started this study with an account, so the link alone isn't enough."),
                kept,
                _("Log in, then open the link that you were sent again."),
                403,
            ),
            "panel_down": Trouble(
                _("We can't check your link at the moment"),
                _("Something that is needed for it didn't respond."),
                kept,
                _("Reload this page in a few minutes."),
                503,
            ),
            "panel_ended": Trouble(
                _("Your participation has ended"),
                _("The researchers have ended it. A task you had open goes to someone else."),
                _("Everything you submitted is saved."),
                _("If this is a mistake, write to the researchers."),
            ),
        }  # fmt: skip

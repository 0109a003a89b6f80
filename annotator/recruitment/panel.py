"""The contract of a recruitment panel: what its links and webhooks say, how people return to it, and its words.

A panel is one file in ``panels/`` (docs/add-a-panel.md). Most of the contract is declared; only signed links, webhooks
and payment files need code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotator.core.errors import Refused, Trouble
from annotator.recruitment.api import PanelApi, PanelApiError
from annotator.recruitment.identity import LinkRefused, PanelIdentity
from annotator.recruitment.review_rules import ReviewRules
from annotator.recruitment.webhooks import Webhook, WebhookRefused

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


@dataclass(frozen=True)
class OpenedLink:
    """A link that somebody has opened: its parameters, and the ``host`` and ``path`` of the page. ``studies`` are the
    panel's studies that recruit for this one; ``signed`` is whether only signed links are accepted. ``secret`` is the one that the
    study shares with its panel; empty if none is set.
    """

    parameters: Mapping[str, str]
    host: str
    path: str
    studies: frozenset[str]
    signed: bool
    secret: str = field(default="", repr=False)


@dataclass(frozen=True)
class CompletionCode:
    """A code with which people return to the panel: the study's ``field`` that holds it, its ``label``, and who can't
    return without it."""

    field: str
    label: str
    missing: str


COMPLETED = CompletionCode(
    "completion_code", "Code for completing", "people can't return to {panel} when they have finished"
)
SCREENED_OUT = CompletionCode(
    "screened_out_code", "Code for failing the exam", "people who fail the exam can't return to {panel}"
)
NOTHING_LEFT = CompletionCode("nothing_left_code", "Code for finding no task", "people who find no task can't return to {panel}")  # fmt: skip
PARTLY = CompletionCode(
    "partly_code", "Code for doing some of the tasks", "people who stop after some of the tasks can't return to {panel}"
)  # fmt: skip
DECLINED = CompletionCode(
    "declined_code",
    "Code for declining",
    "people who decline, or stop before their first task, can't return to {panel}",
)
STOPPED = CompletionCode(
    "stopped_code", "Code for a paused or closed study", "people who find the study paused or closed can't return to {panel}"
)  # fmt: skip
#: Every way in which a participation ends.
EXITS = (COMPLETED, PARTLY, DECLINED, SCREENED_OUT, NOTHING_LEFT, STOPPED)


class Panel:
    """A recruitment panel. ``name`` is the name of its file; it is stored with studies and participants.

    Pages and forms put ``title`` into all sentences below, so a panel only overrides those that don't fit it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    #: False for the panel of a study whose package is no longer installed.
    installed: ClassVar[bool] = True
    #: Where participants find their studies; empty if there is no such page.
    site: str = ""

    # -- links -----------------------------------------------------------------------------------------

    #: The parameters of a study's link, in order, with what the panel replaces by the value.
    parameters: ClassVar[Mapping[str, str]] = {}
    #: Whether the panel adds them to the study's address by itself, so that researchers enter the bare address.
    adds_parameters: ClassVar[bool] = False
    #: Which of them name the participant, this attempt of theirs and the panel's study; empty for one that it doesn't have.
    person: ClassVar[str] = ""
    submission: ClassVar[str] = ""
    panel_study: ClassVar[str] = ""
    #: The parameter of signed links that holds the signature. Empty: the panel doesn't sign its links.
    token: ClassVar[str] = ""
    #: Whether a signed link works in one browser. A link that people keep, such as one in a mail, brings them back from any.
    links_once: ClassVar[bool] = True
    #: Whether an id means the same person in every study of a workspace. Not if each study has a secret of its own.
    ids_shared: ClassVar[bool] = True
    #: Whether links are signed with a secret that the study shares with the panel, entered on *Settings > Recruitment*.
    shared_secret: ClassVar[bool] = False
    #: Whether people must be on the study's list of personal links.
    listed: ClassVar[bool] = False
    #: What an id looks like.
    id_pattern: ClassVar[str] = r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}"
    #: Ids by which texts give a participant away, as regular expressions by name. They are removed from what is published.
    identifiers: ClassVar[Mapping[str, str]] = {}

    def link(self, address: str) -> str:
        """What researchers enter at the panel as the study's link."""
        parameters = "&".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{address}?{parameters}" if parameters and not self.adds_parameters else address

    def is_link(self, link: OpenedLink) -> bool:
        """Whether a link comes from the panel at all, valid or not."""
        return self.token in link.parameters or (not link.signed and self.person in link.parameters)

    def digest(self, link: OpenedLink) -> str:
        """The SHA-256 of the link's token."""
        return hashlib.sha256(link.parameters.get(self.token, "").encode()).hexdigest()

    def identify(self, link: OpenedLink) -> PanelIdentity:
        """The participant whom a link names. An unsigned one could have been written by anybody.

        Raises ``LinkRefused``, and ``PanelUnavailable`` if the link can't be checked now.
        """
        if not link.signed:
            return self._identity(link.parameters, link)
        ids, expires = self.verify(link.parameters.get(self.token, ""), link)
        identity = replace(self._identity(ids, link), verified=True)
        return (
            replace(identity, digest=self.digest(link), expires_at=expires) if self.links_once else identity
        )

    def verify(self, token: str, link: OpenedLink) -> tuple[Any, datetime]:
        """The signed ids by the names of their parameters, and when the link expires, once its signature, audience and
        expiry have been checked. Raises as ``identify`` does."""
        raise LinkRefused(f"{self.title} doesn't sign its links")

    def _identity(self, ids: Any, link: OpenedLink) -> PanelIdentity:
        if not isinstance(ids, Mapping):
            raise LinkRefused("it has no ids")
        own: dict[str, Any] = {name: ids.get(name) for name in self.parameters}
        for name, value in own.items():
            if not isinstance(value, str) or not re.fullmatch(self.id_pattern, value):
                raise LinkRefused(f"its {name} is missing or can't be an id")
        study = own.get(self.panel_study, "")
        if self.panel_study and study not in link.studies and (link.signed or link.studies):
            raise LinkRefused("it belongs to a study that isn't in the settings")
        return PanelIdentity(
            panel=self.name,
            person=own[self.person],
            submission=own.get(self.submission, ""),
            panel_study=study,
            parameters=own,
        )

    # -- codes, webhooks, payments ---------------------------------------------------------------------

    #: The codes that researchers agree on with the panel.
    codes: ClassVar[tuple[CompletionCode, ...]] = EXITS

    #: Whether researchers enter the address of the way back in the study's settings (``panel_return``), since the panel gives
    #: each study its own.
    returns_by_setting: ClassVar[bool] = False

    def return_url(self, ending: CompletionCode, *, code: str, identity: PanelIdentity) -> str:
        """Where somebody goes whose work has ended; ``code`` is the study's for this ``ending``. Empty if nowhere."""
        return ""

    #: Whether the panel sends webhooks, and the largest that is read, in bytes.
    webhooks: ClassVar[bool] = False
    largest_webhook: ClassVar[int] = 64_000

    def webhook_read(self, *, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> Webhook:
        """Verify a webhook's signature and time, and translate it. Raises ``WebhookRefused``."""
        raise WebhookRefused(f"{self.title} sends no webhooks.", status=404)

    #: Whether the panel has an API with which studies are created and watched there; ``api`` then returns it.
    has_api: ClassVar[bool] = False
    #: The address of the API. A token is only sent to the address for which it was entered.
    api_url: str = ""
    #: The devices that a study there can ask for, with their names for researchers.
    devices: ClassVar[Mapping[str, str]] = {}

    def api(self, token: str) -> PanelApi:
        """The panel's API with a researcher's token. Sends nothing yet."""
        raise PanelApiError(f"{self.title} has no API.")

    #: The rules for reviewing submissions there; None if its API takes no decisions.
    review_rules: ClassVar[ReviewRules | None] = None

    #: The button that downloads the file for payments in bulk. Empty: the panel takes none.
    payments_label: ClassVar[str] = ""

    def payments_file(self, amounts: Iterable[tuple[str, Decimal]]) -> str:
        """The CSV file that the panel takes for payments in bulk, from participants' ids and amounts in the study's
        currency."""
        raise NotImplementedError

    # -- words for researchers -------------------------------------------------------------------------

    #: Whether pages for participants name the panel; not if they don't know it by a name.
    named: ClassVar[bool] = True

    #: Sentences added to the help of a study's settings, by field, and to those of the webhooks' secret
    #: (``secret``) and the API's token (``token``).
    hints: ClassVar[Mapping[str, str]] = {}

    def link_words(self, signed: bool) -> str:
        """What researchers do with the study's link."""
        return (
            f"Enter this as the URL of the study on {self.title}. {self.title} replaces the parts in braces."
        )

    # -- words for annotators --------------------------------------------------------------------------

    @cached_property
    def return_label(self) -> StrOrPromise:
        return format_lazy(_("Return to {panel}"), panel=self.title)

    @cached_property
    def site_label(self) -> StrOrPromise:
        return format_lazy(_("Go to {panel}"), panel=self.title)

    @cached_property
    def troubles(self) -> dict[str, Trouble]:
        """The pages for people who can't start or continue because of the panel, by kind of ``Refused``."""

        def words(text: StrOrPromise) -> StrOrPromise:
            return format_lazy(text, panel=self.title)

        not_started = _("You haven't started, so nothing is lost.")
        kept = _("Anything you have submitted is saved.")
        return {
            "panel_needed": Trouble(
                words(_("Open this study from {panel}")),
                words(_("This study takes its participants from {panel}.")),
                not_started,
                words(_("If you take part on {panel}, open the study again from there.")),
                403,
            ),
            "panel_link": Trouble(
                _("We couldn't check your link"),
                words(_("The link from {panel} is incomplete, has expired, or was already used in another browser.")),
                kept,
                words(_("Go back to {panel} and open the study again from there.")),
                403,
            ),
            "panel_known": Trouble(
                _("This study was started in another browser"),
                words(_("You, or someone with your {panel} ID, already started this study in another browser.")),
                kept,
                words(_("Continue in the browser where you started. If you can't, write to the researchers on {panel}.")),
                403,
            ),
            "panel_account": Trouble(
                _("Log in to continue"),
                _("You started this study with an account, so the link alone isn't enough."),
                kept,
                words(_("Log in, then open the study again from {panel}.")),
                403,
            ),
            "panel_down": Trouble(
                words(_("We can't check links from {panel} at the moment")),
                words(_("{panel}'s server didn't respond.")),
                kept,
                _("Reload this page in a few minutes."),
                503,
            ),
            "panel_ended": Trouble(
                words(_("Your submission on {panel} has ended")),
                words(_("{panel} says that it's over. A task you had open goes to someone else.")),
                words(_("Everything you submitted is saved. {panel} decides whether a submission that has ended is paid.")),
                words(_("If this is a mistake, write to the researchers on {panel}.")),
            ),
        }  # fmt: skip

    def ended_words(self, status: str) -> StrOrPromise:
        """What happened to a submission with this status, of ``webhooks.ENDED``."""
        words = {
            "RETURNED": _("You returned your submission. A task you had open goes to someone else."),
            "TIMED OUT": _("The time that {panel} gives for a submission ran out. A task you had open goes to someone else."),
            "REJECTED": _("The researchers rejected your submission on {panel}."),
        }.get(status)  # fmt: skip
        return format_lazy(words, panel=self.title) if words else self.troubles["panel_ended"].happened

    def ended_pay(self, status: str) -> StrOrPromise:
        """What it means for the pay."""
        words = {
            "RETURNED": _("What you submitted is kept. {panel} pays nothing for a submission that was returned, unless the researchers pay it as a bonus."),
            "TIMED OUT": _("What you submitted is kept and counts. If {panel} doesn't pay it, the researchers can: send them the code, if you have one."),
            "REJECTED": _("What you submitted is kept. {panel} pays nothing for a submission that was rejected, unless the researchers change their decision."),
        }.get(status)  # fmt: skip
        return format_lazy(words, panel=self.title) if words else self.troubles["panel_ended"].pay

    def refused(self, kind: str, message: StrOrPromise = "") -> Refused:
        """The refusal with the panel's page of this kind; ``message`` replaces its description of what happened."""
        return Refused(kind, str(message or self.troubles[kind].happened), panel=self.name)

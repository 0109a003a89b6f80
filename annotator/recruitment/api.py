"""The contract of a panel's API: what we ask it to do, what it answers, and what went wrong in words for a researcher.

A panel that has an API returns a ``PanelApi`` from ``Panel.api``. Services only use what is declared here; addresses, fields and statuses of
a panel stay in its own file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

#: States of a panel's study, in our words. Any other status of a panel is OTHER.
DRAFT, LIVE, PAUSED, ENDED, OTHER = "draft", "live", "paused", "ended", "other"
#: What can be done to a panel's study, and the states in which it is possible.
PUBLISH, PAUSE, RESUME, STOP = "publish", "pause", "resume", "stop"
TRANSITIONS = {PUBLISH: (DRAFT,), PAUSE: (LIVE,), RESUME: (PAUSED,), STOP: (LIVE, PAUSED)}
#: The state after each.
REACHED = {PUBLISH: LIVE, PAUSE: PAUSED, RESUME: LIVE, STOP: ENDED}

#: What a panel does when somebody enters a code, and how researchers read it.
APPROVE, REVIEW, ASK_RETURN, SCREEN_OUT = "approve", "review", "return", "screen_out"
ACTIONS = {
    REVIEW: "wait for your review",
    APPROVE: "approve at once",
    ASK_RETURN: "ask them to return the submission",
    SCREEN_OUT: "pay the screen-out reward",
}


class PanelApiError(Exception):
    """The panel's API refused a request or didn't answer. The message is for researchers and never has the token.

    ``status`` is the HTTP status, 0 without a reply. ``uncertain``: the request may have been carried out nevertheless.
    """

    def __init__(self, message: str, *, status: int = 0, uncertain: bool = False):
        self.status, self.uncertain = status, uncertain
        super().__init__(message)

    @property
    def token_refused(self) -> bool:
        """Whether the panel doesn't accept the token (any more)."""
        return self.status in (401, 403)

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later without anybody changing something: no reply, a limit, a problem of the panel's."""
        return self.status in (0, 429) or self.status >= 500


@dataclass(frozen=True)
class Named:
    """Something at the panel with its id and name, such as a workspace."""

    id: str
    name: str


@dataclass(frozen=True)
class Account:
    """Whom a token belongs to, and the workspaces that it opens."""

    id: str
    workspaces: tuple[Named, ...]


@dataclass(frozen=True)
class AccountBalance:
    """What is left in the panel's account of a workspace, in its currency."""

    available: Decimal
    currency: str


@dataclass(frozen=True)
class Filter:
    """A filter of participants. ``choices`` maps the ids of a selection to their names and is empty for a range, whose bounds are
    ``least`` and ``most``."""

    id: str
    title: str
    choices: dict[str, str] = field(default_factory=dict)
    least: float | None = None
    most: float | None = None

    @property
    def is_range(self) -> bool:
        return not self.choices


@dataclass(frozen=True)
class Chosen:
    """A filter with what was chosen: ids of choices, or the bounds of a range."""

    filter_id: str
    values: tuple[str, ...] = ()
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class PlannedCode:
    """A completion code, the exit of a study that it belongs to (the study's field), and what the panel does when somebody enters it."""

    code: str
    field: str
    action: str
    #: Only for the action that pays a screen-out: the reward, and how many people may get it before the study pauses.
    reward: Decimal | None = None
    slots: int = 0
    #: Only for people who completed: the panel adds them to this group.
    group: str = ""


@dataclass(frozen=True)
class StudyPlan:
    """A panel's study as we want it. ``reward`` is for one person, in the currency of the panel's account; ``minutes`` is the
    estimated time; ``reference`` tells this study from all others that we have created."""

    reference: str
    title: str
    description: str
    url: str
    secured: bool
    minutes: int
    reward: Decimal
    places: int
    devices: tuple[str, ...] = ()
    filters: tuple[Chosen, ...] = ()
    codes: tuple[PlannedCode, ...] = ()
    workspace: str = ""
    project: str = ""


@dataclass(frozen=True)
class RemoteStudy:
    """A panel's study as it is there. ``state`` is in our words, ``status`` in the panel's; ``values`` has what ``StudyPlan`` calls
    title, description, url, secured, minutes, reward, places, devices and codes (code -> action)."""

    id: str
    state: str
    status: str
    places: int
    values: dict[str, Any]


@dataclass(frozen=True)
class RemoteSubmission:
    """A submission as the panel has it; ``status`` is one of ``webhooks.STATUSES``."""

    id: str
    person: str
    status: str
    started_at: datetime | None
    code: str = ""


@dataclass(frozen=True)
class Hook:
    """A confirmed subscription to a kind of webhook."""

    id: str
    kind: str


@dataclass(frozen=True)
class BonusesSetUp:
    """Bonuses that a panel has prepared under an id and not paid, and what it will charge in all, with its fees."""

    id: str
    cost: Decimal


class PanelApi(ABC):
    """A panel's API with one researcher's token. Every method raises ``PanelApiError``."""

    #: Whether the panel takes approvals and bonuses through its API, and the most that one request should have.
    pays: ClassVar[bool] = False
    approvals_at_once: ClassVar[int] = 1_000
    bonuses_at_once: ClassVar[int] = 200

    #: The filters whose choices are groups of participants, and earlier studies whose participants are kept out; empty if the panel has
    #: none.
    group_filter: ClassVar[str] = ""
    earlier_filter: ClassVar[str] = ""

    @abstractmethod
    def account(self) -> Account:
        """Whom the token belongs to; the cheapest test of a token."""

    @abstractmethod
    def projects(self, workspace: str) -> tuple[Named, ...]:
        """The projects of a workspace; studies are created in one of them."""

    @abstractmethod
    def balance(self, workspace: str) -> AccountBalance:
        """What can be spent, and the currency of rewards."""

    @abstractmethod
    def filters(self, workspace: str) -> tuple[Filter, ...]:
        """Every filter of participants."""

    @abstractmethod
    def payload(self, plan: StudyPlan) -> dict[str, Any]:
        """What ``study_create`` sends, for researchers to read. Sends nothing."""

    @abstractmethod
    def cost(self, plan: StudyPlan) -> Decimal:
        """What the plan costs in all, with the panel's fees and taxes, in the currency of its account. Creates nothing."""

    @abstractmethod
    def recruitment_time(self, plan: StudyPlan) -> str:
        """The panel's prediction of how long recruitment takes; empty if it makes none. Creates nothing."""

    @abstractmethod
    def study_create(self, plan: StudyPlan) -> RemoteStudy:
        """Create a draft. If a draft with the plan's reference exists, because an earlier reply was lost, that is returned."""

    @abstractmethod
    def study(self, study: str) -> RemoteStudy:
        """A study by its id."""

    @abstractmethod
    def study_change(self, study: str, plan: StudyPlan, names: Sequence[str]) -> RemoteStudy:
        """Set these values of a study to the plan's. A panel may only accept some once a study is published."""

    @abstractmethod
    def study_move(self, study: str, transition: str) -> RemoteStudy:
        """Publish, pause, resume or stop a study."""

    @abstractmethod
    def submissions(self, study: str) -> tuple[RemoteSubmission, ...]:
        """All submissions of a study."""

    # Only panels with ``pays`` have the following four.

    def submissions_approve(self, submissions: Sequence[str]) -> None:
        """Approve submissions, which pays their reward. Approving one again changes nothing."""
        raise PanelApiError("This panel's API takes no approvals.")

    def bonuses_set_up(self, study: str, amounts: Sequence[tuple[str, Decimal]]) -> BonusesSetUp:
        """Prepare bonuses: participants' ids and amounts in the currency of the study. Pays nothing."""
        raise PanelApiError("This panel's API pays no bonuses.")

    def bonuses_pay(self, bonuses: str) -> None:
        """Pay what was prepared under this id. Calling it again may pay everybody again."""
        raise PanelApiError("This panel's API pays no bonuses.")

    def bonuses_of(self, submission: str) -> tuple[Decimal, ...]:
        """The bonuses that were paid to a submission so far."""
        raise PanelApiError("This panel's API doesn't tell bonuses.")

    @abstractmethod
    def group_fill(self, *, workspace: str, group: str, name: str, people: Sequence[str]) -> str:
        """Add participants to a group, created if ``group`` is empty; returns its id. Who is in it already stays."""

    @abstractmethod
    def hooks(self, *, workspace: str, url: str) -> tuple[Hook, ...]:
        """The confirmed subscriptions that send to this address."""

    @abstractmethod
    def hooks_set_up(self, *, workspace: str, url: str) -> tuple[str, tuple[Hook, ...]]:
        """Subscribe the address to every kind of webhook that we read, and confirm it; what exists is kept. Returns the secret that
        signs the webhooks of the workspace, and the subscriptions."""

    # Decisions and messages: only panels with ``Panel.review_rules`` have them.

    def submission_approve(self, submission: str) -> RemoteSubmission:
        """Approve a submission, which pays its reward; safe to repeat."""
        raise PanelApiError("This panel takes no decisions.")

    def submission_reject(self, submission: str, *, reason: str, text: str) -> RemoteSubmission:
        """Reject a submission for one of the panel's reasons, with a text for the participant; safe to repeat."""
        raise PanelApiError("This panel takes no decisions.")

    def submission_unreject(self, submission: str) -> RemoteSubmission:
        """Take a rejection back: the submission waits for a review again; safe to repeat."""
        raise PanelApiError("This panel takes no decisions.")

    def return_ask(self, submission: str, *, text: str) -> None:
        """Ask a participant to return their submission. Nobody is asked twice because a reply was lost."""
        raise PanelApiError("This panel takes no decisions.")

    def message_send(self, *, study: str, people: Sequence[str], text: str) -> None:
        """Send a message about a study to participants."""
        raise PanelApiError("This panel sends no messages.")


#: What a researcher can change at the panel by one button while the study is a draft there, and once it's published.
VALUES = ("title", "description", "url", "secured", "minutes", "reward", "places", "devices", "codes")

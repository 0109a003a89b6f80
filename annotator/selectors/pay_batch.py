"""What a batch through a study's panel would pay to whom, and the batches that were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from django.db.models import Count, Prefetch, Q, Sum

from annotator.core.canonical import digest_of
from annotator.core.words import plural
from annotator.models import (
    LedgerEntry,
    PanelStudy,
    Participation,
    PayBatch,
    PayLine,
    PayPart,
    ReviewDecision,
    Study,
)
from annotator.recruitment.api import SCREEN_OUT
from annotator.recruitment.plans import plan_read
from annotator.recruitment.registry import panel_get
from annotator.recruitment.webhooks import REJECTED
from annotator.selectors.owed import CENT, Balance, balances_of

APPROVE, SCREENED, BONUS = PayPart.Kind.APPROVE.value, PayPart.Kind.SCREEN_OUT.value, PayPart.Kind.BONUS.value
#: Submissions that people still work on, or whose status the panel hasn't told.
AT_WORK = ("", "RESERVED", "ACTIVE")


@dataclass(frozen=True)
class Payment:
    """One payment of a batch, in the study's currency. ``credit`` is the part of it that the person hasn't earned by their work: the
    rest of a fixed reward, which the panel pays in full."""

    rater: int
    name: str
    kind: str
    remote_study: str
    amount: Decimal
    credit: Decimal = Decimal(0)


@dataclass(frozen=True)
class LeftOut:
    """Somebody who isn't paid by the batch, and why."""

    name: str
    why: str
    amount: Decimal


@dataclass(frozen=True)
class PayProposal:
    """What a batch would pay now. ``fault`` says why there can't be one; empty if there can."""

    currency: str
    payments: tuple[Payment, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    fault: str = ""

    @property
    def digest(self) -> str:
        """What a researcher has seen and confirms: who gets what by which way."""
        lines = [
            [payment.rater, payment.kind, payment.remote_study, f"{payment.amount:.2f}"]
            for payment in self.payments
        ]
        return digest_of([self.currency, lines])

    @property
    def total(self) -> Decimal:
        """Everything that participants get, without the panel's fees."""
        return sum((payment.amount for payment in self.payments), Decimal("0.00"))

    @property
    def sums(self) -> list[tuple[str, int, Decimal]]:
        """For each kind of payment that there is: its name, how many, and their sum."""
        found = []
        for kind in PayPart.Kind:
            amounts = [payment.amount for payment in self.payments if payment.kind == kind.value]
            if amounts:
                found.append((str(kind.label), len(amounts), sum(amounts, Decimal(0))))
        return found


@dataclass(frozen=True)
class Rewards:
    """The rewards of one of the panel's studies: of an approved submission, and of a screen-out (None if it has none)."""

    approved: Decimal
    screened: Decimal | None = None


@dataclass
class _Earlier:
    """What batches have paid and the panel has told, by rater: which fixed rewards, and how much in all."""

    kinds: dict[int, set[str]] = field(default_factory=dict)
    amounts: dict[int, Decimal] = field(default_factory=dict)


def pay_proposal(study: Study) -> PayProposal:
    """Who of the panel's participants can be paid through its API now, and who can't and why; seven queries.

    Everybody's work must be accepted first. Submissions that wait for review and have earned the reward of the panel's study are approved,
    which pays it; what is owed beyond it is paid as a bonus. What the panel has paid already (an approved submission, a screen-out) is
    recorded, with the part of it that the person hasn't earned by their work as a credit.
    """
    panel = panel_get(study.panel)
    if panel is None or not panel.has_api:
        return PayProposal(study.currency, fault="The study has no panel with an API.")
    rewards = rewards_of(study)
    if not rewards:
        return PayProposal(study.currency, fault="No study was created on the panel from here.")
    earlier = _earlier(study)
    people = study.participations.filter(recruiter=study.panel, rater__rehearsal=False)
    by_rater = {one.rater_id: one for one in people.exclude(recruiter_id="").select_related(None)}
    held = set(
        ReviewDecision.objects.filter(study=study, in_force=True, done_at=None)
        .exclude(kind=ReviewDecision.Kind.ACCEPT)
        .values_list("participation", flat=True)
    )
    payments, left_out = list[Payment](), list[LeftOut]()
    for balance in balances_of(study):
        person = by_rater.get(balance.rater)
        if person is None:
            continue
        remote = remote_of(study, person, rewards)
        done = earlier.kinds.get(balance.rater, set())
        why = _why_not(balance, person, remote, rewards, done, held=person.pk in held)
        if why:
            if why is not _NOTHING:
                left_out.append(LeftOut(balance.name, why, balance.payable))
            continue
        sent = earlier.amounts.get(balance.rater, Decimal(0))
        payments += _payments(balance, person, remote, rewards[remote], done, sent=sent)
    order = {kind.value: number for number, kind in enumerate(PayPart.Kind)}
    payments.sort(key=lambda one: (order[one.kind], one.remote_study, one.rater))
    return PayProposal(study.currency, tuple(payments), tuple(left_out))


_NOTHING = "nothing to pay"


def _why_not(
    balance: Balance,
    person: Participation,
    remote: str,
    rewards: Mapping[str, Rewards],
    done: set[str],
    *,
    held: bool,
) -> str:
    waits = person.panel_status in ("AWAITING REVIEW", "APPROVED", "SCREENED OUT")
    if not balance.payable and not balance.unreviewed and not waits:
        return _NOTHING
    if person.panel_status in AT_WORK:
        return "still at work, or the panel hasn't told the status of the submission"
    if person.panel_status == REJECTED:
        return "rejected on the panel"
    if held:
        return "a decision of the review desk is about to be carried out"
    if balance.unreviewed:
        return f"{plural(balance.unreviewed, 'judgment')} to accept first"
    if remote not in rewards:
        return "came from a study on the panel that wasn't created from here"
    reward = rewards[remote].approved
    if person.panel_status == "AWAITING REVIEW" and APPROVE not in done and reward - balance.owed >= CENT:
        return f"earned {balance.owed:.2f}, less than the reward of {reward}: approve it on the panel, or ask for its return"
    return ""


def _payments(
    balance: Balance, person: Participation, remote: str, rewards: Rewards, done: set[str], *, sent: Decimal
) -> list[Payment]:
    """What one person gets: the fixed reward for their submission's status, and the rest of what they are owed as a bonus. ``sent`` is
    what batches have paid them."""
    owed, found = balance.owed, list[Payment]()
    fixed: tuple[str, Decimal | None] = ("", None)
    if person.panel_status in ("AWAITING REVIEW", "APPROVED"):
        fixed = (APPROVE, rewards.approved)
    elif person.panel_status == "SCREENED OUT":
        fixed = (SCREENED, rewards.screened)
    kind, reward = fixed
    # Somebody may have recorded by hand what the panel had paid already.
    by_hand = balance.paid - sent
    known = reward is not None and person.panel_status != "AWAITING REVIEW" and by_hand >= reward
    if kind and kind not in done and reward and not known:
        credit = max(reward - owed, Decimal(0))
        found.append(Payment(balance.rater, balance.name, kind, remote, reward, credit))
        owed = owed + credit - reward
    rest = owed.quantize(CENT, ROUND_HALF_UP)
    if rest > 0 and person.recruiter_session:
        found.append(Payment(balance.rater, balance.name, BONUS, remote, rest))
    return found


def rewards_of(study: Study) -> dict[str, Rewards]:
    """The fixed rewards of the panel's studies that recruit for this one and were created from here, by their ids; one query."""
    return {row.remote_id: _rewards(row) for row in study.panel_study_rows.filter(panel=study.panel)}


def remote_of(study: Study, person: Participation, rewards: Mapping[str, Rewards]) -> str:
    """The panel's study that a person came from; empty if nobody can tell."""
    panel = panel_get(study.panel)
    named = str(person.join_parameters.get(panel.panel_study, "")) if panel is not None else ""
    return named or (next(iter(rewards)) if len(rewards) == 1 else "")


def screen_out_reference(panel: str) -> str:
    """Under which reference the ledger has the screen-outs that a panel has told.

    >>> screen_out_reference("campus")
    'campus: screen-out'
    """
    return f"{panel}: screen-out"


def screened_by_batch(study: Study, rater: int) -> bool:
    """Whether a batch has recorded somebody's screen-out."""
    lines = PayLine.objects.filter(part__batch__study=study, part__kind=SCREENED, entry__rater=rater)
    return lines.filter(entry__undone_at__isnull=True).exists()


def _rewards(row: PanelStudy) -> Rewards:
    approved = Decimal(str(row.remote.get("reward") or 0)).quantize(CENT)
    codes = plan_read(row.plan).codes if row.plan else ()
    screened = next((code.reward for code in codes if code.action == SCREEN_OUT and code.reward), None)
    return Rewards(approved, screened)


def _earlier(study: Study) -> _Earlier:
    rows = PayLine.objects.filter(part__batch__study=study, entry__undone_at__isnull=True)
    found = _Earlier()
    for rater, kind, amount in rows.values_list("entry__rater", "part__kind", "entry__amount"):
        found.amounts[rater] = found.amounts.get(rater, Decimal(0)) + amount
        if kind != BONUS:
            found.kinds.setdefault(rater, set()).add(kind)
    told = study.ledger.filter(
        kind=LedgerEntry.Kind.PAYMENT, reference=screen_out_reference(study.panel), undone_at__isnull=True
    )
    for rater, amount in told.values_list("rater", "amount"):
        found.amounts[rater] = found.amounts.get(rater, Decimal(0)) + amount
        found.kinds.setdefault(rater, set()).add(SCREENED)
    return found


def pay_batches(study: Study, *, pk: int | None = None, limit: int = 20) -> list[PayBatch]:
    """The latest batches, or the one that is named, with their parts, which have ``people`` and ``amount``; two queries. Of a part that
    was sent, payments that were undone aren't counted: they weren't sent."""
    counted = Q(lines__entry__undone_at=None) | Q(state=PayPart.State.CANCELLED)
    parts = PayPart.objects.annotate(
        people=Count("lines", filter=counted), amount=Sum("lines__entry__amount", filter=counted)
    )
    made = study.pay_batches.select_related("created_by")
    made = made if pk is None else made.filter(pk=pk)
    return list(made.prefetch_related(Prefetch("parts", parts.order_by("number")))[:limit])


def pay_batch_open(study: Study) -> PayBatch | None:
    """The study's batch that isn't finished; there is at most one."""
    return study.pay_batches.filter(finished_at__isnull=True).first()

"""A study whose people can be paid through the panel."""

from __future__ import annotations

from decimal import Decimal

from annotator.models import PanelStudy, Participation, PayBatch, User
from annotator.selectors.owed import balances_of
from annotator.selectors.pay_batch import pay_proposal
from annotator.services.assignment import assignment_next
from annotator.services.panel_reconcile import panel_reconcile
from annotator.services.pay_batch import pay_batch_make
from annotator.services.payment import bonus_give, work_accept
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.panel_people import arrives, connected_study, published
from tests.prolific_api import ProlificBooks

#: A part of the address of the request that pays.
PAY = "/pay/"


class World:
    """Two people who did both tasks (1.00, the reward) with a bonus for the first, and one who returned after one task (0.50)."""

    def __init__(self, books: ProlificBooks, researcher: User) -> None:
        self.books, self.by = books, researcher
        self.study, connection = connected_study(researcher, redundancy=3)
        self.row = published(self.study, connection, places=3, reward=Decimal("1.00"))
        self.people: dict[str, Participation] = {}
        for person, tasks in (("ann", 2), ("ben", 2), ("cleo", 1)):
            submission, who = arrives(books, self.row, person)
            for _ in range(tasks):
                task = assignment_next(participation=who)
                assert task is not None
                turn_take(user_id=who.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
            self.people[person] = who
            if person == "cleo":
                books.move(submission, "RETURNED")
            else:
                books.complete(submission, "DONE")
        panel_reconcile(row=PanelStudy.objects.get(pk=self.row.pk))
        work_accept(study=self.study, by=researcher)
        self.bonus("ann", "0.25")

    def bonus(self, person: str, amount: str) -> None:
        bonus_give(
            study=self.study,
            rater=self.people[person].rater,
            by=self.by,
            amount=Decimal(amount),
            reason="care",
        )

    def make(self, key: str = "key-00001") -> PayBatch:
        return pay_batch_make(study=self.study, key=key, digest=pay_proposal(self.study).digest, by=self.by)

    def got(self) -> dict[str, Decimal]:
        return {person: self.books.paid(person) for person in self.people}

    def agrees(self) -> None:
        """The ledger and the panel's books say the same to the cent."""
        ledger = {one.recruiter_id: one.paid for one in balances_of(self.study)}
        assert ledger == self.got()


ALL = {"ann": Decimal("1.25"), "ben": Decimal("1.00"), "cleo": Decimal("0.50")}

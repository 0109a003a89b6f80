"""The demo of a paid panel: a study that is published at the stand-in, and a researcher who decides and pays while its people come.

The people are those of ``rehearsal/panel_people.py``. What the researcher does here, people do on the pages: nothing is decided or paid by
itself. Work with a sign stays on the review desk, for whoever watches the demo.
"""

from __future__ import annotations

import io
import logging
import threading
import time
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from math import ceil
from secrets import token_hex

from django.core.exceptions import ValidationError
from django.urls import reverse

from annotator.models import PanelStudy, ReviewDecision, Study, User
from annotator.recruitment.registry import PANELS
from annotator.recruitment.stand_in.about import stand_in_about
from annotator.recruitment.stand_in.books import TOKEN, ProlificBooks
from annotator.selectors.panel_plan import plan_values
from annotator.selectors.pay_batch import pay_batch_open, pay_proposal
from annotator.selectors.review_desk import review_desk
from annotator.services.demo import CONSENT, RESEARCHER, demo_lines
from annotator.services.imports.material_import import material_import
from annotator.services.panel_connection import panel_connect, panel_hooks_set_up
from annotator.services.panel_reconcile import panel_reconcile_sweep
from annotator.services.panel_study import panel_study_create, panel_study_follow, panel_study_move
from annotator.services.pay_batch import pay_batch_make, pay_batch_send
from annotator.services.review_desk import decisions_carry_out, decisions_hurry, decisions_make
from annotator.services.study import study_create, study_launch
from annotator.services.workspace import workspace_personal

log = logging.getLogger(__name__)

SLUG = "demo-paid-panel"
#: Items, and how many of them one person does. Of four people who come, three do all their tasks.
ITEMS, TASKS, WORKERS = 24, 4, 0.75
CODES = {
    "completion_code": "DEMO-DONE", "screened_out_code": "DEMO-EXAM", "partly_code": "DEMO-PART", "declined_code": "DEMO-NO",
    "nothing_left_code": "DEMO-NONE", "stopped_code": "DEMO-STOP",
}  # fmt: skip
ACTIONS = {
    "completion_code": "review", "screened_out_code": "screen_out", "partly_code": "review", "declined_code": "return",
    "nothing_left_code": "return", "stopped_code": "return",
}  # fmt: skip
ASKED = "You did a part of the tasks. Please return your submission: we pay what you have done as a bonus."
Kind = ReviewDecision.Kind


def panel_demo_publish(*, site: str, people: int, by: User) -> PanelStudy:
    """A new study for about this many people, from an empty form to published at the stand-in. ``site`` is Foretell's address."""
    number = Study.objects.filter(slug__startswith=SLUG).count()
    panel, workspace = PANELS.get(stand_in_about()["panel"]), workspace_personal(user=by)
    study = study_create(
        by=by,
        workspace=workspace,
        hit_type="simulation", slug=f"{SLUG}-{number + 1}" if number else SLUG, title="Recruited from a paid panel",
        summary="Read what a robot was asked and how it explained itself, and say what it would answer.",
        contact="The demo of Foretell, on this machine. The participants are programs, and nobody is paid.", consent_text=CONSENT,
        redundancy=max(1, ceil(people * WORKERS * TASKS / ITEMS)), max_items_per_rater=TASKS, panel=panel.name, panel_links="signed",
        currency="GBP", pay_per_item=Decimal("0.30"), minutes_per_item=1, min_seconds=1, pay_floor_per_hour=Decimal("6.00"),
        exam_required=True, exam_attempts=1, exam_pay=Decimal("1.50"),
        joins_per_address=None, joins_per_hour=None, unfinished_per_hour=None, **CODES,
    )  # fmt: skip
    lines = "".join(islice(demo_lines("simulation"), ITEMS))
    material_import(study=study, file=io.BytesIO(lines.encode()), name="simulation.jsonl")
    connection = panel_connect(workspace=workspace, panel=panel.name, token=TOKEN, by=by)
    link = panel.link(f"{site}{reverse('annotator:invitation', args=[study.join_token])}")
    chosen = plan_values(study, panel) | {f"action_{code}": action for code, action in ACTIONS.items()}
    chosen |= {"filters": "", "group": "", "screen_out_reward": study.exam_pay, "slots": people}
    row = panel_study_create(study=study, connection=connection, values=chosen, link=link, by=by)
    study.refresh_from_db()
    study_launch(study=study, by=by)
    hooks = reverse("annotator:panel_webhook", args=[panel.name, study.join_token])
    panel_hooks_set_up(study=study, connection=connection, url=f"{site}{hooks}", by=by)
    row = panel_study_move(
        row=PanelStudy.objects.select_related("study").get(pk=row.pk), transition="publish", by=by
    )
    return panel_study_follow(row=row, follows=True, most_places=people * 2, by=by)


def panel_demo_researcher() -> User | None:
    """The demo's researcher; None until the demo is loaded."""
    return User.objects.filter(username=RESEARCHER, demo=True).first()


@dataclass
class DemoResearcher:
    """Compares both sides every few seconds, accepts work without signs, asks those who did a part for their submission, and pays every
    ``pay_every`` seconds what is owed."""

    books: ProlificBooks
    row: PanelStudy
    by: User
    pay_every: float = 60.0
    paid_at: float = field(default_factory=time.monotonic)

    def run(self, stop: threading.Event, *, every: float = 5.0) -> None:
        """Until ``stop``."""
        while not stop.wait(every):
            try:
                self.turn()
            except Exception:
                log.exception("the demo of the panel could not go on")

    def turn(self) -> None:
        panel_reconcile_sweep()
        study = Study.objects.get(pk=self.row.study_id)
        whole, part = list[int](), list[int]()
        for one in review_desk(study).shown("clean"):
            if one.status == "AWAITING REVIEW":
                (whole if one.done >= TASKS else part).append(one.rater)
            elif one.ended and one.unreviewed:  # returned or timed out after some tasks: these are paid
                whole.append(one.rater)
        if whole:
            decisions_make(study=study, by=self.by, raters=whole, kind=Kind.ACCEPT)
        for rater in part:
            self._ask(study, rater)
        for submission, _ in self.books.asked:
            if self.books.submissions[submission]["status"] == "AWAITING REVIEW":
                self.books.move(submission, "RETURNED")
        if time.monotonic() - self.paid_at >= self.pay_every:
            self.paid_at = time.monotonic()
            decisions_hurry(study=study)  # as its button does: otherwise they are held for some minutes
            decisions_carry_out(study=study)
            self.pay(study)

    def _ask(self, study: Study, rater: int) -> None:
        try:
            decisions_make(study=study, by=self.by, raters=[rater], kind=Kind.ASK_RETURN, text=ASKED)
        except ValidationError as error:
            log.info("a person of the demo isn't asked to return: %s", " ".join(error.messages))

    def pay(self, study: Study) -> None:
        """Pay what is owed to those whose work is accepted, in one batch."""
        proposal = pay_proposal(study)
        if not proposal.payments or pay_batch_open(study) is not None:
            return
        try:
            batch = pay_batch_make(
                study=study, key=f"demo-{token_hex(8)}", digest=proposal.digest, by=self.by
            )
            pay_batch_send(batch=batch)
        except ValidationError as error:
            log.warning("the demo could not pay: %s", " ".join(error.messages))

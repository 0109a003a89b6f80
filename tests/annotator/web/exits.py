"""People who come to a study by each way, its codes for each exit, and a study without free places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from annotator.models import Assignment, Study
from annotator.services.assignment import assignment_next
from tests.bot import Bot
from tests.factories import make_participation, make_study
from tests.prolific_server import STUDY, Prolific, prolific_trusted

CODES = {
    "completion_code": "DONE-1", "screened_out_code": "FAILED-2", "nothing_left_code": "NONE-3",
    "partly_code": "PART-4", "declined_code": "NO-5", "stopped_code": "STOP-6",
}  # fmt: skip
EXAM = {"exam_required": True, "exam_questions": 2, "pass_mark": 2, "exam_attempts": 1}


class ExitBot(Bot):
    """A participant who comes by a plain or signed link of Prolific, or by the study's own link."""

    def __init__(self, study: Study, query: Callable[[str], str]):
        super().__init__(study)
        self.query = query

    def join(self) -> Any:
        self.invitation()
        return self.post(self.address, {})

    def invitation(self) -> Any:
        address = f"/join/{self.study.join_token}/"
        self.address = f"{address}{self.query(address)}"
        return self.get(self.address)


@pytest.fixture
def prolific() -> Iterator[Prolific]:
    with prolific_trusted() as found:
        yield found


@pytest.fixture(params=["no panel", "plain link", "signed link"])
def come(request: pytest.FixtureRequest, prolific: Prolific) -> Callable[..., ExitBot]:
    """Make a study with all codes, and a bot that comes to it."""
    way = request.param

    def made(**fields: Any) -> ExitBot:
        values: dict[str, Any] = {
            "launched": True,
            "items": 3,
            "redundancy": 2,
            "pay_per_item": "0.50",
        } | CODES
        if way != "no panel":
            signed = way == "signed link"
            values |= {
                "panel": "prolific",
                "panel_links": "signed" if signed else "plain",
                "panel_study_ids": STUDY,
            }
        study = make_study(**values | fields)
        return ExitBot(
            study,
            {
                "no panel": lambda address: "",
                "plain link": lambda address: f"?PROLIFIC_PID=p1&STUDY_ID={STUDY}&SESSION_ID=s1",
                "signed link": lambda address: "?" + prolific.query("p1", path=address, submission="s1"),
            }[way],
        )

    return made


def fill(study: Study) -> None:
    """Let somebody else take every place."""
    Study.objects.filter(pk=study.pk).update(panel="")
    other = make_participation(Study.objects.get(pk=study.pk))
    Study.objects.filter(pk=study.pk).update(panel=study.panel)
    while task := assignment_next(participation=other):
        Assignment.objects.filter(pk=task.pk).update(state="submitted")


def link(study: Study, query: str = "") -> str:
    return f"{path(study)}?{query}"


def path(study: Study) -> str:
    return f"/join/{study.join_token}/"


def come_signed(
    prolific: Prolific, where: Study, person: str, client: Client | None = None, **about: Any
) -> Client:
    """Join a study by a link that Prolific has signed."""
    client = client or Client()
    reply = client.post(link(where, prolific.query(person, path=path(where), **about)))
    assert (reply.status_code, reply["Location"]) == (302, f"/study/{where.slug}/")
    return client

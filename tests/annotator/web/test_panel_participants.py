"""What a panel's participants are offered, and what they get for skipping; several studies at a time."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from annotator.models import Assignment, Participation, PlaceAlert
from annotator.recruitment.panel import COMPLETED, PARTLY
from annotator.selectors.exits import exit_of
from annotator.services.assignment import assignment_next, assignment_return
from annotator.services.participation import participation_finish
from tests.annotator.web.exits import CODES, ExitBot, come, come_signed, fill, prolific  # noqa: F401 - fixtures
from tests.factories import make_participation, make_study, make_user
from tests.prolific_server import STUDY, Prolific, prolific_trusted

pytestmark = pytest.mark.django_db


@pytest.fixture
def trusted() -> Iterator[Prolific]:
    with prolific_trusted() as found:
        yield found


def skip_all(bot: ExitBot, page: Any) -> Any:
    while b'action="/task/' in page.content:
        form = bot.form(page, action=r"/skip/$")
        page = bot.post(form.action, {"reason": "other"})
    return page


def test_skipping_everything_does_not_give_the_code_for_finding_no_task(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(unfinished_per_hour=None)
    page = skip_all(bot, bot.instructions(bot.join()))
    for shown in (page, bot.get("/me/")):
        text = html.unescape(shown.content.decode())
        assert "NO-5" in text
        assert not [code for code in CODES.values() if code != "NO-5" and code in text]
    assert "You skipped the tasks that you could do" in html.unescape(page.content.decode())


def test_skipping_nearly_everything_does_not_give_the_code_for_completing() -> None:
    study = make_study(items=5, launched=True, unfinished_per_hour=None, **CODES)
    person = make_participation(study)
    for done in (True, False, False, True, True):
        task = assignment_next(participation=person)
        assert task is not None
        if done:
            Assignment.objects.filter(pk=task.pk).update(state="submitted")
        else:
            assignment_return(user_id=person.rater.user_id or 0, assignment_pk=task.pk, reason="other")
    participation_finish(participation=person)
    person.refresh_from_db()
    assert exit_of(person, done=3) == COMPLETED, "a few may be skipped"
    assert exit_of(person, done=1) == PARTLY


def test_participants_of_a_panel_are_offered_no_account_and_asked_for_no_address(
    come: Callable[..., ExitBot],  # noqa: F811
) -> None:
    bot = come(items=2, redundancy=1)
    pages = [bot.invitation(), bot.join()]
    pages.append(bot.get("/me/"))
    pages.append(bot.tasks(bot.instructions(pages[1]), most=2))
    late = ExitBot(bot.study, bot.query)
    if not bot.study.panel:
        pages.append(late.invitation())
    text = "".join(page.content.decode() for page in pages)
    for words in ("Create an account", "Email address", "/signup/"):
        assert (words in text) == (not bot.study.panel), words


def test_an_address_that_a_panels_participant_sends_is_not_kept() -> None:
    study = make_study(
        items=1, redundancy=1, launched=True, panel="prolific", panel_links="plain", panel_study_ids=STUDY
    )
    bot = ExitBot(study, lambda _: f"?PROLIFIC_PID=p1&STUDY_ID={STUDY}&SESSION_ID=s1")
    bot.join()
    fill(study)
    bot.post(f"/join/{study.join_token}/tell-me/", {"email": "kim@lab.example"})
    assert list(PlaceAlert.objects.values_list("email", flat=True)) == [""]


@pytest.mark.parametrize("signed", [True, False])
def test_only_verified_participants_have_tasks_open_in_several_studies(
    trusted: Prolific, signed: bool
) -> None:
    ada = make_user("ada", staff=True)
    first = make_study(items=2, launched=True, panel="prolific", panel_study_ids="one", by=ada)
    second = make_study(items=2, launched=True, panel="prolific", panel_study_ids="two", by=ada)
    client = come_signed(trusted, first, "p1", study="one")
    client.get(f"/study/{first.slug}/instructions/")
    come_signed(trusted, second, "p1", client, study="two", submission="s2")
    Participation.objects.update(recruiter_verified=signed)
    for study in (first, second):
        client.post(f"/study/{study.slug}/instructions/", {})
        page = client.get(f"/study/{study.slug}/task/").content.decode()
        assert ("data-task=" in page) == (signed or study == first)
    assert Assignment.objects.filter(state="leased").count() == (2 if signed else 1)

"""Requests to Prolific's API: what is sent and read, what is repeated and what isn't, and errors in words."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from annotator.recruitment.api import (
    APPROVE,
    ASK_RETURN,
    DRAFT,
    ENDED,
    LIVE,
    PAUSE,
    PAUSED,
    PUBLISH,
    RESUME,
    REVIEW,
    SCREEN_OUT,
    STOP,
    PanelApiError,
)
from annotator.recruitment.panels._prolific_api import ProlificApi
from annotator.recruitment.requests import ApiRequests
from tests.prolific_api import PLAN, PROJECT, TOKEN, WORKSPACE, ProlificBooks, prolific_api


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


def api_of(books: ProlificBooks, waits: list[float] | None = None, token: str = TOKEN) -> ProlificApi:
    waited = [] if waits is None else waits
    return ProlificApi(ApiRequests(books.url, "Prolific", token, sleep=waited.append))


def test_a_token_opens_an_account_with_its_workspaces(books: ProlificBooks) -> None:
    api = api_of(books)
    assert [one.name for one in api.account().workspaces] == ["Lab"]
    assert [one.id for one in api.projects(WORKSPACE)] == [PROJECT]
    assert api.balance(WORKSPACE).available == Decimal(500)
    assert api.balance(WORKSPACE).currency == "GBP"
    titles = {one.title: one for one in api.filters(WORKSPACE)}
    assert titles["Fluent languages"].choices == {"19": "English", "22": "German"}
    assert (titles["Age"].least, titles["Age"].most) == (18, 100)


def test_a_plan_costs_what_prolific_says_and_creates_nothing(books: ProlificBooks) -> None:
    assert api_of(books).cost(PLAN) == Decimal("33.60")  # 10 places x 2.40 and a fee of 40 %
    assert api_of(books).recruitment_time(PLAN) == "about 2 hours"
    assert books.studies == {}


def test_a_study_is_created_changed_published_paused_and_stopped(books: ProlificBooks) -> None:
    api = api_of(books)
    made = api.study_create(PLAN)
    assert (made.state, made.places) == (DRAFT, 10)
    assert made.values["codes"] == {"DONE": APPROVE, "EXAM": SCREEN_OUT, "NONE": ASK_RETURN, "SOME": REVIEW}
    assert made.values["reward"] == Decimal("2.40")
    changed = api.study_change(made.id, replace(PLAN, title="Owls", places=12), ["title", "places"])
    assert (changed.values["title"], changed.places) == ("Owls", 12)
    moves = [(PUBLISH, LIVE), (PAUSE, PAUSED), (RESUME, LIVE), (STOP, ENDED)]
    assert [api.study_move(made.id, move).state for move, _ in moves] == [state for _, state in moves]
    with pytest.raises(PanelApiError, match="Not possible: The study is COMPLETED"):
        api.study_move(made.id, PAUSE)


def test_what_prolific_says_about_a_field_is_shown(books: ProlificBooks) -> None:
    with pytest.raises(
        PanelApiError, match=r"Prolific refused it: reward: The reward is below the minimum\."
    ):
        api_of(books).study_create(replace(PLAN, reward=Decimal("0.05")))


def test_a_limit_and_a_servers_trouble_are_waited_out(books: ProlificBooks) -> None:
    waits: list[float] = []
    books.troubles = [("GET", "429"), ("GET", "lost")]
    assert api_of(books, waits).account().id
    books.troubles = [("GET", "500"), ("GET", "500")]
    assert api_of(books, waits).account().id
    assert waits == [1.0, 1.0, 0.5, 1.0], "the first as Retry-After says"


def test_a_request_that_may_have_been_carried_out_is_not_repeated(books: ProlificBooks) -> None:
    for trouble in ("500", "500 after", "lost"):
        books.troubles = [("POST /api/v1/studies/", trouble)]
        with pytest.raises(PanelApiError, match="It may have been carried out") as failed:
            api_of(books).study_create(replace(PLAN, reference=f"owls {trouble}"))
        assert failed.value.uncertain
    assert len(books.studies) == 2


def test_a_draft_whose_reply_was_lost_is_found_again(books: ProlificBooks) -> None:
    books.troubles = [("POST /api/v1/studies/", "lost")]
    with pytest.raises(PanelApiError):
        api_of(books).study_create(PLAN)
    assert api_of(books).study_create(PLAN).id in books.studies
    assert len(books.studies) == 1


def test_a_publication_whose_reply_was_lost_is_not_an_error(books: ProlificBooks) -> None:
    api = api_of(books)
    made = api.study_create(PLAN)
    books.troubles = [("transition", "lost")]
    assert api.study_move(made.id, PUBLISH).state == LIVE
    books.troubles = [("transition", "500")]
    with pytest.raises(PanelApiError, match="may have been carried out"):
        api.study_move(made.id, PAUSE)


def test_a_limit_that_lasts_is_an_error_that_says_when_to_try_again(books: ProlificBooks) -> None:
    books.troubles = [("GET", "429")] * 4
    with pytest.raises(PanelApiError, match="Try again in 1 second"):
        api_of(books).account()


def test_a_token_that_is_refused_is_said_to_be_and_never_shown(
    books: ProlificBooks, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    books.troubles = [("GET", "500")]
    api = api_of(books, token="sk-very-secret")
    with pytest.raises(PanelApiError, match="doesn't accept the token") as refused:
        api.account()
    assert refused.value.token_refused
    assert "sk-very-secret" not in f"{refused.value} {refused.value!r} {api.requests!r} {caplog.text}"


def test_a_server_that_repeats_the_token_does_not_get_it_onto_a_page() -> None:
    class Echo(ProlificBooks):
        def answer(self, method: str, path: str, body: Any, token: str) -> Any:
            from tests.prolific_api import Refusal

            raise Refusal(400, "Odd", f"You sent {token}")

    with prolific_api() as books:
        echo = Echo()
        books.answer = echo.answer  # type: ignore[method-assign]
        with pytest.raises(PanelApiError) as refused:
            api_of(books).account()
    assert TOKEN not in str(refused.value)


def test_a_server_that_is_not_there_is_said_not_to_be_reached() -> None:
    with prolific_api() as books:
        pass
    with pytest.raises(PanelApiError, match="Prolific can't be reached") as failed:
        api_of(books).study_create(PLAN)
    assert not failed.value.uncertain


def test_only_tls_carries_the_token() -> None:
    with pytest.raises(PanelApiError, match="https"):
        ProlificApi(ApiRequests("http://prolific.example", "Prolific", TOKEN)).account()


def test_an_id_cannot_lead_to_another_address(books: ProlificBooks) -> None:
    for odd in ("../users/me", "a/b", "", "x?y=1"):
        with pytest.raises(PanelApiError, match="can't be an id"):
            api_of(books).study(odd)


def test_all_pages_of_submissions_are_read(books: ProlificBooks) -> None:
    api = api_of(books)
    study = api.study_create(replace(PLAN, places=230)).id
    api.study_move(study, PUBLISH)
    made = [books.arrive(study, f"p{number}") for number in range(205)]
    books.move(made[0], "TIMED-OUT")
    books.complete(made[1], "EXAM")
    found = {one.id: one for one in api.submissions(study)}
    assert set(found) == set(made)
    assert found[made[0]].status == "TIMED OUT"
    assert (found[made[1]].status, found[made[1]].code) == ("SCREENED OUT", "EXAM")
    assert found[made[2]].person == "p2"


def test_a_group_is_filled_once_however_often_it_is_asked_for(books: ProlificBooks) -> None:
    api = api_of(books)
    books.troubles = [("POST /api/v1/participant-groups/", "lost")]
    with pytest.raises(PanelApiError):
        api.group_fill(workspace=WORKSPACE, group="", name="Passed", people=["a"])
    group = api.group_fill(workspace=WORKSPACE, group="", name="Passed", people=["a", "b"])
    assert api.group_fill(workspace=WORKSPACE, group=group, name="Passed", people=["b", "c"]) == group
    assert [one["people"] for one in books.groups.values()] == [{"a", "b", "c"}]


def test_webhooks_are_subscribed_to_and_confirmed_once(books: ProlificBooks) -> None:
    api, url = api_of(books), "https://lab.example/recruitment/prolific/x/"
    assert api.hooks(workspace=WORKSPACE, url=url) == ()
    books.troubles = [
        ("POST /api/v1/hooks/subscriptions/0", "500")
    ]  # the confirmation, which may be repeated
    secret, hooks = api.hooks_set_up(workspace=WORKSPACE, url=url)
    assert {hook.kind for hook in hooks} == {"submission.status.change", "study.status.change"}
    assert all(one["is_enabled"] for one in books.hooks.values())
    assert api.hooks_set_up(workspace=WORKSPACE, url=url) == (secret, hooks), (
        "the secret of others isn't replaced"
    )
    assert len(books.hooks) == 2
    next(iter(books.hooks.values()))["is_enabled"] = False
    api.hooks_set_up(workspace=WORKSPACE, url=url)
    assert len(api.hooks(workspace=WORKSPACE, url=url)) == 2

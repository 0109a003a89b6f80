"""Create a study at the panel from ours, steer it, and bring both sides together."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from annotator.models import AuditEntry, PanelStudy, Participation, Qualification, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.panel_study import (
    panel_study_create,
    panel_study_follow,
    panel_study_mend,
    panel_study_move,
    panel_study_places_set,
    panel_study_preview,
)
from annotator.services.study import study_close, study_pause, study_resume, study_update
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.panel_people import LINK, connected_study, created, joins, published, values
from tests.factories import make_study
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


def test_a_preview_has_the_cost_and_creates_nothing(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    shown = panel_study_preview(study=study, connection=connection, values=values(), link=LINK)
    assert (shown.cost, shown.rewards, shown.fees) == (Decimal("2.80"), Decimal("2.00"), Decimal("0.80"))
    assert shown.per_hour == Decimal("12.00")
    assert shown.time == "about 24 minutes", "two places, of which five are taken in an hour"
    assert shown.payload["external_study_url"] == LINK
    assert books.studies == {}


def test_a_prediction_is_of_the_study_that_would_be_created(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    asked = values(places=40, reward=Decimal("2.40"), minutes=12, devices=["desktop"], filters="Age: 18-40")
    shown = panel_study_preview(study=study, connection=connection, values=asked, link=LINK)
    [sent] = [
        body for _, path, body, _, _ in books.exchanges if path.endswith("/predicted-recruitment-time/")
    ]
    assert sent == {
        "workspace_id": connection.remote_workspace, "study_type": "SINGLE", "total_available_places": 40, "reward": 240,
        "estimated_completion_time": 12, "device_compatibility": ["desktop"],
        "filters": [{"filter_id": "age", "selected_range": {"lower": 18, "upper": 40}}],
    }  # fmt: skip
    assert {name: shown.payload[name] for name in sent if name in shown.payload} == {
        name: sent[name] for name in sent if name in shown.payload
    }, "what is predicted is what would be created"
    assert shown.time == "about 8 hours"


def test_without_a_prediction_the_cost_is_shown_nevertheless(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    books.troubles = [("predicted-recruitment-time", "500")] * 3
    shown = panel_study_preview(study=study, connection=connection, values=values(), link=LINK)
    assert (shown.time, shown.cost) == ("", Decimal("2.80"))
    assert books.studies == {}


def test_a_study_is_created_as_a_draft_and_its_links_are_accepted(
    books: ProlificBooks, researcher: User
) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    there = books.studies[row.remote_id]
    assert there["status"] == "UNPUBLISHED"
    assert (there["reward"], there["total_available_places"]) == (100, 2)
    assert [one["code"] for one in there["completion_codes"]] == ["DONE", "NONE"]
    assert study.panel_study_ids == row.remote_id
    assert AuditEntry.objects.get(action="recruitment.created").target == row.remote_id


def test_a_lost_reply_does_not_make_a_second_draft(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    books.troubles = [("POST /api/v1/studies/", "lost")]
    with pytest.raises(ValidationError, match="may have been carried out"):
        created(study, connection)
    created(study, connection)
    assert len(books.studies) == PanelStudy.objects.count() == 1


def test_what_is_wrong_is_said_at_its_field(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)

    def fault(**changes: object) -> dict[str, list[str]]:
        with pytest.raises(ValidationError) as refused:
            panel_study_preview(study=study, connection=connection, values=values(**changes), link=LINK)
        return dict(refused.value.message_dict)

    assert "Did you mean “Fluent languages”" in fault(filters="Languages: English")["filters"][0]
    assert "vouched for holds this" in fault(group="simulation")["group"][0]
    assert "screen-out reward" in fault(action_nothing_left_code="screen_out")["screen_out_reward"][0]
    study.currency = "USD"
    assert "account in GBP" in fault()["reward"][0]
    assert books.studies == {}


def test_filters_groups_and_earlier_studies_are_sent(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    make_study(by=researcher, panel="prolific", panel_links="plain", panel_study_ids="earlier1, earlier2")
    person = joins(study, "passed-1", "s1")
    Qualification.objects.create(rater=person.rater, workspace=study.workspace, hit_type="simulation")
    joins(study, "failed-1", "s2")
    row = created(study, connection, filters="Age: 18-40\n", group="simulation", keep_out=True)
    filters = {one["filter_id"]: one for one in books.studies[row.remote_id]["filters"]}
    assert filters["age"]["selected_range"] == {"lower": 18, "upper": 40}
    assert filters["previous_studies_blocklist"]["selected_values"] == ["earlier1", "earlier2"]
    [group] = books.groups.items()
    assert filters["participant_group_allowlist"]["selected_values"] == [group[0]]
    assert group[1]["people"] == {"passed-1"}


def test_it_is_published_only_while_ours_is_live(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    study_pause(study=study)
    with pytest.raises(ValidationError, match="Start it here first"):
        panel_study_move(row=PanelStudy.objects.get(pk=row.pk), transition="publish", by=None)
    study_resume(study=study)
    for transition, state in [
        ("publish", "live"),
        ("pause", "paused"),
        ("resume", "live"),
        ("stop", "ended"),
    ]:
        row = panel_study_move(row=PanelStudy.objects.get(pk=row.pk), transition=transition, by=researcher)
        assert row.state == state
    with pytest.raises(ValidationError, match="is ended"):
        panel_study_move(row=row, transition="pause", by=None)
    assert AuditEntry.objects.filter(action="recruitment.changed", actor=researcher).count() == 4


def test_a_doubled_click_moves_a_study_once(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    same = PanelStudy.objects.select_related("study").get(pk=row.pk)
    for one in (row, same):  # the second has read the study before the first had changed it
        assert panel_study_move(row=one, transition="publish", by=researcher).state == "live"
    fresh = PanelStudy.objects.select_related("study").get(pk=row.pk)
    assert panel_study_move(row=fresh, transition="publish", by=researcher).state == "live"
    assert fresh.fault == ""
    sent = [
        body
        for method, path, body, _, _ in books.exchanges
        if path.endswith("/transition/") and method == "POST"
    ]
    assert sent == [{"action": "PUBLISH"}] * 2, "the panel refused the second"
    PanelStudy.objects.filter(pk=row.pk).update(state="paused", paused_by_sweep=True)
    books.studies[row.remote_id]["status"] = "PAUSED"
    fresh = PanelStudy.objects.select_related("study").get(pk=row.pk)
    panel_study_move(row=fresh, transition="pause", by=researcher)
    fresh.refresh_from_db()
    assert not fresh.paused_by_sweep, "a person's pause isn't lifted by itself"


def test_places_of_a_published_study_only_grow(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = panel_study_places_set(row=published(study, connection), places=5, by=None)
    assert books.studies[row.remote_id]["total_available_places"] == 5
    with pytest.raises(ValidationError, match="can only grow"):
        panel_study_places_set(row=row, places=4, by=None)


def does(person: Participation, tasks: int) -> None:
    for _ in range(tasks):
        task = assignment_next(participation=person)
        assert task is not None
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})


def test_a_draft_is_lowered_before_it_is_published_when_less_is_left_to_do(
    books: ProlificBooks, researcher: User
) -> None:
    study, connection = connected_study(
        researcher, items=4, max_items_per_rater=2
    )  # eight tasks, two for each person
    row = created(study, connection, places=6)
    fresh = lambda: PanelStudy.objects.select_related("study").get(pk=row.pk)  # noqa: E731
    there = books.studies[row.remote_id]
    panel_study_mend(row=fresh(), link=LINK, by=None)
    assert there["total_available_places"] == 6, "as many as were chosen, while nothing was done"
    does(joins(study, "by-link", "elsewhere"), 2)
    row = panel_study_move(row=fresh(), transition="publish", by=researcher)
    assert there["total_available_places"] == row.remote["places"] == 3
    [entry] = AuditEntry.objects.filter(action="recruitment.changed", after__places=3)
    assert entry.actor == researcher
    with pytest.raises(ValidationError, match="can only grow"):
        panel_study_places_set(row=fresh(), places=2, by=None)


def test_a_draft_matches_ours_with_fewer_places(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher, items=4, max_items_per_rater=2)
    row = created(study, connection, places=4)
    does(joins(study, "by-link", "elsewhere"), 2)
    row, left = panel_study_mend(row=PanelStudy.objects.get(pk=row.pk), link=LINK, by=None)
    assert (row.remote["places"], left) == (3, [])


def test_a_draft_of_a_study_that_is_complete_is_not_published(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher, redundancy=1)
    row = created(study, connection)
    does(joins(study, "by-link", "elsewhere"), 2)
    with pytest.raises(ValidationError, match="nobody is needed"):
        panel_study_move(row=PanelStudy.objects.get(pk=row.pk), transition="publish", by=None)
    assert books.studies[row.remote_id]["status"] == "UNPUBLISHED"


def test_one_button_mends_a_draft(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    study = study_update(study=study, completion_code="DONE-2")
    books.studies[row.remote_id]["name"] = "Renamed there"
    row, left = panel_study_mend(row=PanelStudy.objects.get(pk=row.pk), link=LINK, by=None)
    there = books.studies[row.remote_id]
    assert (there["name"], there["completion_codes"][0]["code"], left) == ("Owls", "DONE-2", [])


def test_one_button_brings_a_published_study_to_the_state_of_ours(
    books: ProlificBooks, researcher: User
) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection)
    study_pause(study=study)
    mend = lambda: panel_study_mend(row=PanelStudy.objects.get(pk=row.pk), link=LINK, by=None)  # noqa: E731
    assert mend()[0].state == "paused"
    study_resume(study=study)
    assert mend()[0].state == "live"
    study_update(study=study, completion_code="NEW")
    assert mend()[1] == ["codes"], "what can't be changed after publication is named"
    study_close(study=study)
    assert mend()[0].state == "ended"


def test_following_the_work_needs_a_limit(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    with pytest.raises(ValidationError, match="most places"):
        panel_study_follow(row=row, follows=True, most_places=None, by=None)
    assert panel_study_follow(row=row, follows=True, most_places=9, by=None).follows_work


def test_without_a_connection_nothing_is_sent(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    connection.delete()
    with pytest.raises(ValidationError, match="Connect it first"):
        panel_study_move(row=row, transition="publish", by=None)


def test_trouble_is_noted_with_the_study(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    del books.studies[row.remote_id]
    with pytest.raises(ValidationError, match="404"):
        panel_study_move(row=row, transition="stop", by=None)
    row.refresh_from_db()
    assert "404" in row.fault
    assert Study.objects.get(pk=study.pk).panel_study_ids == row.remote_id


def test_two_requests_at_once_create_one_draft(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    first = created(study, connection)
    again = panel_study_create(study=study, connection=connection, values=values(), link=LINK, by=None)
    assert again.pk != first.pk, "asked for a second time, on purpose: another draft"
    assert study.panel_study_rows.count() == 2

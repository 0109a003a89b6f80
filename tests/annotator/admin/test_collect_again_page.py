"""The tick that asks other people instead, on the pages that exclude, and the button on the list of exclusions."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import Exclusion, Membership, User
from annotator.services.exclusion import exclusion_make
from annotator.services.study import study_close
from tests.annotator.admin.study_forms import ROOT, page
from tests.annotator.services.collecting import filled, free_places
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_the_tick_on_the_page_of_a_rater(researcher_client: Client, researcher: User) -> None:
    study, people = filled(by=researcher)
    address = f"{ROOT}{study.pk}/exclude/rater/{people[0].rater_id}/"
    assert 'name="collect_again"' in researcher_client.get(address).content.decode()
    answer = researcher_client.post(address, {"reason": "a bot", "collect_again": "on"}, follow=True)
    assert "3 places are open for other people." in answer.content.decode()
    assert set(free_places(study).values()) == {1}


def test_the_tick_on_the_page_of_several_judgments(researcher_client: Client, researcher: User) -> None:
    study, _ = filled(by=researcher)
    query = "&".join(f"pk={pk}" for pk in study.judgments.values_list("pk", flat=True)[:2])
    address = f"{ROOT}{study.pk}/exclude/judgments/?{query}"
    answer = researcher_client.post(address, {"reason": "odd", "collect_again": "on"}, follow=True)
    assert "2 judgments excluded; 0 were already excluded. 2 places are open" in answer.content.decode()


def test_items_and_closed_studies_have_no_tick(researcher_client: Client, researcher: User) -> None:
    study, people = filled(by=researcher)
    item = study.items.first()
    assert "collect_again" not in page(researcher_client, f"{study.pk}/exclude/item/{item.pk}/")
    forged = {"reason": "x", "collect_again": "on"}
    researcher_client.post(f"{ROOT}{study.pk}/exclude/item/{item.pk}/", forged)
    study_close(study=study)
    assert "collect_again" not in page(researcher_client, f"{study.pk}/exclude/rater/{people[0].rater_id}/")
    researcher_client.post(f"{ROOT}{study.pk}/exclude/rater/{people[0].rater_id}/", forged)
    assert list(Exclusion.objects.values_list("collect_again", flat=True)) == [False, False]
    assert not free_places(study)


def test_an_exclusion_in_force_is_collected_again_from_the_list(
    researcher_client: Client, researcher: User
) -> None:
    study, people = filled(by=researcher)
    made = exclusion_make(study=study, by=None, reason="a bot", rater=people[0].rater)
    assert "Ask other people" in page(researcher_client, f"{study.pk}/exclusions/")
    address = f"{ROOT}{study.pk}/exclusions/{made.pk}/collect/"
    assert researcher_client.get(address).status_code == 405
    answer = researcher_client.post(address, follow=True).content.decode()
    assert "3 places are open for other people." in answer
    assert "<td>3 places</td>" in answer
    assert "Ask other people" not in answer


def test_viewers_and_strangers_open_no_places(researcher: User) -> None:
    study, people = filled(by=researcher)
    made = exclusion_make(study=study, by=None, reason="a bot", rater=people[0].rater)
    viewer = make_user("viewer", staff=True)
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    for user in (viewer, make_user("stranger", staff=True)):
        client = Client()
        client.force_login(user)
        assert client.post(f"{ROOT}{study.pk}/exclusions/{made.pk}/collect/").status_code in (403, 404)
        assert client.post(f"/api/v1/exclusions/{made.pk}/collect/").status_code in (403, 404)
    assert not free_places(study)


def test_the_list_has_the_same_queries_however_many_exclusions(
    researcher_client: Client, researcher: User
) -> None:
    study, _ = filled(by=researcher)

    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            page(researcher_client, f"{study.pk}/exclusions/")
        return len(found)

    judgments = list(study.judgments.all())
    exclusion_make(study=study, by=None, reason="x", judgment=judgments[0], collect_again=True)
    queries()
    before = queries()
    for one in judgments[1:]:
        exclusion_make(study=study, by=None, reason="x", judgment=one, collect_again=True)
    assert queries() == before

"""Error pages: participants are told about their pay, researchers aren't."""

from __future__ import annotations

import pytest
from django.test import Client, RequestFactory

from annotator.web.views.errors import bad_request, broken, csrf_failure, forbidden, not_found
from tests.factories import make_study, make_user

PAY = "counts towards your pay"
VIEWS = (bad_request, forbidden, not_found, broken, csrf_failure)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("path", ["/admin/annotator/study/1/", "/studies/1/reports/", "/reports/7/"])
def test_researchers_see_no_text_about_annotators_pay(view, path) -> None:
    page = view(RequestFactory().get(path)).content.decode()
    assert PAY not in page
    assert "Your work and pay" not in page
    assert "What to do now" in page


@pytest.mark.parametrize("view", VIEWS)
def test_participants_are_told_what_an_error_means_for_their_pay(view) -> None:
    assert PAY in view(RequestFactory().get("/study/owls/task/")).content.decode()


@pytest.mark.django_db
def test_researchers_are_told_that_a_study_is_somebody_elses(client: Client) -> None:
    client.force_login(make_user("rosa", staff=True))
    reply = client.get(f"/admin/annotator/study/{make_study().pk}/live/")
    assert reply.status_code == 404
    page = reply.content.decode()
    assert "your role doesn't include it" in page
    assert PAY not in page

"""Small changes over the API: the reason of an exclusion, and an image that nothing shows."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from annotator.models import User
from annotator.services.exclusion import exclusion_make
from tests.factories import make_image, make_item, make_judgment, make_rater, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


@pytest.fixture
def rosa() -> User:
    return make_user("rosa", staff=True)


@pytest.fixture
def client(rosa: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(rosa)
    return client


def test_the_reason_of_an_exclusion_is_corrected_and_nothing_else(client: APIClient, rosa: User) -> None:
    study = make_study(by=rosa, slug="owls")
    judgment = make_judgment(make_item(study), make_rater("ann"))
    exclusion = exclusion_make(study=study, by=None, judgment=judgment, reason="to fast")
    address = f"/api/v1/exclusions/{exclusion.pk}/"
    assert client.patch(address, {"reason": "too fast"}, format="json").json()["reason"] == "too fast"
    assert "rater" in client.patch(address, {"reason": "x", "rater": "ann"}, format="json").json()["errors"]
    assert "reason" in client.patch(address, {}, format="json").json()["errors"]
    exclusion.refresh_from_db()
    assert (exclusion.reason, exclusion.lifted_at) == ("too fast", None)


def test_an_image_that_nothing_shows_is_deleted(client: APIClient, rosa: User) -> None:
    study, other = make_study(by=rosa, slug="owls"), make_study(slug="others")
    image, elsewhere = make_image(study), make_image(other)
    (shown,) = client.get("/api/v1/studies/owls/images/").json()
    assert shown["id"] == image.pk
    assert client.delete(f"/api/v1/studies/owls/images/{elsewhere.pk}/").status_code == 404
    assert client.delete(f"/api/v1/studies/owls/images/{image.pk}/").status_code == 204
    assert (study.images.count(), other.images.count()) == (0, 1)

"""A researcher who is logged in, and a study with judgments."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.models import Study, User
from tests.factories import make_item, make_judgment, make_rater, make_study


@pytest.fixture
def researcher_client(researcher: User) -> Client:
    client = Client()
    client.force_login(researcher)
    return client


@pytest.fixture
def judged_study(researcher: User) -> Study:
    study = make_study(by=researcher, slug="full")
    for key in ("a", "b"):
        item = make_item(study, key=key)
        for name in ("ann", "bob"):
            make_judgment(item, make_rater(name))
    return study

"""A researcher who is logged in."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.models import User


@pytest.fixture
def researcher_client(researcher: User) -> Client:
    client = Client()
    client.force_login(researcher)
    return client

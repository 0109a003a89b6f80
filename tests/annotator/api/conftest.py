from __future__ import annotations

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from annotator.models import User
from annotator.services.api_tokens import api_token_make
from tests.factories import make_user


@pytest.fixture(autouse=True)
def _no_throttle_left() -> None:
    cache.clear()


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {api_token_make(user=user)}")
    return client


@pytest.fixture
def api(researcher: User) -> APIClient:
    """The researcher, by token."""
    return client_of(researcher)


@pytest.fixture
def other(db: None) -> APIClient:
    """Another researcher."""
    return client_of(make_user("otto", staff=True))

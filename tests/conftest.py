"""Every session runs on a real Postgres and a real Redis of its own and cannot leave this machine.

They are started here, while pytest reads this file, because Django's settings are read right after it.
``DATABASE_URL`` and ``REDIS_URL`` name other servers; xdist's workers inherit the controller's.
"""

from __future__ import annotations

import os

import pytest

from tests import network
from tests.servers import SessionServers, own_share

network.block()
_servers = SessionServers()
if "PYTEST_XDIST_WORKER" in os.environ:
    own_share()
else:
    _servers.start()
os.environ["DJANGO_SETTINGS_MODULE"] = "foretell.settings"
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # playwright keeps an event loop in the tests' thread

import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402

# Logging in is a step of many tests and a subject of few: those set the real one.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_unconfigure(config: pytest.Config) -> None:
    _servers.stop()

"""Every test session has its own Postgres and Redis and can't connect to other machines.

The servers start while pytest imports this file, because Django's settings are read right afterwards. ``DATABASE_URL``
and ``REDIS_URL`` select other servers; xdist's workers inherit those of the controller.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import hangs, network, order, second_try
from tests import public_data as public_data_files
from tests.public_data import REAL, PublicData
from tests.servers import SessionServers, use_own_redis_and_files

network.block()
# Tests start hundreds of Python processes. Without stored bytecode each compiles the whole application anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Tests must not fail because the machine is busy, and a change must not be refused for an example that it has
# nothing to do with: examples are the same in each run. ARGS="--hypothesis-profile=explore" draws new ones.
_patient = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("repeatable", _patient, derandomize=True)
hypothesis.settings.register_profile("explore", _patient, max_examples=1000)
hypothesis.settings.load_profile("repeatable")
_servers = SessionServers()
if "PYTEST_XDIST_WORKER" in os.environ:
    use_own_redis_and_files()
else:
    _servers.start()
os.environ["DJANGO_SETTINGS_MODULE"] = "foretell.settings"
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # playwright has an event loop in the thread of the tests

import django  # noqa: E402

django.setup()

import pytest_django  # noqa: E402
import pytest_django.fixtures  # noqa: E402
import redis  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from pytest_django.plugin import blocking_manager_key  # noqa: E402

import foretell.urls  # noqa: E402, F401  the pages, over which some tests' parameters go
from tests import emptying  # noqa: E402
from tests.processes import WebProcess, WorkerProcess  # noqa: E402

if os.environ["REDIS_URL"] != settings.CELERY_BROKER_URL:
    raise RuntimeError(
        "the settings were read before the servers of this session were started; see pytest_xdist_setupnodes"
    )

# The product continues without a cache that takes longer than half a second, and without a database that takes longer than
# five. On a busy machine that would be tested instead of what a test is about.
settings.CACHES["default"].setdefault("OPTIONS", {}).update(socket_timeout=300, socket_connect_timeout=300)
settings.DATABASES["default"].setdefault("OPTIONS", {})["connect_timeout"] = 300
if template := os.environ.get("TESTS_TEMPLATE"):
    connection.settings_dict["TEST"]["TEMPLATE"] = template
# A fast hasher, because many tests log in. Tests of passwords set the real one.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# WhiteNoise otherwise lists all static files for each client of a test, which takes longer than most requests.
settings.WHITENOISE_AUTOREFRESH = True
emptying.install()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: object) -> None:
    """xdist's workers must not inherit this name: with it pytest-django reads the settings before this file.

    Their settings then named the controller's Redis database, and the processes that a test starts its own
    (``use_own_redis_and_files``): a Celery worker waited at one for what the test had sent to the other.
    """
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)
    if _servers.servers is not None:  # the migrations run once, and each worker copies their tables
        with config.stash[blocking_manager_key].unblock():
            call_command("migrate", verbosity=0, interactive=False)
            connection.close()
        os.environ["TESTS_TEMPLATE"] = connection.settings_dict["NAME"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadgroup":
        return None
    from tests.groups import Groups  # here, because sessions in one process work without xdist

    return Groups(config, log)


# Last, so that the order of pytest-randomly remains among tests of the same place.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order.in_order(items)
    second_try.mark(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What has been imported stays until the end: the garbage collector needn't look through it again and again."""
    gc.collect()
    gc.freeze()


_failures = second_try.Failures()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _failures.add(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _failures.add(report)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _failures.keep(session.config, exitstatus)


def pytest_unconfigure(config: pytest.Config) -> None:
    _servers.stop()


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[None]:
    """After a test without a transaction Django empties all tables, which the audit trail refuses outside of tests."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotator_auditentry DISABLE TRIGGER audit_no_truncate")
    yield
    # The browser keeps connections to the live server, each of which keeps one to the database that is now dropped.
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = current_user"
        )
    connection.close()


@pytest.fixture
def web_process(transactional_db: None, tmp_path: Path) -> Iterator[WebProcess]:
    """A real web server on the test's database, which the test can ``kill()`` and ``start()`` again."""
    process = WebProcess(tmp_path)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def worker_process(transactional_db: None, tmp_path: Path) -> Iterator[WorkerProcess]:
    """A real Celery worker on the test's database and Redis, with its queues empty at the start."""
    redis.Redis.from_url(settings.CELERY_BROKER_URL).flushdb()
    process = WorkerProcess(tmp_path, SOLE_WORKER="1")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    """The tasks that a test queues, as (name, arguments). They aren't sent."""
    found: list[tuple[str, dict[str, object]]] = []

    def enqueue(name: str, *, countdown: float = 0.0, **arguments: object) -> bool:
        found.append((name, arguments))
        return True

    monkeypatch.setattr("annotator.core.jobs.enqueue", enqueue)
    return found


@pytest.fixture
def stored_files(settings: pytest_django.fixtures.SettingsWrapper, tmp_path: Path) -> Path:
    """The empty folder in which the test's uploads and exports are stored."""
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path)},
        }
    }
    return tmp_path


@pytest.fixture(scope="session")
def lookalikes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files like the public data sets, written once per session."""
    return public_data_files.write(tmp_path_factory.mktemp("public-data"))


@pytest.fixture(params=["look-alike", "real"])
def public_data(request: pytest.FixtureRequest) -> PublicData:
    """The public data sets beside the project, if they are there, and files with the same form everywhere."""
    if request.param == "real":
        if not REAL.is_dir():
            pytest.skip("the public data are not beside the project")
        return PublicData(REAL, real=True)
    return PublicData(request.getfixturevalue("lookalikes"), real=False)


@contextmanager
def without_browser_loop(item: pytest.Item) -> Iterator[None]:
    """Playwright leaves its event loop marked as running in the thread of the tests.

    Tests without a browser run their own loops, so the mark is removed while they run.
    """
    if {"page", "phone", "lone_page", "browser", "no_script_page"} & set(getattr(item, "fixturenames", ())):
        yield
        return
    running = asyncio.events._get_running_loop()
    asyncio.events._set_running_loop(None)
    try:
        yield
    finally:
        asyncio.events._set_running_loop(running)


def pytest_enter_pdb() -> None:
    hangs.release()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    if item.get_closest_marker(second_try.MARK) is None or item.config.getini("faulthandler_timeout") in (
        0,
        "0",
    ):
        return (yield)
    with hangs.watched(item.nodeid, seconds=hangs.limit(item.nodeid)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with without_browser_loop(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with without_browser_loop(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    # Also here: Django has separate connections for code with and without a running loop, and a transaction must be
    # rolled back on the connection on which it began.
    with without_browser_loop(item):
        return (yield)

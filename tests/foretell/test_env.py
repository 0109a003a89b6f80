"""The environment: documentation, error messages, and the settings that production refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from foretell import env
from tests.foretell.env_names import names_explained, names_read

COMPOSE_ONLY = {
    "SITE", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "POSTGRES_MEMORY", "POSTGRES_SHARED_BUFFERS", "POSTGRES_CACHE",
}  # fmt: skip
GOOD = {
    "FORETELL_PRODUCTION": "1",
    "SECRET_KEY": "kq3-9vT_wzR4mYp8LxN2sB6hJd0fGc7aUe5iOq1XtVbMnZrW-S",
    "DATABASE_URL": "postgres://foretell:secret@db.example:5432/foretell",
    "REDIS_URL": "redis://:secret@redis.example:6379/0",
    "ALLOWED_HOSTS": "studies.example.org",
    "PROXIES": "1",
    "EMAIL_URL": "smtp+tls://user:password@mail.example:587",
}


def python(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    clean = {
        key: value
        for key, value in os.environ.items()
        if key not in {*names_read(), "DJANGO_ALLOW_ASYNC_UNSAFE"}
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, "DATA_DIR": "/nonexistent", **settings},
        cwd=env.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_example_file_explains_exactly_the_settings_that_are_read() -> None:
    assert len(names_read()) > 20
    assert names_explained() - COMPOSE_ONLY - set(env.LLM_KEYS) == names_read()


def test_nothing_else_reads_the_environment() -> None:
    reading = re.compile(r"os\.environ(?:\.get\(|\[)|getenv\(|environ\.Env\(\)")
    allowed = {"foretell/env.py"}
    passed_on = {
        "foretell/embedded/postgres.py",
        "foretell/embedded/redis.py",
    }  # pass on PATH to the programs
    offenders = [
        str(path.relative_to(env.ROOT))
        for room in ("foretell", "annotator", "evaluation")
        for path in (env.ROOT / room).rglob("*.py")
        if reading.search(path.read_text())
    ]
    assert set(offenders) - allowed - passed_on == set()


def test_a_complete_production_environment_starts() -> None:
    done = python("import django; django.setup = None; import foretell.settings as s; print(s.DEBUG)", **GOOD)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is missing"),
        ({"SECRET_KEY": env.DEVELOPMENT_KEY}, "SECRET_KEY is a published default"),
        ({"SECRET_KEY": "django-insecure-" + "x" * 50}, "SECRET_KEY is a published default"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY is too short"),
        ({"SECRET_KEY": "ab" * 30}, "too simple"),
        ({"DEBUG": "1"}, "DEBUG is on"),
        ({"DATABASE_URL": ""}, "DATABASE_URL is missing"),
        ({"DATABASE_URL": "sqlite:///db"}, "DATABASE_URL must begin with postgres://"),
        ({"REDIS_URL": ""}, "REDIS_URL is missing"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is missing"),
        ({"ALLOWED_HOSTS": "a.example,*"}, "ALLOWED_HOSTS is *"),
        ({"PROXIES": ""}, "PROXIES is missing"),
        ({"EMAIL_URL": ""}, "EMAIL_URL is missing"),
        ({"EMAIL_URL": "consolemail://"}, "which sends no mail"),
    ],
)
def test_production_refuses_to_start_and_says_why(change: dict[str, str], said: str) -> None:
    done = python("import foretell.settings", **{**GOOD, **change})
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n- ") == 1  # only that problem


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"PORT": "http"}, "PORT must be a whole number of at least 1, not 'http'"),
        ({"PORT": "0"}, "PORT must be a whole number"),
        ({"WEB_WORKERS": "-1"}, "WEB_WORKERS must be a whole number"),
        ({"DEBUG": "maybe"}, "DEBUG must be 1 or 0, not 'maybe'"),
    ],
)
def test_an_invalid_value_is_reported_without_a_traceback(change: dict[str, str], said: str) -> None:
    done = python("import foretell.env", **change)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_value_means_not_set() -> None:
    done = python("from foretell import env; print(env.PORT, env.DEBUG)", PORT="", DEBUG="")
    assert done.stdout.split() == ["8000", "False"]


def test_manage_py_uses_the_servers_of_make_run_except_in_production(tmp_path) -> None:
    (tmp_path / "servers.json").write_text('{"database_url": "postgres://there", "secret_key": "theirs"}')
    show = "from foretell import env; print(env.DATABASE_URL or '-', env.SECRET_KEY or '-')"
    assert python(show, DATA_DIR=str(tmp_path)).stdout.split() == ["postgres://there", "theirs"]
    assert python(show, DATA_DIR=str(tmp_path), FORETELL_PRODUCTION="1").stdout.split() == ["-", "-"]


def test_deploy_check_is_clean_with_production_settings() -> None:
    code = (
        "import sys; sys.argv = ['manage.py', 'check', '--deploy', '--fail-level', 'WARNING'];"
        "import manage; sys.exit(manage.main())"
    )
    done = python(code, **GOOD)
    assert done.returncode == 0, done.stderr

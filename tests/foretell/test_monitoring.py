"""Health, metrics, logs with request ids, Sentry and the doctor."""

from __future__ import annotations

import json
import logging
import re
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from annotator.core.jobs import enqueue
from annotator.models import Assignment
from annotator.services.assignment import assignment_next
from evaluation.models import Run
from foretell import doctor, health, sentry
from foretell.env import SettingError
from foretell.logs import HideSecrets, hide_secrets
from foretell.requests import AddContext, JsonFormatter, RequestIdMiddleware, request_id
from tests.factories import make_participation, make_study
from tests.processes import WorkerProcess, wait_until

TOKEN = "a-token-of-this-test-only"


@pytest.fixture
def scrape(client: Client, settings: object):  # type: ignore[no-untyped-def]
    """The metrics by name and label."""
    settings.METRICS_TOKEN = TOKEN  # type: ignore[attr-defined]

    def read() -> dict[str, float]:
        response = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}", "Host": "10.1.2.3"})
        assert response.status_code == 200
        assert response["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = [line for line in response.content.decode().splitlines() if not line.startswith("#")]
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}

    return read


@pytest.mark.django_db
def test_metrics_describe_the_installation(scrape) -> None:  # type: ignore[no-untyped-def]
    study = make_study(items=2, launched=True)
    assignment = assignment_next(participation=make_participation(study))
    values = scrape()
    assert values["foretell_database_up"] == values["foretell_redis_up"] == values["foretell_leases"] == 1
    assert values["foretell_lease_overdue_seconds"] == 0
    assert values["foretell_disk_free_bytes"] > 0
    assert values["foretell_database_connections"] >= 1
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(minutes=5))
    assert 299 < scrape()["foretell_lease_overdue_seconds"] < 400


@pytest.mark.django_db
def test_metrics_need_the_token(client: Client, settings: object) -> None:
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = TOKEN  # type: ignore[attr-defined]
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_the_grafana_board_shows_metrics_that_exist() -> None:
    from foretell import env, metrics

    board = (env.ROOT / "docs" / "grafana.json").read_text()
    source = (env.ROOT / "foretell" / "metrics.py").read_text()
    named = set(re.findall(r'gauge\(\s*"([a-z_]+)"', source))
    shown = set(re.findall(r"foretell_([a-z_]+)", board))
    assert shown <= named
    assert len(shown) >= 8
    assert json.loads(board)["panels"]
    assert metrics.CONTENT_TYPE


def test_liveness_does_not_depend_on_the_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bool:
        raise AssertionError("liveness must not ask the database: a restart would not help")

    monkeypatch.setattr(health, "database_answers", refuse)
    response = client.get("/livez", headers={"Host": "not-an-allowed-host"})
    assert (response.status_code, response.json()) == (200, {"process": "ok"})


@pytest.mark.django_db
def test_readiness_is_503_without_postgres(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(health, "database_answers", lambda: False)
    assert client.get("/readyz").status_code == 503


@pytest.mark.django_db
def test_every_reply_has_a_request_id_and_takes_a_harmless_one_from_the_proxy(client: Client) -> None:
    own = client.get("/login/")["X-Request-ID"]
    assert re.fullmatch(r"[0-9a-f]{16}", own)
    assert client.get("/login/")["X-Request-ID"] != own
    assert client.get("/login/", headers={"X-Request-ID": "abc-12345678"})["X-Request-ID"] == "abc-12345678"
    forged = client.get("/login/", headers={"X-Request-ID": 'x"} forged {"level": "ERROR'})
    assert re.fullmatch(r"[0-9a-f]{16}", forged["X-Request-ID"])
    assert request_id.get() == ""


def test_log_lines_are_json_with_the_request_id_and_without_secrets() -> None:
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler = Keep()
    handler.setFormatter(JsonFormatter())
    handler.addFilter(HideSecrets())
    handler.addFilter(AddContext())
    logger = logging.getLogger("tests.monitoring")
    logger.addHandler(handler)

    def view(request: HttpRequest) -> HttpResponse:
        try:
            raise ValueError("cannot reach postgres://foretell:hunter2@db/x")
        except ValueError:
            logger.exception("failed with token=%s", "abcdef", extra={"run": 7})
        return HttpResponse()

    request = HttpRequest()
    request.META["HTTP_X_REQUEST_ID"] = "from-proxy-1"
    RequestIdMiddleware(view)(request)
    logger.removeHandler(handler)
    (line,) = lines
    written = json.loads(line)
    assert (written["request_id"], written["run"], written["level"]) == ("from-proxy-1", 7, "ERROR")
    assert "ValueError" in written["exception"]
    assert "hunter2" not in line
    assert "abcdef" not in line


@pytest.mark.django_db
def test_a_request_is_logged_by_the_name_of_its_page(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    study = make_study(items=1, launched=True)
    with caplog.at_level(logging.DEBUG, logger="foretell.request"):
        client.get(f"/join/{study.join_token}/", {"PROLIFIC_PID": "5f0a"})
    (record,) = [record for record in caplog.records if record.name == "foretell.request"]
    assert record.getMessage() == "GET annotator:invitation 200"
    assert study.join_token not in str(vars(record))
    assert "5f0a" not in str({**vars(record), "request": ""})


@pytest.mark.fault
@pytest.mark.django_db(transaction=True)
def test_a_workers_log_lines_name_the_run_and_the_request_that_queued_it(tmp_path: Path) -> None:
    redis.Redis.from_url(settings.CELERY_BROKER_URL).flushdb()
    worker = WorkerProcess(tmp_path, LOG_JSON="1", LOG_LEVEL="INFO")
    worker.start()
    try:
        token = request_id.set("request-of-this-test")
        enqueue("evaluation.run_work", run_pk=987654321)
        request_id.reset(token)

        def lines() -> list[dict[str, object]]:
            found = [json.loads(line) for line in worker.text().splitlines() if line.startswith("{")]
            return [one for one in found if one.get("run") == 987654321]

        (line, *_) = wait_until(lines, 300, "a line about the run")
    finally:
        worker.stop()
    assert line["job"] == "evaluation.run_work"
    assert line["request_id"] == "request-of-this-test"
    assert "succeeded" in str(line["message"])


def test_links_that_grant_access_are_not_logged() -> None:
    assert "secret" not in hide_secrets(
        "Not Found: /join/secret-token/ and /password/reset/MQ/secret-2/?next=x"
    )


def test_sentry_gets_nothing_about_people(monkeypatch: pytest.MonkeyPatch) -> None:
    event = {
        "request": {
            "method": "POST",
            "url": "https://x/join/secret/",
            "data": "typed",
            "headers": {"Cookie": "c"},
        },
        "user": {"ip_address": "192.0.2.7"},
        "logentry": {"message": "secret"},
        "exception": {"values": [{"type": "IntegrityError", "value": "Key (username)=(ada) exists"}]},
    }
    kept = json.dumps(sentry.without_personal_data(event, {}))
    assert "IntegrityError" in kept
    assert not re.search(r"secret|typed|192|ada", kept)


def test_the_real_sentry_sends_nothing_about_people() -> None:
    sdk = pytest.importorskip("sentry_sdk")
    sent: list[str] = []

    class Kept(sdk.Transport):  # type: ignore[name-defined, misc]
        def capture_envelope(self, envelope: object) -> None:
            sent.append(envelope.serialize().decode())  # type: ignore[attr-defined]

    def view(request: HttpRequest) -> HttpResponse:
        password = "typed-by-ada"
        raise ValueError(f"{password}: Key (username)=(ada) exists")

    sentry.install_sentry("https://key@sentry.example/1", transport=Kept)
    try:
        sdk.set_user({"username": "ada", "ip_address": "192.0.2.7"})
        logging.getLogger("tests.monitoring").error("ada failed at /join/secret-token/")
        request = RequestFactory(REMOTE_ADDR="192.0.2.7").post(
            "/join/secret-token/?PID=5f0a", {"name": "ada"}
        )
        try:
            view(request)
        except ValueError:
            sdk.capture_exception()
        sdk.flush()
    finally:
        sdk.init()
    whole = "".join(sent)
    assert "ValueError" in whole
    assert "test_monitoring" in whole, "the stack says where"
    assert not re.search(r"typed-by-ada\"|\(ada\)|192\.0\.2|secret-token|5f0a|\"ada\"", whole), whole


def test_sentry_without_its_package_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(SettingError, match=r"requirements-sentry\.lock"):
        sentry.install_sentry("https://key@sentry.example/1")


def levels(*, mail: bool = False) -> dict[str, str]:
    found: dict[str, str] = {}
    for finding in doctor.examine(mail=mail):
        found[finding.name] = max(
            found.get(finding.name, "ok"), finding.level, key=["ok", "warning", "error"].index
        )
    return found


@pytest.mark.django_db
def test_the_doctor_finds_a_missing_worker_and_nothing_else_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    found = levels()
    assert found["workers"] == "error"
    assert {name for name, level in found.items() if level == "error"} == {"workers"}
    with pytest.raises(SystemExit) as status:
        call_command("doctor", json=True)
    assert status.value.code == 1
    shown = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert shown["workers"]["advice"].startswith("Start one")
    assert {"versions", "postgres", "migrations", "redis", "beat", "jobs", "disk", "files", "clock"} <= set(
        shown
    )


@pytest.mark.django_db
def test_the_doctor_finds_late_periodic_tasks_a_slow_clock_and_missing_migrations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = make_study(items=1, launched=True)
    assignment = assignment_next(participation=make_participation(study))
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(minutes=5))
    monkeypatch.setattr(doctor.time, "time", lambda: 1_000_000.0)
    monkeypatch.setattr(
        doctor.MigrationExecutor,
        "migration_plan",
        lambda self, targets: [(next(iter(self.loader.disk_migrations.values())), False)],
    )
    found = levels()
    assert [found.get(name) for name in ("beat", "clock", "migrations")] == ["error"] * 3, found


@pytest.mark.django_db
def test_the_doctor_does_not_report_silenced_checks(
    settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.env, "PRODUCTION", True)
    messages = [finding.about for finding in doctor.check_settings()]
    assert any("SECURE_SSL_REDIRECT" in message for message in messages)
    assert not any("SECURE_HSTS_PRELOAD" in message or "SUBDOMAINS" in message for message in messages)


@pytest.mark.django_db
def test_the_doctor_continues_when_a_server_is_unavailable(settings: object) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]
    found = levels()
    assert found["redis"] == "error"
    assert found["disk"] == "ok"
    assert found["beat"] == "ok", "the checks that follow have their database"


@pytest.mark.django_db
def test_the_doctor_finds_a_mail_server_that_does_not_respond(settings: object) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"  # type: ignore[attr-defined]
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1  # type: ignore[attr-defined]
    assert levels(mail=True)["mail"] == "error"
    assert Run.objects.count() == 0

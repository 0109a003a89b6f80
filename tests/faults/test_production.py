"""The two production set-ups of the README: the steps of the image, and an installation behind a TLS proxy."""

from __future__ import annotations

import http.cookiejar
import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import ScryptPasswordHasher

from foretell import env
from foretell.celery import app
from tests.processes import WebProcess, WorkerProcess, shared_environment, wait_until
from tests.tls_proxy import TlsProxy

pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]
SITE = "studies.example.org"
#: Owns the collected files; another user serves them.
BUILDER = 12345
#: Removes the capabilities that let root read the files of others.
WITHOUT_PRIVILEGES = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def production(static: Path, **more: str) -> dict[str, str]:
    """The settings of an operator, without those of the test session."""
    return shared_environment(
        FORETELL_PRODUCTION="1",
        DEBUG="0",
        SECRET_KEY="kq3-9vT_wzR4mYp8LxN2sB6hJd0fGc7aUe5iOq1XtVbMnZrW-S",
        ALLOWED_HOSTS=f"{SITE},127.0.0.1",
        CSRF_TRUSTED_ORIGINS=f"https://{SITE}",
        PROXIES="1",
        EMAIL_URL="smtp+tls://user:password@127.0.0.1:1",
        STATIC_ROOT=str(static),
        HTTPS="",
        STATIC_HASHED="",
        **more,
    )


def dockerfile_step(word: str) -> str:
    """The shell command of the image's RUN step that mentions ``word``."""
    lines = (env.ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    (step,) = [step for step in re.findall(r"^RUN (.+)$", lines, re.MULTILINE) if word in step]
    return step.split("&&")[0].strip()


def test_static_files_that_one_user_collects_are_served_by_another(tmp_path: Path) -> None:
    static = tmp_path / "staticfiles"
    build = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    step = dockerfile_step("collectstatic").replace("python ", f"{sys.executable} ", 1)
    subprocess.run(
        f"umask 077; {step}", shell=True, check=True, cwd=env.ROOT, env=build | {"STATIC_ROOT": str(static)}
    )
    found = [static, *static.rglob("*")]
    assert len(found) > 50
    private = [path for path in found if path.stat().st_mode & 0o044 != 0o044]
    assert private == [], "readable by their owner only"
    if os.geteuid() or not shutil.which("setpriv"):
        return  # only root can give files away
    for path in found:
        os.chown(path, BUILDER, BUILDER)
    web = WebProcess(tmp_path)
    web.environment = production(static, WEB_WORKERS="1", DATA_DIR=str(tmp_path / "data"))
    web.command = [*WITHOUT_PRIVILEGES, *web.command]
    web.start()
    try:
        forwarded = {"X-Forwarded-Proto": "https"}
        page = urllib.request.Request(f"{web.url}/login/", headers=forwarded)
        html = urllib.request.urlopen(page).read().decode()
        (style, *_) = re.findall(r'href="(/static/css/app\.[0-9a-f]+\.css)"', html)
        served = urllib.request.urlopen(urllib.request.Request(f"{web.url}{style}", headers=forwarded))
        assert served.read(200)
        assert "immutable" in served.headers["Cache-Control"]
    finally:
        web.stop()


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[TlsProxy]:
    """The README's set-up without Docker: migrate, collectstatic, web and worker, behind a proxy that ends TLS."""
    static = tmp_path / "static"
    values = production(static, WEB_WORKERS="1", WORKER_CONCURRENCY="1", DATA_DIR=str(tmp_path / "data"))
    for command in (["migrate", "--noinput"], ["collectstatic", "--noinput", "--verbosity", "0"]):
        subprocess.run([sys.executable, "manage.py", *command], check=True, cwd=env.ROOT, env=values)
    redis.Redis.from_url(settings.CELERY_BROKER_URL).flushdb()
    web, worker = WebProcess(tmp_path), WorkerProcess(tmp_path)
    web.environment = worker.environment = values
    web.start()
    worker.start()
    proxy = TlsProxy(web.url, tmp_path, name=SITE)
    yield proxy
    proxy.stop()
    web.stop()
    worker.stop()


class Visitor:
    """A client with cookies that uses the site through the proxy."""

    def __init__(self, proxy: TlsProxy) -> None:
        self.base = proxy.url
        context = ssl.create_default_context(cafile=str(proxy.certificate))
        self.cookies = http.cookiejar.CookieJar()
        self.open = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.HTTPCookieProcessor(self.cookies)
        ).open

    def get(self, path: str) -> str:
        return self.open(f"{self.base}{path}").read().decode()

    def post(self, path: str, **fields: str) -> str:
        """Submit a form; return the path of the next page."""
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get(path))
        assert token is not None
        body = urllib.parse.urlencode({"csrfmiddlewaretoken": token[1], **fields}).encode()
        headers = {"Origin": self.base, "Referer": f"{self.base}{path}"}
        request = urllib.request.Request(f"{self.base}{path}", data=body, headers=headers)
        return self.open(request).geturl().removeprefix(self.base)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:  # type: ignore[override]
        """Redirects are not followed."""


def test_a_production_installation_behind_a_tls_proxy_serves_people(installation: TlsProxy) -> None:
    ada = get_user_model().objects.create_superuser("ada")
    ada.password = ScryptPasswordHasher().encode(
        "a-long-password-7", "some-salt"
    )  # the tests' own hasher is not production's
    ada.save()
    visitor = Visitor(installation)
    html = visitor.get("/login/")
    for asset in set(re.findall(r'(?:href|src)="(/static/[^"]+)"', html)):
        assert visitor.open(f"{visitor.base}{asset}").status == 200
    assert (
        visitor.post("/admin/login/", username="ada", password="a-long-password-7")
        == "/admin/annotator/study/"
    )
    assert all(cookie.secure for cookie in visitor.cookies)
    assert {cookie.get_nonstandard_attr("SameSite") for cookie in visitor.cookies} == {"Lax"}
    (session,) = [cookie for cookie in visitor.cookies if cookie.name == "sessionid"]
    assert session.has_nonstandard_attr("HttpOnly")
    with visitor.open(f"{visitor.base}/login/") as page:
        assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert visitor.get("/healthz") == '{"database": "ok", "redis": "ok"}'
    # Plain HTTP, as a proxy reports it, is redirected to HTTPS.
    plain = urllib.request.Request(f"{installation.target}/login/", headers={"X-Forwarded-Proto": "http"})
    with pytest.raises(urllib.error.HTTPError) as redirected:
        urllib.request.build_opener(NoRedirects).open(plain)
    assert redirected.value.code == 301
    assert redirected.value.headers["Location"].startswith("https://")
    # The worker takes queued tasks.
    app.send_task("annotator.leases_expire")
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    wait_until(lambda: broker.llen("celery") == 0 and broker.hlen("unacked") == 0, 300, "the task is done")

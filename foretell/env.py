"""The one module that reads the environment; recruitment panels read theirs with ``text``. ``.env.example`` explains every
variable (a test compares the two).

The file ``.env`` may set variables too; the environment takes precedence. An empty value means "not set", because Docker
Compose and similar tools pass unset variables on as empty ones.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ

#: The folder of the packages: the checkout, or where pip has installed them.
ROOT = Path(__file__).resolve().parent.parent
CHECKOUT = (ROOT / "manage.py").is_file()
#: What isn't Python: ``templates``, ``static`` and ``locale``. The wheel has them inside this package.
ASSETS = ROOT if CHECKOUT else Path(__file__).resolve().parent / "assets"
#: Where ``.env`` is, and what relative paths in it begin from.
HOME = ROOT if CHECKOUT else Path.cwd()
environ.Env.read_env(str(HOME / ".env"), overwrite=False)

DEVELOPMENT_KEY = "development-only-key-never-use-in-production"


class SettingError(SystemExit):
    """A setting has an invalid value. Ends the process with this message and without a traceback."""


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def number(name: str, default: int, *, least: int = 0) -> int:
    value = text(name, str(default))
    try:
        if (result := int(value)) >= least:
            return result
    except ValueError:
        pass
    raise SettingError(f"{name} must be a whole number of at least {least}, not {value!r}")


def flag(name: str, default: bool) -> bool:
    value = text(name, str(default)).lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    raise SettingError(f"{name} must be 1 or 0, not {value!r}")


def words(name: str, default: list[str]) -> list[str]:
    """The values of a list separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()] or default


def user_data_dir() -> Path:
    """The folder for this user's data, as the XDG Base Directory Specification names it."""
    return Path(os.environ.get("XDG_DATA_HOME", "") or Path.home() / ".local" / "share") / "foretell"


# Which kind of installation this is
PRODUCTION = flag("FORETELL_PRODUCTION", False)
DEBUG = flag("DEBUG", False)
# Whether `make run` serves a stand-in of a panel, so that recruitment can be tried without an account
PANEL_STAND_IN = flag("PANEL_STAND_IN", False)
# How many people come to a study of the demo from the stand-in; 0 for none
PANEL_PEOPLE = number("PANEL_PEOPLE", 0)
DATA_DIR = HOME / text("DATA_DIR", ".data" if CHECKOUT else str(user_data_dir()))


def embedded(key: str) -> Any:
    """A value from ``servers.json``, where `make run` records its servers for `manage.py`; empty in production."""
    if PRODUCTION:
        return ""
    try:
        return json.loads((DATA_DIR / "servers.json").read_text()).get(key, "")
    except (OSError, ValueError):
        return ""


# Secrets and servers. Without them, those of `make run` are used.
GIVEN_SECRET_KEY = text("SECRET_KEY")
GIVEN_DATABASE_URL = text("DATABASE_URL")
GIVEN_REDIS_URL = text("REDIS_URL")
SECRET_KEY: str = GIVEN_SECRET_KEY or embedded("secret_key") or ("" if PRODUCTION else DEVELOPMENT_KEY)
#: Earlier keys, newest first: what they signed stays valid while a new key is introduced.
SECRET_KEY_FALLBACKS = words("SECRET_KEY_FALLBACKS", [])
DATABASE_URL: str = GIVEN_DATABASE_URL or embedded("database_url")
#: A pooler in transaction mode before the same database, for web processes. DATABASE_URL stays the server itself.
DATABASE_POOLER_URL = text("DATABASE_POOLER_URL")
#: A streaming replica of the same database, read by reports, exports, releases and live pages.
DATABASE_REPLICA_URL = text("DATABASE_REPLICA_URL")
REDIS_URL: str = GIVEN_REDIS_URL or embedded("redis_url")

# Who can reach the site, and through which proxies
ALLOWED_HOSTS = words("ALLOWED_HOSTS", [] if PRODUCTION else ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS", [])
HTTPS = flag("HTTPS", PRODUCTION)
HSTS_SECONDS = number("HSTS_SECONDS", 31_536_000 if HTTPS else 0)
HSTS_PRELOAD = flag("HSTS_PRELOAD", False)
PROXIES = number("PROXIES", 0)
EMAIL_URL = text("EMAIL_URL", "consolemail://")
DEFAULT_FROM_EMAIL = text("DEFAULT_FROM_EMAIL", "foretell@localhost")

# Single sign-on of researchers with OpenID Connect
OIDC_ISSUER = text("OIDC_ISSUER").rstrip("/")
OIDC_CLIENT_ID = text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = text("OIDC_CLIENT_SECRET")
OIDC_NAME = text("OIDC_NAME", "single sign-on")
OIDC_REQUIRED_CLAIM = text("OIDC_REQUIRED_CLAIM")
OIDC_SECOND_FACTOR = flag("OIDC_SECOND_FACTOR", False)

# Limits that keep one visitor from taking places that others need
#: A researcher's session ends after this time without a request.
RESEARCHER_IDLE_MINUTES = number("RESEARCHER_IDLE_MINUTES", 720, least=5)
JOINS_PER_ADDRESS = number("JOINS_PER_ADDRESS", 100, least=1)
JOINS_PER_ACCOUNT = number("JOINS_PER_ACCOUNT", 50, least=1)

# Processes
HOST = text("HOST", "127.0.0.1")
PORT = number("PORT", 8000, least=1)
WEB_WORKERS = number("WEB_WORKERS", 2, least=1)
# A request is mostly Python, and one thread of a process runs Python at a time: under full load, 8 threads answer fewer
# requests than 4. More help only where requests wait, such as for slow uploads without a proxy that buffers them.
WEB_THREADS = number("WEB_THREADS", 4, least=1)
WORKER_CONCURRENCY = number("WORKER_CONCURRENCY", 2, least=1)
#: Queues of short periodic tasks, which annotators depend on, and of jobs that may take minutes.
SHORT_QUEUE, LONG_QUEUE = "celery", "long"
TASK_VISIBILITY_SECONDS = number("TASK_VISIBILITY_SECONDS", 900, least=1)
#: Set by `make run` for its workers: no other workers use the same Redis.
SOLE_WORKER = flag("SOLE_WORKER", False)
#: The demo shows its passwords, so by default it's loaded only where nobody else can reach the site.
DEMO = flag("DEMO", not PRODUCTION and HOST in ("127.0.0.1", "localhost", "::1"))
#: The scripted model of `make run`, which needs no key and costs nothing, behind the OpenAI protocol.
SCRIPTED_PROVIDER_URL: str = text("SCRIPTED_PROVIDER_URL") or embedded("provider_url")

# Language models
#: Hosts that may be used although they are private or don't use TLS: host or host:port.
LLM_ALLOWED_HOSTS = words("LLM_ALLOWED_HOSTS", [])
if SCRIPTED_PROVIDER_URL:  # part of the installation, so it stays allowed beside what the operator lists
    LLM_ALLOWED_HOSTS = [*LLM_ALLOWED_HOSTS, urlsplit(SCRIPTED_PROVIDER_URL).netloc]
LLM_ONLY_ALLOWED_HOSTS = flag("LLM_ONLY_ALLOWED_HOSTS", False)
#: Variable -> (the only host that may receive its value, the value).
LLM_KEYS = {
    variable: (host, text(variable))
    for variable, _, host in (
        entry.partition("@") for entry in words("LLM_KEYS", ["OPENAI_API_KEY@api.openai.com"])
    )
}
#: The folder with tiktoken's vocabularies; tiktoken itself reads it from the environment. Empty: tiktoken isn't used.
TIKTOKEN_CACHE_DIR = text("TIKTOKEN_CACHE_DIR")
#: How long a worker works at one run, when a run without a worker is queued again, and how often that's checked.
RUN_SLICE_SECONDS = number("RUN_SLICE_SECONDS", 45, least=1)
RUN_WAKE_SECONDS = number("RUN_WAKE_SECONDS", 30)
#: How long an endpoint may fail before the runs that ask it pause.
RUN_OUTAGE_SECONDS = number("RUN_OUTAGE_SECONDS", 900, least=1)
RUN_SWEEP_SECONDS = number("RUN_SWEEP_SECONDS", 5, least=1)

# Monitoring
LOG_LEVEL = text("LOG_LEVEL", "INFO").upper()
LOG_JSON = flag("LOG_JSON", False)
METRICS_TOKEN = text("METRICS_TOKEN")
SENTRY_DSN = text("SENTRY_DSN")
STATIC_ROOT = HOME / text("STATIC_ROOT", str(DATA_DIR / "static"))
STATIC_HASHED = flag("STATIC_HASHED", PRODUCTION)


def production_problems() -> list[str]:
    """The reasons why this environment mustn't be used in production, one sentence each; empty if there are none."""
    problems = []
    if not SECRET_KEY:
        problems.append("SECRET_KEY is missing.")
    elif SECRET_KEY == DEVELOPMENT_KEY or SECRET_KEY.startswith(("django-insecure-", "change-me")):
        problems.append("SECRET_KEY is a published default.")
    elif len(SECRET_KEY) < 50 or len(set(SECRET_KEY)) < 10:
        problems.append("SECRET_KEY is too short or too simple: 50 random characters at least.")
    if DEBUG:
        problems.append("DEBUG is on, which shows source code and settings to anyone.")
    if not DATABASE_URL:
        problems.append("DATABASE_URL is missing (postgres://user:password@host:5432/name).")
    elif not DATABASE_URL.startswith(("postgres://", "postgresql://")):
        problems.append("DATABASE_URL must begin with postgres://. Only Postgres is supported.")
    if not REDIS_URL:
        problems.append("REDIS_URL is missing (redis://:password@host:6379/0).")
    if not ALLOWED_HOSTS:
        problems.append("ALLOWED_HOSTS is missing (the host names people will use, separated by commas).")
    elif "*" in ALLOWED_HOSTS:
        problems.append("ALLOWED_HOSTS is *, which lets anyone forge the host name in links.")
    if HTTPS and not PROXIES:
        problems.append(
            "PROXIES is missing. HTTPS is on, so a proxy must terminate TLS and set X-Forwarded-Proto. Without "
            "PROXIES that header is ignored and every page redirects to itself. Set PROXIES to the number of proxies "
            "in front of Foretell, usually 1 (or HTTPS=0 if only a private network can reach it)."
        )
    if OIDC_ISSUER and not (OIDC_CLIENT_ID and OIDC_CLIENT_SECRET):
        problems.append("OIDC_ISSUER is set, so OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set too.")
    if OIDC_ISSUER and not OIDC_ISSUER.startswith("https://"):
        problems.append("OIDC_ISSUER must begin with https://.")
    if OIDC_REQUIRED_CLAIM and "=" not in OIDC_REQUIRED_CLAIM:
        problems.append("OIDC_REQUIRED_CLAIM must be a claim and its value, such as groups=foretell.")
    if METRICS_TOKEN and len(METRICS_TOKEN) < 20:
        problems.append("METRICS_TOKEN is too short: 20 random characters at least.")
    if not text("EMAIL_URL"):
        problems.append(
            "EMAIL_URL is missing (smtp+tls://user:password@host:587): people need mail to reset a password."
        )
    elif EMAIL_URL.startswith(("consolemail:", "memorymail:", "dummymail:", "filemail:")):
        problems.append(
            f"EMAIL_URL is {EMAIL_URL.partition(':')[0]}:, which sends no mail and can write reset links to the log."
        )
    return problems

"""The one place where the environment is read. Everything else imports from here."""

from __future__ import annotations

from pathlib import Path

import environ

ROOT = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(str(ROOT / ".env"), overwrite=False)

DEVELOPMENT_KEY = "development-only-key-never-use-in-production"

PRODUCTION: bool = env.bool("FORETELL_PRODUCTION", default=False)
DEBUG: bool = env.bool("DEBUG", default=not PRODUCTION)
SECRET_KEY: str = env.str("SECRET_KEY", default="" if PRODUCTION else DEVELOPMENT_KEY)
ALLOWED_HOSTS: list[str] = env.list(
    "ALLOWED_HOSTS", default=[] if PRODUCTION else ["localhost", "127.0.0.1", "[::1]"]
)
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])
DATABASE_URL: str = env.str("DATABASE_URL", default="")
REDIS_URL: str = env.str("REDIS_URL", default="")

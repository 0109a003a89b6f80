"""Django settings; the environment is read by ``foretell.env`` only."""

from __future__ import annotations

import gc

import environ

from foretell import env
from foretell.admin_theme import UNFOLD as UNFOLD
from foretell.databases import databases
from foretell.logs import log_settings

# Python's 700 is for programs that hold little: it takes a tenth of each start, and more of each page than it saves memory.
gc.set_threshold(10_000, 10, 10)

if env.PRODUCTION and (problems := env.production_problems()):
    raise env.SettingError(
        "Foretell can't start in production with these settings:\n- " + "\n- ".join(problems)
    )

BASE_DIR = env.ROOT
SECRET_KEY = env.SECRET_KEY
SECRET_KEY_FALLBACKS = env.SECRET_KEY_FALLBACKS
DEBUG = env.DEBUG
PRODUCTION = env.PRODUCTION
ALLOWED_HOSTS = env.ALLOWED_HOSTS

INSTALLED_APPS = [
    "unfold",
    "foretell.admin_app.AdminApp",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "csp",
    "rest_framework",
    "rest_framework.authtoken",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "foretell",
    "annotator",
    "evaluation",
]

MIDDLEWARE = [
    "foretell.requests.RequestIdMiddleware",
    "foretell.health.HealthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "foretell.compression.PageCompressionMiddleware",
    "foretell.no_store.NoStoreMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotator.accounts.activity.ActivityMiddleware",
    "annotator.web.language.LanguageMiddleware",
    "annotator.accounts.acting.ActingMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "annotator.accounts.second_factor.SecondFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "foretell.errors.BadRequestMiddleware",
]

CSRF_FAILURE_VIEW = "annotator.web.views.errors.csrf_failure"
ROOT_URLCONF = "foretell.urls"
WSGI_APPLICATION = "foretell.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [env.ASSETS / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "foretell.prepare.demo_context",
                "foretell.researcher_frame.researcher_frame",
            ],
            "libraries": {
                "screens": "annotator.web.templatetags.screens",
                "sketches": "annotator.web.templatetags.sketches",
                "study_tabs": "annotator.admin.study_pages.tags",
            },
            "builtins": ["annotator.web.templatetags.constant_parts"],
        },
    }
]

# --- Storage -------------------------------------------------------------------------------
DATABASES = databases()
if "replica" in DATABASES:
    DATABASE_ROUTERS = ["annotator.core.replica.ReplicaRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis may be wiped or unavailable at any time: everything that matters is in Postgres.
CACHES = {"default": {"BACKEND": "foretell.cache.ForgivingRedisCache", "LOCATION": env.REDIS_URL}}
if not env.REDIS_URL:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

LANGUAGE_CODE = "en"
#: The languages of the annotators' pages, by their own names. docs/translating.md shows how to add one.
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]
#: Languages whose translation a speaker has read and signed. The others say that a machine translated them.
LANGUAGES_CHECKED = {"en"}
LANGUAGE_COOKIE_NAME = "language"
LOCALE_PATHS = [env.ASSETS / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["foretell.formats"]
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [env.ASSETS / "static"]
#: Bundles come first: they join the files in static/ into one style sheet and one script.
STATICFILES_FINDERS = [
    "annotator.web.bundles.BundleFinder",
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]
STATIC_ROOT = env.STATIC_ROOT
#: Style sheets and scripts joined from several files.
BUNDLES_DIR = env.DATA_DIR / "bundles"
_STATIC = "foretell.static_files.ReadableStaticFiles"
if not env.STATIC_HASHED:
    _STATIC = "django.contrib.staticfiles.storage.StaticFilesStorage"
    WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": env.DATA_DIR / "files"},
    },
    # Collected by one user and served by another (in the image: root and an ordinary user). They contain no secrets.
    "staticfiles": {
        "BACKEND": _STATIC,
        "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
    },
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
# Two for each participant of a payment. Django's 1,000 would refuse to pay 500 people at once.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 50_000
#: Uploads and exports contain people's answers.
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
FILE_UPLOAD_HANDLERS = [
    "annotator.web.uploads.LimitedUploadHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
#: Limits for one imported file of material or judgments.
IMPORT_MAX_BYTES = 500_000_000
IMPORT_MAX_ROWS = 2_000_000
#: Larger files are imported by a worker; uploads come in pieces of this size, so that a proxy's limit doesn't matter.
IMPORT_BACKGROUND_BYTES = 20_000_000
IMPORT_PIECE_BYTES = 4_000_000
#: Limits for one image of material: bytes, and pixels once decoded; and how many can be uploaded at a time.
IMAGE_MAX_BYTES = 5_000_000
IMAGE_MAX_PIXELS = 25_000_000
IMAGES_PER_UPLOAD = 2_000

# --- Authentication ---------------------------------------------------------------------------------------
AUTH_USER_MODEL = "annotator.User"
#: The throttle counts attempts; the backend after it checks passwords.
AUTHENTICATION_BACKENDS = [
    "annotator.accounts.login_throttle.LoginThrottle",
    "annotator.accounts.sessions.LoginBackend",
]
LOGIN_URL = "annotator:login"
LOGIN_REDIRECT_URL = "admin:index"  # after logging in to the admin; the annotators' login has its own
PASSWORD_RESET_TIMEOUT = 24 * 3600
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "annotator.accounts.breached.BreachedPasswordValidator"},
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
# Two-factor login and single sign-on are allauth's. Its own pages for accounts and addresses aren't used.
ACCOUNT_ADAPTER = "annotator.accounts.second_factor.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
MFA_ADAPTER = "annotator.accounts.second_factor.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_FORMS = {
    "add_webauthn": "annotator.accounts.passkey_form.PasskeyForm",
    "authenticate": "annotator.accounts.second_factor.LoginCodeForm",
    "reauthenticate": "annotator.accounts.second_factor.ReauthenticationCodeForm",
}
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = "Foretell"
MFA_TOTP_TOLERANCE = 1  # phones' clocks differ: accept one code before and one after
OIDC_ISSUER, OIDC_NAME = env.OIDC_ISSUER, env.OIDC_NAME
OIDC_REQUIRED_CLAIM, OIDC_SECOND_FACTOR = env.OIDC_REQUIRED_CLAIM, env.OIDC_SECOND_FACTOR
SOCIALACCOUNT_ADAPTER = "annotator.accounts.single_sign_on.SingleSignOnAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True  # the policy lets forms go to this site only
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": env.OIDC_NAME,
                "client_id": env.OIDC_CLIENT_ID,
                "secret": env.OIDC_CLIENT_SECRET,
                "settings": {"server_url": env.OIDC_ISSUER},
            }
        ]
        if env.OIDC_ISSUER
        else [],
    }
}
SESSION_ENGINE = "annotator.accounts.sessions"
RESEARCHER_IDLE_MINUTES = env.RESEARCHER_IDLE_MINUTES
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = (
    "Lax"  # a link from a recruitment site must find the session of a returning participant
)
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = env.CSRF_TRUSTED_ORIGINS

JOINS_PER_ADDRESS = env.JOINS_PER_ADDRESS
JOINS_PER_ACCOUNT = env.JOINS_PER_ACCOUNT

# --- Transport security -----------------------------------------------------------------------------------
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = env.HTTPS
SECURE_HSTS_SECONDS = env.HSTS_SECONDS
# Both concern more than this host name, and preloading can't be undone quickly: only if the operator asks for it.
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.HSTS_PRELOAD
SILENCED_SYSTEM_CHECKS = [] if env.HSTS_PRELOAD else ["security.W005", "security.W021"]
# Trusted only if the operator says that a proxy sets it.
PROXIES = env.PROXIES
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.PROXIES else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# One policy for every page, the admin too: no inline script or style, and no expression is evaluated (templates/unfold).
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "object-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "worker-src": ["'self'"],
        "manifest-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
EMAIL_CONFIG = environ.Env.email_url_config(env.EMAIL_URL)
vars().update(EMAIL_CONFIG)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.DEFAULT_FROM_EMAIL

# --- REST API --------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotator.accounts.api_tokens.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["annotator.api.access.IsResearcher"],
    "EXCEPTION_HANDLER": "annotator.api.problems.problem",
    "DEFAULT_RENDERER_CLASSES": ["annotator.api.problems.ProblemRenderer"],
    "DEFAULT_PARSER_CLASSES": [
        "rest_framework.parsers.JSONParser",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "rest_framework.throttling.UserRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {"anon": "60/min", "user": "1200/min"},
    "NUM_PROXIES": env.PROXIES,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Foretell",
    "DESCRIPTION": "Human studies of language models' explanations: material, judgments, runs, results.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    # Two choices of a report have the same values: what becomes of refusals, and of ties.
    "ENUM_NAME_OVERRIDES": {
        "CountedEnum": [("left_out", "Left out"), ("wrong", "Counted as wrong")],
        "ReportStateEnum": "evaluation.models.report.Report.State",
        "PlanJobStateEnum": "evaluation.models.plan.PlanJob.State",
        "MemberRoleEnum": "annotator.models.membership.Membership.Role",
        "PanelMoveEnum": "annotator.api.panel.MOVES",
        "PayKindEnum": "annotator.models.payment.PayPart.Kind",
        "ReviewDecisionEnum": "annotator.models.review_decision.ReviewDecision.Kind",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotator.api.schema.with_standing_replies",
        "annotator.api.schema.with_groups",
        "annotator.api.schema.with_problems",
    ],
}

# --- Jobs ------------------------------------------------------------------------------------------------
CELERY_BROKER_URL = env.REDIS_URL or "redis://127.0.0.1:6379/0"
CELERY_BROKER_TRANSPORT = "foretell.broker:Transport"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True  # results are rows
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TRACK_STARTED = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for Redis without limit
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # A task whose worker vanished is delivered again after this time. A task that takes longer is delivered twice,
    # so tasks must be idempotent. Checked every second; kombu's default is every hundredth.
    "visibility_timeout": env.TASK_VISIBILITY_SECONDS,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
    "health_check_interval": 10,
}
# A web request mustn't wait for an unavailable Redis: a sweeper finds tasks that were never sent.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_max": 0.2}
CELERY_TIMEZONE = "UTC"
CELERY_TASK_DEFAULT_QUEUE = env.SHORT_QUEUE
# Jobs that may take minutes, in a queue and a worker of their own: the expiry of leases never waits for them.
CELERY_TASK_ROUTES = {
    "evaluation.run_work": {"queue": env.LONG_QUEUE},
    "evaluation.pipeline_advance": {"queue": env.LONG_QUEUE},
    "evaluation.report_build": {"queue": env.LONG_QUEUE},
    "evaluation.release_build": {"queue": env.LONG_QUEUE},
    "evaluation.kept_job_run": {"queue": env.LONG_QUEUE},
    "evaluation.plan_job_run": {"queue": env.LONG_QUEUE},
    "annotator.export_build": {"queue": env.LONG_QUEUE},
    "annotator.figures_renew": {"queue": env.LONG_QUEUE},
    "annotator.file_import_run": {"queue": env.LONG_QUEUE},
    "annotator.panel_reconcile_sweep": {"queue": env.LONG_QUEUE},
    "annotator.pay_batches_sweep": {"queue": env.LONG_QUEUE},
    "annotator.review_decisions_carry_out": {"queue": env.LONG_QUEUE},
    "annotator.review_decisions_sweep": {"queue": env.LONG_QUEUE},
}
#: name -> {"task", "schedule" in seconds}; a test checks that every task exists.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "leases": {"task": "annotator.leases_expire", "schedule": 15.0},
    "runs": {"task": "evaluation.runs_sweep", "schedule": float(env.RUN_SWEEP_SECONDS)},
    "reports": {"task": "evaluation.reports_sweep", "schedule": 60.0},
    "releases": {"task": "evaluation.releases_sweep", "schedule": 60.0},
    "studies in files": {"task": "evaluation.kept_jobs_sweep", "schedule": 60.0},
    "calculations on plans": {"task": "evaluation.plan_jobs_sweep", "schedule": 60.0},
    "pipelines": {"task": "evaluation.pipelines_sweep", "schedule": float(env.RUN_SWEEP_SECONDS)},
    "exports": {"task": "annotator.exports_sweep", "schedule": 60.0},
    "file imports": {"task": "annotator.file_imports_sweep", "schedule": 60.0},
    "places that are free again": {"task": "annotator.place_alerts_sweep", "schedule": 60.0},
    "emails to researchers": {"task": "annotator.notices_sweep", "schedule": 300.0},
    "explanations that were left": {"task": "annotator.left_over_places_free", "schedule": 15.0},
    "places of excluded judgments": {"task": "annotator.collect_again_sweep", "schedule": 60.0},
    "rehearsals": {"task": "annotator.rehearsals_sweep", "schedule": 60.0},
    "personal data to anonymise": {"task": "annotator.retention_sweep", "schedule": 3600.0},
    "deleted studies": {"task": "annotator.studies_purge", "schedule": 3600.0},
    "uploads": {"task": "annotator.uploads_sweep", "schedule": 600.0},
    "links and events of panels": {"task": "annotator.panel_sweep", "schedule": 3600.0},
    "studies on panels": {"task": "annotator.panel_reconcile_sweep", "schedule": 300.0},
    "payments to continue": {"task": "annotator.pay_batches_sweep", "schedule": 15.0},
    "decisions that are due": {"task": "annotator.review_decisions_sweep", "schedule": 30.0},
    "login attempts": {"task": "annotator.attempts_sweep", "schedule": 600.0},
}

# --- Logging ----------------------------------------------------------------------------------------
LOGGING = log_settings(level=env.LOG_LEVEL, json=env.LOG_JSON)
METRICS_TOKEN = env.METRICS_TOKEN
if env.SENTRY_DSN:
    from foretell.sentry import install_sentry

    install_sentry(env.SENTRY_DSN)

# --- Language models -------------------------------------------------------------------------------------
LLM_ALLOWED_HOSTS = env.LLM_ALLOWED_HOSTS
LLM_ONLY_ALLOWED_HOSTS = env.LLM_ONLY_ALLOWED_HOSTS
LLM_KEYS = env.LLM_KEYS
RUN_SLICE_SECONDS = env.RUN_SLICE_SECONDS
RUN_WAKE_SECONDS = env.RUN_WAKE_SECONDS
TIKTOKEN_CACHE_DIR = env.TIKTOKEN_CACHE_DIR
RUN_OUTAGE_SECONDS = env.RUN_OUTAGE_SECONDS

# Imported with the settings, so that every process that sends a task uses this broker.
from foretell import celery as _celery  # noqa: E402, F401

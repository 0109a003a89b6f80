"""The composition root. The Celery app is made whenever Django is, so that tasks go to its broker."""

from foretell.celery import app as celery_app

__all__ = ["celery_app"]

"""The researchers' pages of models' answers and results. Importing this registers every page."""

from evaluation.admin import endpoints, pipelines, reports, runs

__all__ = ["endpoints", "pipelines", "reports", "runs"]

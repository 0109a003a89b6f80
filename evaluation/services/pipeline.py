"""Pipelines: to come."""


def pipeline_advance(*, pipeline_pk: int) -> str:
    return "none"

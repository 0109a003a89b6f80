"""The prompts that simulators of a study have had, and the study's own."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from annotator.core.canonical import text_digest
from annotator.models import Study
from annotator.selectors.study import study_hit_type
from evaluation.models import Run


@dataclass(frozen=True)
class PromptVersion:
    """One prompt of a study's runs, or the HIT type's own; ``runs`` are the newest first."""

    digest: str
    runs: tuple[Run, ...]
    shipped: bool

    @property
    def compared(self) -> Run | None:
        """The run through which this version is compared with others."""
        return self.runs[0] if self.runs else None


def prompt_versions(*, study: Study, hidden: bool = False) -> list[PromptVersion]:
    """The versions of a study's prompt, most recently used first, and the shipped one; in one query.

    Trials that were hidden are left out, with the versions that have no other run; with ``hidden`` they are listed too.
    """
    own = text_digest(study_hit_type(study).prompt_text)
    found: dict[str, list[Run]] = {}
    runs = Run.objects.filter(study=study, rater__isnull=False).defer("prompt").order_by("-pk")
    for run in (runs if hidden else runs.filter(hidden_at=None))[:500]:
        found.setdefault(run.prompt_digest, []).append(run)
    found.setdefault(own, [])
    return [PromptVersion(digest, tuple(runs[:5]), digest == own) for digest, runs in found.items()]


def trials_of(*, study: Study) -> QuerySet[Run]:
    """The runs that only tried a prompt of this study."""
    return Run.objects.filter(study=study, options__has_key=Run.TRIAL)


def prompt_text(*, study: Study, digest: str = "") -> str:
    """The text of a version of a study's prompt; the HIT type's own for an unknown one."""
    used = Run.objects.filter(study=study, rater__isnull=False, prompt_digest=digest)
    run = used.order_by("-pk").only("prompt").first()
    return run.prompt if run else study_hit_type(study).prompt_text

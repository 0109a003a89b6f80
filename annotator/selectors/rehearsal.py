"""The progress of a study's rehearsal."""

from __future__ import annotations

from dataclasses import dataclass

from annotator.core.kept_figures import StudyCount
from annotator.models import Rehearsal, Study
from annotator.selectors.places import REPLACED

_PLACES = StudyCount(
    "places of a rehearsal",
    """
SELECT count(*), count(*) FILTER (WHERE a.state = 'submitted') FROM annotator_place p
LEFT JOIN annotator_assignment a ON a.id = p.assignment_id WHERE p.study_id = %s AND p.rehearsal
    AND p.id NOT IN {replaced}
""".replace("{replaced}", REPLACED),
)


@dataclass(frozen=True)
class RehearsalProgress:
    """The latest rehearsal of a study (None if there was none), and how many rehearsal places are filled."""

    latest: Rehearsal | None
    places: int
    done: int

    @property
    def active(self) -> bool:
        """Whether a worker is running it, or will."""
        return self.latest is not None and self.latest.state in (
            Rehearsal.State.QUEUED,
            Rehearsal.State.RUNNING,
        )

    @property
    def complete(self) -> bool:
        """Whether all its places are filled."""
        return 0 < self.places == self.done

    @property
    def share(self) -> float:
        return self.done / self.places if self.places else 0.0


def rehearsal_progress(study: Study) -> RehearsalProgress:
    """The progress of the latest rehearsal; two queries."""
    [(places, done)] = _PLACES.rows([study.pk])
    return RehearsalProgress(study.rehearsals.order_by("-id").first(), places, done)

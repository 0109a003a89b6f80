"""Studies: created, changed, launched, watched, closed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Unpack

from foretell_client.jobs import Job, Progress
from foretell_client.material import Exclusions, Images, Items, Judgments
from foretell_client.operations import Operations
from foretell_client.operations.rehearsal import Rehearsal as RehearsalData
from foretell_client.operations.rehearsal import RehearsalStart
from foretell_client.operations.studies import Duplicate, StudyCreate, StudyPatch, VersionChange
from foretell_client.operations.studies import Progress as StudyProgress
from foretell_client.operations.studies import Study as StudyData
from foretell_client.results import Exports, Reports, Runs


class Rehearsal(Job[RehearsalData]):
    """A study played by synthetic raters. They count in no report of people."""

    what = "rehearsal"
    bad = frozenset({"failed", "stopped"})

    def __init__(self, operations: Operations, slug: str, data: RehearsalData) -> None:
        super().__init__(operations, data)
        self._slug = slug

    @property
    def progress(self) -> Progress:
        return Progress(self.state, self.data["done"], self.data["places"])

    def _read(self) -> RehearsalData:
        return self._operations.rehearsal.read(self._slug)

    def stop(self) -> Rehearsal:
        """End it. Its judgments stay until ``clear``."""
        self.data = self._operations.rehearsal.stop(self._slug)
        return self

    def clear(self) -> int:
        """Remove its judgments and raters; returns how many judgments."""
        return self._operations.rehearsal.delete(self._slug)["judgments"]


class Study:
    """A study. ``data`` is what the API last said of it; ``refresh`` asks again."""

    def __init__(self, operations: Operations, data: StudyData) -> None:
        self._operations = operations
        self.data = data
        slug = data["slug"]
        self.slug: str = slug
        self.items = Items(operations, slug)
        self.images = Images(operations, slug)
        self.judgments = Judgments(operations, slug)
        self.exclusions = Exclusions(operations, slug)
        self.runs = Runs(operations, slug)
        self.reports = Reports(operations, slug)
        self.exports = Exports(operations, slug)

    def __repr__(self) -> str:
        return f"<study {self.slug}: {self.state}>"

    @property
    def title(self) -> str:
        """Its title."""
        return self.data["title"]

    @property
    def state(self) -> str:
        """``draft``, ``live``, ``paused`` or ``closed``, when the API was last asked."""
        return self.data["state"]

    def refresh(self) -> Study:
        """Ask the API for its settings and state."""
        return self._now(self._operations.studies.read(self.slug))

    def change(self, **settings: Unpack[StudyPatch]) -> Study:
        """Change settings. After the launch, this makes a new version."""
        return self._now(self._operations.studies.change(self.slug, **settings))

    def launch(self) -> Study:
        """Freeze items and rules, and open it."""
        return self._now(self._operations.studies.launch(self.slug))

    def pause(self) -> Study:
        """Give out no items, until ``resume``."""
        return self._now(self._operations.studies.pause(self.slug))

    def resume(self) -> Study:
        """Give out items again."""
        return self._now(self._operations.studies.resume(self.slug))

    def close(self) -> Study:
        """End it."""
        return self._now(self._operations.studies.close(self.slug))

    def reopen(self) -> Study:
        """Make a closed study a paused one."""
        return self._now(self._operations.studies.reopen(self.slug))

    def duplicate(self, **new: Unpack[Duplicate]) -> Study:
        """A new draft with the same settings and, unless ``material=False``, the same items."""
        return Study(self._operations, self._operations.studies.duplicate(self.slug, **new))

    def archive(self, *, anyway: bool = False) -> Study:
        """Take it off the list; refused while people wait for something, unless ``anyway``."""
        return self._now(self._operations.studies.archive(self.slug, anyway=anyway))

    def unarchive(self) -> Study:
        """Put it back on the list."""
        return self._now(self._operations.studies.archive_delete(self.slug))

    def delete(self, *, typed: str) -> None:
        """Delete it. ``typed`` is its short name, to confirm it; it can be restored for 30 days."""
        self._operations.studies.delete(self.slug, typed=typed)

    def restore(self) -> Study:
        """Undo ``delete``."""
        return self._now(self._operations.studies.restore(self.slug))

    def progress(self) -> StudyProgress:
        """Counts of places, judgments and raters; median time and pay."""
        return self._operations.studies.progress(self.slug)

    def wait(
        self,
        *,
        judgments: int | None = None,
        progress: Callable[[StudyProgress], object] | None = None,
        every: float = 30.0,
    ) -> StudyProgress:
        """Return when all places are done, or this many people's judgments are there. ``progress`` is called at each look."""
        while True:
            found = self.progress()
            if progress is not None:
                progress(found)
            if found["done"] >= found["places"] if judgments is None else found["web"] >= judgments:
                return found
            time.sleep(every)

    def rehearse(self, **choices: Unpack[RehearsalStart]) -> Rehearsal:
        """Let synthetic raters fill it; ``wait`` for them."""
        return Rehearsal(self._operations, self.slug, self._operations.rehearsal.create(self.slug, **choices))

    def changes(self, *, before: int, after: int) -> list[VersionChange]:
        """What differs between two of its versions."""
        return self._operations.studies.versions_compare(self.slug, before=before, after=after)

    def _now(self, data: StudyData) -> Study:
        self.data = data
        return self


class Studies:
    """The studies that you have a role in."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def __iter__(self) -> Iterator[Study]:
        return (Study(self._operations, one) for one in self._operations.studies.all(page_size=500))

    def __getitem__(self, slug: str) -> Study:
        return self.get(slug)

    def get(self, slug: str) -> Study:
        """A study by its short name."""
        return Study(self._operations, self._operations.studies.read(slug))

    def create(self, **settings: Unpack[StudyCreate]) -> Study:
        """A draft from a template, a HIT type's name; what you leave out comes from the template."""
        return Study(self._operations, self._operations.studies.create(**settings))

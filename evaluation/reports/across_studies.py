"""The basis of sections across studies: the studies' contexts, and how their material is matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from evaluation.reports.choices import Choices
from evaluation.reports.context import Context
from evaluation.reports.resampling import Resampling, resampling_of
from evaluation.selectors.material import instance_inputs

#: Identifies a system's explanation of an instance across studies: ``instance_keys`` and the system's name.
Key = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Across:
    """A report across studies being computed; ``contexts`` in the order of the studies.

    ``whole`` is the report that this is one group of: what a table is named after, and which studies it joins, is decided
    there, so that the columns of all groups fit into one table.
    """

    contexts: Sequence[Context]
    choices: Choices
    whole: Across | None = None

    def measuring(self, measure: str) -> list[Context]:
        """The contexts of studies whose HIT type declares this measure."""
        return [ctx for ctx in self.contexts if measure in ctx.hit_type.measures]

    def joins(self, contexts: Sequence[Context]) -> bool:
        """Whether a section joins these studies: two or more, or what a group has of them."""
        return len(contexts) > 1 or (self.whole is not None and len(contexts) == 1)

    @property
    def resampling(self) -> Resampling:
        """Like a context's: ``statistic(..., **across.resampling)``."""
        return resampling_of(self.choices)


def instance_keys(ctx: Context) -> dict[str, str]:
    """A study's instances by name -> their key across studies: the name with a digest of the input's first line. Each
    study's import makes its own dataset, so two studies share an instance if both its name and the first line of its
    input are the same. Two questions that only have the same number are different.
    """

    def make() -> dict[str, str]:
        items = ctx.data.judgments.items
        names = dict(zip(items.instance.tolist(), items.instance_names.values(""), strict=True))
        texts = instance_inputs(study=ctx.study)
        return {
            str(name): f"{name}\x1f{sha256(texts.get(pk, '').encode()).hexdigest()[:16]}"
            for pk, name in names.items()
            if pk >= 0
        }

    return ctx.once("instance-keys", make)


def listed_titles(contexts: Sequence[Context]) -> str:
    """The studies' titles for a sentence."""
    return ", ".join(f"“{ctx.study.title}”" for ctx in contexts)

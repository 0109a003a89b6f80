"""Generality of explanations: how much their simulatable follow-ups differ from each other (Chen et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.resample import Floats, Ints, codes_of, ratio_estimate
from evaluation.metrics.similarity import Bleu, Cosine, Jaccard, Similarity

FEWER_THAN_TWO = "fewer than two simulatable follow-ups"
NO_PAIR = "no pair with a defined similarity"


@dataclass(frozen=True, eq=False)
class Generality:
    """``generality`` is the mean over explanations; the arrays of shape (E,) hold what it is the mean of.

    ``values`` are nan where |C*| < 2 or no pair has a similarity; ``pairs`` counts ordered pairs used,
    ``undefined_pairs`` those left out because their similarity is not defined.
    """

    generality: Estimate
    similarity: str
    version: str
    explanation: npt.NDArray[np.object_]
    instance: npt.NDArray[np.object_]
    system: npt.NDArray[np.object_]
    values: Floats
    pairs: Ints
    undefined_pairs: Ints


def group_generality(texts: Sequence[str], similarity: Similarity) -> tuple[float, int, int]:
    """1 - mean of alpha over ordered pairs i != j, the pairs used, and the pairs whose alpha is not defined.

    nan for fewer than two texts or where no pair has a similarity. ``similarity`` must be prepared.

    >>> group_generality(["birds fly", "birds swim deep"], Jaccard())
    (0.75, 2, 0)
    """
    if len(texts) < 2:
        return float("nan"), 0, 0
    alpha = similarity.matrix(texts)
    between = alpha[~np.eye(len(texts), dtype=bool)]
    defined = between[~np.isnan(between)]
    missing = between.size - defined.size
    return (1.0 - float(defined.mean()) if defined.size else float("nan")), defined.size, missing


def generality(
    followups: FollowUps,
    similarity: Similarity,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Generality:
    """Generality by one similarity: macro mean over explanations of 1 - mean similarity within C*.

    generality(e) = 1 - (1 / (|C*| (|C*| - 1))) * sum over ordered pairs i != j of alpha(x_i, x_j).

    An explanation with |C*| < 2 is not defined, left out and counted; so is one of whose pairs none has a
    similarity. Follow-ups without text are ignored. In [0, 1] for BLEU and Jaccard, [0, 2] for cosine.
    With ``rng``, a 95 % interval over instances. Source: Chen et al. 2024, section 3.1.

    >>> table = FollowUps(
    ...     unit=["1", "2"], explanation=["e", "e"], instance=["x", "x"], system=["s", "s"],
    ...     simulated=["yes", "no"], real=[None, None], text=["birds fly", "birds swim deep"],
    ... )
    >>> generality(table, Jaccard()).generality.value
    0.75
    """
    usable = followups.simulatable & np.array([bool(str(t).strip()) for t in followups.text], dtype=bool)
    codes = followups.explanation_codes
    size = len(followups.explanations)
    similarity.prepare([str(text) for text in followups.text])
    values, pairs, undefined = np.full(size, np.nan), np.zeros(size, np.int64), np.zeros(size, np.int64)
    counts = np.bincount(codes[usable], minlength=size)
    rows = np.flatnonzero(usable)[np.argsort(codes[usable], kind="stable")]
    ends = np.cumsum(counts)
    for code in range(size):
        part = rows[ends[code] - counts[code] : ends[code]]
        texts = [str(text) for text in followups.text[part]]  # type: ignore[call-overload]
        values[code], pairs[code], undefined[code] = group_generality(texts, similarity)
    return summarise(
        Generality(
            generality=Estimate(0.0),
            similarity=similarity.name,
            version=similarity.version,
            explanation=np.array(followups.explanations, dtype=object),
            instance=followups.of_explanation("instance"),
            system=followups.of_explanation("system"),
            values=values,
            pairs=pairs,
            undefined_pairs=undefined,
        ),
        counts >= 2,
        rng=rng,
        replicates=replicates,
    )


def summarise(
    found: Generality,
    enough: npt.NDArray[np.bool_],
    *,
    rng: np.random.Generator | None,
    replicates: int,
) -> Generality:
    """The same result with its estimate; ``enough`` says which explanations have |C*| >= 2."""
    defined = ~np.isnan(found.values)
    left = {
        FEWER_THAN_TWO: int((~enough).sum()),
        NO_PAIR: int((enough & ~defined).sum()),
        "pairs without a defined similarity": int(found.undefined_pairs.sum()),
    }
    estimate = ratio_estimate(
        np.where(defined, found.values, 0.0),
        defined,
        codes_of(found.instance)[0],
        rng=rng,
        replicates=replicates,
        reason="no explanation has two simulatable follow-ups with a similarity",
        left_out={why: number for why, number in left.items() if number},
        counted=False,
    )
    return replace(found, generality=estimate)


def all_similarities(cosine: Cosine | None = None) -> Mapping[str, Similarity]:
    """The three similarities of the paper, by the name of their column in its Table 1."""
    return {"bleu": Bleu(), "cosine": cosine or Cosine(), "jaccard": Jaccard()}


def prepared(similarity: Similarity, texts: Sequence[str]) -> Similarity:
    """A similarity prepared with ``texts``, which won't be prepared again."""
    similarity.prepare([str(text) for text in texts])
    return _Prepared(similarity)


class _Prepared:
    """A similarity that is already prepared with all texts."""

    def __init__(self, similarity: Similarity) -> None:
        self.similarity = similarity
        self.name, self.version = similarity.name, similarity.version

    def prepare(self, texts: Sequence[str]) -> None:
        """Already done."""

    def matrix(self, texts: Sequence[str]) -> Floats:
        return self.similarity.matrix(texts)

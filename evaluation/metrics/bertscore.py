"""BERTScore of rationales against gold rationales: an optional extra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.resample import Floats


@dataclass(frozen=True, eq=False)
class BertScores:
    """``precision``, ``recall`` and ``f1`` of shape (N,); ``version`` names model, package and settings."""

    precision: Floats
    recall: Floats
    f1: Floats
    version: str


def bertscore(
    rationales: Sequence[str],
    gold: Sequence[str],
    *,
    model: str = "roberta-large",
    rescale: bool = False,
    batch: int = 64,
) -> BertScores:
    """BERTScore of each rationale against its gold rationale (Zhang et al. 2020), through the bert-score package.

    Set its ``f1`` against utility classes with ``correlation_ratio`` (Joshi et al. 2023, Table 4). An empty
    rationale or gold rationale has no score: nan. Needs the optional extra ``bertscore``, which downloads a model;
    ``ImportError`` that says so where it is not installed, ``ValueError`` for unequal lengths.

    >>> bertscore([], ["a"])
    Traceback (most recent call last):
    ...
    ValueError: rationales, gold: expected one length, got 0 and 1
    """
    if len(rationales) != len(gold):
        raise ValueError(f"rationales, gold: expected one length, got {len(rationales)} and {len(gold)}")
    try:
        import bert_score
    except ImportError as error:
        raise ImportError("BERTScore needs the optional extra: pip install 'foretell[bertscore]'") from error
    kept = [
        i for i, pair in enumerate(zip(rationales, gold, strict=True)) if all(text.strip() for text in pair)
    ]
    scores = np.full((3, len(gold)), np.nan)
    if kept:
        found = bert_score.score(
            [rationales[i] for i in kept],
            [gold[i] for i in kept],
            model_type=model,
            rescale_with_baseline=rescale,
            lang="en",
            batch_size=batch,
        )
        scores[:, kept] = np.stack([np.asarray(part, dtype=np.float64) for part in found])
    version = f"bert-score {bert_score.__version__}, {model}{', rescaled' if rescale else ''}"
    return BertScores(precision=scores[0], recall=scores[1], f1=scores[2], version=version)

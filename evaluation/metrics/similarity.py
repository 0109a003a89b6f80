"""Similarities between follow-ups: BLEU, Jaccard and cosine, for all ordered pairs of a group at once.

sacrebleu and scikit-learn are imported late, so that web processes do without them.
"""

from __future__ import annotations

import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from evaluation.metrics.encoders import Encoder, TfidfEncoder
from evaluation.metrics.resample import Floats
from evaluation.metrics.stop_words import NLTK_ENGLISH

_ORDER = 4
#: How many numbers are compared at once, which limits the memory for explanations with many long follow-ups.
_MOST_AT_ONCE = 4_000_000


class Similarity(Protocol):
    """The similarity of two follow-ups; ``name`` and ``version`` go into every report."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def prepare(self, texts: Sequence[str]) -> None:
        """Called once with all texts before ``matrix``, so that they can be embedded in batches."""

    def matrix(self, texts: Sequence[str]) -> Floats:
        """Shape (k, k): entry [i, j] is alpha(text i, text j); nan where it is not defined."""


class Bleu:
    """Sentence BLEU / 100 of text i as hypothesis against text j as its only reference.

    sacrebleu's defaults (13a tokens, exponential smoothing, case-sensitive) with the effective order; in
    [0, 1], not symmetric. Equal to ``sacrebleu.sentence_bleu`` on each pair, but n-grams are counted once per text.

    >>> Bleu().matrix(["Can owls swim?", "Can owls swim?"]).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    name = "BLEU"

    def __init__(self) -> None:
        import sacrebleu
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

        self._tokenize = Tokenizer13a()
        self.version = f"sacrebleu {sacrebleu.__version__}, effective order, 13a, exp, case-sensitive"

    def prepare(self, texts: Sequence[str]) -> None:
        """Nothing to prepare."""

    def matrix(self, texts: Sequence[str]) -> Floats:
        tokens = [self._tokenize(text.strip()).split() for text in texts]
        lengths = np.array([len(words) for words in tokens], dtype=np.float64)
        matches = [_clipped_matches(tokens, order) for order in range(1, _ORDER + 1)]
        totals = [np.maximum(lengths - order + 1, 0) for order in range(1, _ORDER + 1)]
        return _bleu_from_counts(matches, totals, lengths)


def _clipped_matches(tokens: Sequence[Sequence[str]], order: int) -> Floats:
    """Shape (k, k): n-grams of one order shared by two texts, each as often as it is in both."""
    grams = [Counter(zip(*(words[i:] for i in range(order)), strict=False)) for words in tokens]
    index = {gram: column for column, gram in enumerate({gram for found in grams for gram in found})}
    counts = np.zeros((len(tokens), len(index)), dtype=np.int64)
    for row, found in enumerate(grams):
        for gram, count in found.items():
            counts[row, index[gram]] = count
    if counts.size * len(tokens) > _MOST_AT_ONCE:
        shared = np.array([np.minimum(row, counts).sum(axis=1) for row in counts])
    else:
        shared = np.minimum(counts[:, None, :], counts[None, :, :]).sum(axis=2)
    return shared.astype(np.float64)


def _bleu_from_counts(matches: Sequence[Floats], totals: Sequence[Floats], lengths: Floats) -> Floats:
    """BLEU of every ordered pair; hypotheses are rows, references columns."""
    size = lengths.size
    halvings = np.zeros((size, size))
    logs = np.zeros((size, size))
    orders = np.zeros((size, size))
    for found, total in zip(matches, totals, strict=True):
        present = np.broadcast_to((total > 0)[:, None], (size, size))
        orders += present
        halvings += present & (found == 0)
        smooth = np.exp2(-halvings)
        hits = np.where(found > 0, found, smooth) / np.maximum(total, 1)[:, None]
        logs += np.where(present, np.log(hits), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity = np.minimum(0.0, 1.0 - lengths[None, :] / np.maximum(lengths, 1)[:, None])
        scores = np.exp(brevity + logs / np.maximum(orders, 1))
    nothing_shared = np.sum(matches, axis=0) == 0
    scores[nothing_shared] = 0.0
    return scores


class Jaccard:
    """Shared words over all words of two texts, as sets, in [0, 1]; nan where both sets are empty.

    Punctuation is stripped, the text split on white space, English stop words removed: NLTK's 179 as in Chen et al.'s
    code, or with ``stop_words="sklearn"`` scikit-learn's 318. Case is kept (their code), so "Can" isn't a stop word;
    ``lower=True`` folds it first. Raises ``ValueError`` for another list.

    >>> Jaccard().matrix(["birds fly", "birds swim deep"]).tolist()
    [[1.0, 0.25], [0.25, 1.0]]
    """

    name = "Jaccard"

    def __init__(self, *, lower: bool = False, stop_words: str = "nltk") -> None:
        self.lower = lower
        self._stop_words, words = _stop_words(stop_words)
        case = "lower-cased" if lower else "case kept"
        self.version = f"{words}, {case}"

    def prepare(self, texts: Sequence[str]) -> None:
        """Nothing to prepare."""

    def words(self, text: str) -> frozenset[str]:
        """The set of words of a text."""
        stripped = strip_punctuation(text.lower() if self.lower else text)
        return frozenset(stripped.split()) - self._stop_words

    def matrix(self, texts: Sequence[str]) -> Floats:
        sets = [self.words(text) for text in texts]
        index = {word: column for column, word in enumerate(set().union(*sets))}
        table = np.zeros((len(sets), len(index)))
        for row, words in enumerate(sets):
            table[row, [index[word] for word in words]] = 1.0
        shared = table @ table.T
        sizes = table.sum(axis=1)
        union = sizes[:, None] + sizes[None, :] - shared
        return np.where(union > 0, shared / np.maximum(union, 1), np.nan)


def _stop_words(name: str) -> tuple[frozenset[str], str]:
    """A list of stop words and what reports call it."""
    if name == "nltk":
        return NLTK_ENGLISH, f"NLTK's {len(NLTK_ENGLISH)} English stop words"
    if name != "sklearn":
        raise ValueError(f"stop_words: {name!r} is neither nltk nor sklearn")
    import sklearn
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return ENGLISH_STOP_WORDS, f"stop words of scikit-learn {sklearn.__version__}"


@lru_cache(maxsize=65_536)
def strip_punctuation(text: str) -> str:
    """Text without ASCII punctuation and without any other character of a Unicode punctuation category."""
    return "".join(
        c for c in text if c not in string.punctuation and not unicodedata.category(c).startswith("P")
    )


class Cosine:
    """Cosine of the embeddings of two texts by ``encoder`` (TF-IDF unless told); nan where one is all zeros.

    ``prepare`` embeds every distinct text once; ``matrix`` then only multiplies. The encoder's name and
    version are part of ``version``: a cosine without them cannot be compared.

    >>> cosine = Cosine()
    >>> cosine.prepare(["owls fly", "owls swim"])
    >>> bool(0 < cosine.matrix(["owls fly", "owls swim"])[0, 1] < 1)
    True
    """

    name = "cosine"

    def __init__(self, encoder: Encoder | None = None) -> None:
        self.encoder: Encoder = encoder or TfidfEncoder()
        self._rows: dict[str, int] = {}
        self._vectors: Any = np.zeros((0, 0))

    @property
    def version(self) -> str:
        return f"{self.encoder.name}, {self.encoder.version}"

    def prepare(self, texts: Sequence[str]) -> None:
        distinct = sorted(set(texts))
        vectors = self.encoder.encode(distinct) if distinct else np.zeros((0, 1))
        if vectors.shape[0] != len(distinct) or len(vectors.shape) != 2:
            raise ValueError(
                f"encoder: {self.encoder.name} gave shape {vectors.shape} for {len(distinct)} texts"
            )
        self._rows = {text: row for row, text in enumerate(distinct)}
        self._vectors = vectors.tocsr() if hasattr(vectors, "tocsr") else np.asarray(vectors, float)

    def matrix(self, texts: Sequence[str]) -> Floats:
        if any(text not in self._rows for text in texts):
            raise ValueError("texts: call prepare with every text first")
        found = self._vectors[[self._rows[text] for text in texts]]
        chosen = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
        norms = np.linalg.norm(chosen, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = np.where(norms > 0, chosen / norms, np.nan)
        return np.clip(unit @ unit.T, -1.0, 1.0)

"""Embeddings without a model: words hashed into a few dimensions, so that texts with common words are close."""

from __future__ import annotations

import hashlib
import math

from evaluation.providers.scripted.world import words

DIMENSIONS = 64


def embed(text: str) -> list[float]:
    """A unit vector of 64 numbers.

    >>> near = sum(a * b for a, b in zip(embed("can owls swim"), embed("can owls swim far"), strict=True))
    >>> far = sum(a * b for a, b in zip(embed("can owls swim"), embed("tax law of Peru"), strict=True))
    >>> near > far
    True
    """
    vector = [0.0] * DIMENSIONS
    for word in words(text) or (text,):
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        for byte in digest[:4]:
            vector[byte % DIMENSIONS] += 1.0 if digest[4] & 1 else -1.0
    norm = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / norm for x in vector]

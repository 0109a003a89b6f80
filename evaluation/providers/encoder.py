"""Sentence embeddings from an endpoint, for the cosine figures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evaluation.providers.contract import ModelClient

if TYPE_CHECKING:  # for types only: the web process doesn't load numpy
    import numpy as np
    import numpy.typing as npt

#: Texts in one request.
AT_ONCE = 128


class EndpointEncoder:
    """An ``Encoder`` (see ``evaluation.metrics.encoders``) that uses an endpoint's embeddings. ``open_client`` makes
    the client; each ``encode`` calls it once. Each distinct text is sent once. ``version`` is the endpoint's name,
    since an embedding model has no other version. Raises ``ProviderError``.
    """

    def __init__(self, *, open_client: Callable[[], ModelClient], model: str, endpoint: str) -> None:
        self.open_client = open_client
        self.name = model
        self.version = endpoint
        self._known: dict[str, npt.NDArray[np.float64]] = {}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Shape (len(texts), d); the same text gives the same row."""
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            asyncio.run(self._ask(new))
        if not texts:
            return np.zeros((0, 0))
        return np.stack([self._known[text] for text in texts])

    async def _ask(self, texts: Sequence[str]) -> None:
        client = self.open_client()
        try:
            for start in range(0, len(texts), AT_ONCE):
                part = texts[start : start + AT_ONCE]
                for text, vector in zip(part, await client.embed(self.name, part), strict=True):
                    self._known[text] = vector
        finally:
            await client.aclose()

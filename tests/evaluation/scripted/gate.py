"""Requests wait here while a test holds them, so that it can take as long as it needs whatever the machine does."""

from __future__ import annotations

import asyncio


class Gate:
    """Open at first. ``hold`` lets a number of requests through and makes the others wait until ``release``."""

    def __init__(self) -> None:
        self._left: int | None = None
        self._changed = asyncio.Event()

    def hold(self, after: int = 0) -> None:
        """Let the next ``after`` requests through, those that wait already first."""
        self._left = after
        self._wake()

    def release(self) -> None:
        self._left = None
        self._wake()

    async def __call__(self) -> None:
        while self._left == 0:
            await self._changed.wait()
        if self._left is not None:
            self._left -= 1

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

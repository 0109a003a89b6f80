"""One call for each of many things at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import close_old_connections, connection


def together(call: Callable[[Any], Any], those: Sequence[Any]) -> list[Any]:
    """Call the function for each at the same time, in threads with their own connections; return the results."""
    gate = threading.Barrier(len(those))

    def one(thing: Any) -> Any:
        close_old_connections()
        try:
            gate.wait(timeout=300)
            return call(thing)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=len(those)) as pool:
        return list(pool.map(one, those))

"""The client of one installation."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from foretell_client.operations import Operations
from foretell_client.operations.studies import HitType
from foretell_client.results import Pipelines
from foretell_client.studies import Studies
from foretell_client.transport import Transport


class Foretell:
    """An installation of Foretell, as one token reaches it.

    ``url`` is the address of its first page, such as ``https://lab.example``; ``token`` is from its page *API tokens*.
    ``timeout`` is the longest silence within a request, in seconds. Requests that change nothing when they are sent twice are
    sent up to ``attempts`` times if the installation is busy or doesn't reply, after the time that it asks for.
    An address without TLS is refused unless it is this machine's own, or ``allow_http`` is set.

    >>> Foretell("http://127.0.0.1:8000", "0123")
    Foretell('http://127.0.0.1:8000')
    """

    def __init__(
        self, url: str, token: str, *, timeout: float = 60.0, attempts: int = 5, allow_http: bool = False
    ) -> None:
        self._transport = Transport(url, token, timeout=timeout, attempts=attempts, allow_http=allow_http)
        #: Every operation of the API, one method each.
        self.operations = Operations(self._transport)
        self.studies = Studies(self.operations)
        self.pipelines = Pipelines(self.operations)

    def __repr__(self) -> str:
        return f"Foretell({self._transport.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._transport.close()

    def hit_types(self) -> list[HitType]:
        """The HIT types, which are the templates of studies: columns of items, questions, what is measured."""
        return self.operations.studies.hit_types()

"""The contract of a provider: what is sent to an API of language models, and what its replies and errors mean.

A provider is one file in ``evaluation/providers/apis``, or a class that an installed package offers as an entry point in
the group ``foretell.providers``. It is pure: ``evaluation.providers.client`` sends what it makes. One whose API isn't JSON
over HTTP overrides ``own_client``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from annotator.core.outgoing.hosts import HostPolicy
from evaluation.providers.base import ChatReply, ChatRequest, ErrorKind, Lacks, ProviderError
from evaluation.providers.prices import ListPrice, shipped_price

if (
    TYPE_CHECKING
):  # for types only: the web process shows endpoints but loads neither numpy nor the HTTP client
    import numpy as np
    import numpy.typing as npt


JSON = dict[str, Any]
MIB = 1024 * 1024


@dataclass(frozen=True)
class Access:
    """How an endpoint is reached. ``timeout`` is in seconds for a whole call; ``certificates`` are PEM authorities."""

    base_url: str
    key: str = field(repr=False)
    policy: HostPolicy
    timeout: float
    headers: Mapping[str, str] = field(default_factory=dict)
    api_version: str = ""
    certificates: str = ""
    #: Whether the server answers chats in streams only.
    streams: bool = False


class ModelClient(Protocol):
    """A connection to one endpoint. Every method raises ``ProviderError``; none of them retries."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One completion."""
        ...

    async def embed(self, model: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Embeddings, shape (len(texts), dimensions)."""
        ...

    async def models(self) -> list[str]:
        """The names of the models served."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True)
class BatchRead:
    """A batch as the endpoint reports it, in the endpoint's own word. ``replies``: by call id, once it is ``over``."""

    status: str
    over: bool = False
    complete: bool = False
    replies: Mapping[str, ChatReply | ProviderError] = field(default_factory=dict)


class BatchApi(ABC):
    """Many chats in one file. Every method raises ``ProviderError``."""

    def __init__(self, client: Any) -> None:
        self.client = client  # the endpoint's, which these requests share with chats

    @classmethod
    @abstractmethod
    def line(cls, call_id: str, request: ChatRequest) -> str:
        """The line of the file that asks for one reply."""

    @abstractmethod
    async def send(self, lines: Sequence[str]) -> str:
        """Upload a file of such lines; returns the batch's id."""

    @abstractmethod
    async def read(self, batch_id: str) -> BatchRead:
        """The state of a batch, with its replies if it is over."""


JobState = Literal["running", "succeeded", "failed", "cancelled"]


@dataclass(frozen=True)
class TuningJob:
    """A fine-tuning job as the endpoint reports it. ``tokens`` is how many it was trained on, None if not reported;
    ``reported`` is the state in the endpoint's own word, such as "queued" or "validating_files"."""

    id: str
    state: JobState
    model: str = ""
    error: str = ""
    tokens: int | None = None
    reported: str = ""


class FineTuner(ABC):
    """Fine-tuning at an endpoint. Every method raises ``ProviderError``, also for a reply that is about something else,
    such as the page of a proxy."""

    def __init__(self, client: Any) -> None:
        self.client = client

    @abstractmethod
    async def file_send(self, lines: bytes) -> str:
        """Upload a training file (JSON lines of chats); returns its id."""

    @abstractmethod
    async def job_find(self, file_id: str) -> TuningJob | None:
        """The job that was started with a file, if there is one: a worker that died may have started it."""

    @abstractmethod
    async def job_begin(self, *, file_id: str, model: str, suffix: str, epochs: int) -> TuningJob:
        """Start a job with a file."""

    @abstractmethod
    async def job_read(self, job_id: str) -> TuningJob:
        """The state of a job."""

    @abstractmethod
    async def job_cancel(self, job_id: str) -> TuningJob:
        """Cancel a job; a finished one stays unchanged."""


class Provider(ABC):
    """One API of language models."""

    name: ClassVar[str]
    title: ClassVar[str]
    #: What else speaks this API; shown in lists behind the title.
    also: ClassVar[str] = ""
    #: The headers, in lower case, that carry the key or that the provider sets: no endpoint may set them otherwise.
    reserved_headers: ClassVar[frozenset[str]] = frozenset()
    #: Host -> the section of ``prices.json`` whose list prices apply there.
    price_hosts: ClassVar[Mapping[str, str]] = {}
    #: The largest replies in bytes, after decompression: to a chat, and to any other request (embeddings, files).
    most_chat_bytes: ClassVar[int] = 4 * MIB
    most_bytes: ClassVar[int] = 64 * MIB
    #: Whether chats can be asked for as streams, for servers that answer in no other way.
    can_stream: ClassVar[bool] = False
    batch_api: ClassVar[type[BatchApi] | None] = None
    fine_tuner: ClassVar[type[FineTuner] | None] = None

    @property
    def label(self) -> str:
        return f"{self.title} ({self.also})" if self.also else self.title

    def own_client(self, access: Access) -> ModelClient | None:
        """A client of the provider's own, for example of an API that isn't JSON over HTTP; None for the usual one,
        ``evaluation.providers.client.Client``."""
        return None

    def list_price(self, *, host: str, model: str) -> ListPrice | None:
        """The list price of a model at its maker's own host; None if it isn't known."""
        return shipped_price(section=self.price_hosts.get(host, ""), model=model)

    # -- requests -----------------------------------------------------------------------------------

    @abstractmethod
    def headers(self, access: Access) -> Mapping[str, str]:
        """The provider's own headers, the key among them."""

    def query(self, access: Access) -> Mapping[str, str]:
        """Parameters in the address of each request."""
        return {}

    @abstractmethod
    def chat_path(self, model: str) -> str:
        """Where chats with a model are sent, below the base URL."""

    @abstractmethod
    def chat_body(self, request: ChatRequest) -> JSON:
        """The JSON body of a chat."""

    def other_chat_body(self, body: JSON, request: ChatRequest, error: ProviderError | None) -> JSON | None:
        """The same chat in the form that older servers take, if they have refused ``body`` with this ``error``.

        Without an error: the other form itself. None if there is none. Once a server has taken it, it gets no other.
        """
        return None

    def takes_temperature(self, model: str) -> bool:
        """Whether a model takes a temperature; some that think before they reply take none."""
        return True

    def thinking_tokens(self, model: str) -> int:
        """How many tokens a model gets for its thinking in addition to those of its reply, unless its endpoint says so; 0
        for a model that isn't known to think, or whose thinking isn't limited with its reply."""
        return 0

    def reply_limit(self, *, model: str, tokens: int, thinking: int | None = None) -> JSON:
        """The parameters that limit a reply to this many tokens, and the thinking before it to ``thinking`` more.

        None for ``thinking``: the endpoint doesn't say; see ``thinking_tokens``.
        """
        return {"max_tokens": tokens + (self.thinking_tokens(model) if thinking is None else thinking)}

    # -- replies ------------------------------------------------------------------------------------

    @abstractmethod
    def read_chat(self, raw: JSON) -> ChatReply:
        """A received chat. If it has no text, raises ``ProviderError`` with what was received, since it may have to be
        paid for."""

    def reasoning(self, raw: JSON) -> str:
        """The model's reasoning in a received chat, if the server returns it separately from the text."""
        return ""

    @abstractmethod
    def read_error(self, status: int, body: JSON, *, base_url: str) -> tuple[str, ErrorKind | None]:
        """The message of an error with what to do about it, and its kind if the error says more than the status."""

    def lacks(self, body: JSON) -> Lacks:
        """What the server can't do, by the body of an error; empty if the error is about something else."""
        return ""

    # -- other requests -----------------------------------------------------------------------------

    def embed_request(self, model: str, texts: Sequence[str]) -> tuple[str, JSON]:
        """The path and the body of a request for embeddings. Raises ``ProviderError`` (not_found) if there are none."""
        raise ProviderError(
            "not_found", f"{self.title} has no embeddings. Choose another endpoint as encoder."
        )

    def read_embeddings(self, raw: JSON) -> list[Any]:
        """The vectors of a reply, in the order of the texts; may raise ``KeyError`` or ``TypeError``."""
        return []

    def read_models(self, raw: JSON) -> list[str]:
        """The names of the models in the reply to ``GET /models``."""
        return [str(model.get("id")) for model in raw.get("data") or [] if isinstance(model, dict)]

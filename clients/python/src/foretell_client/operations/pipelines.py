"""Operations on pipelines. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.operations.shared import Action
from foretell_client.transport import File, Transport, part

PipelineState = Literal["running", "paused", "cancelled", "done"]
Protocol = Literal["openai", "anthropic", "gemini"]
Task = Literal["medical", "multiple_choice", "news", "preference", "yes_no"]


class Dataset(TypedDict):
    """A dataset, on which pipelines run."""

    id: int
    name: str
    workspace: int | None
    instances: int


class Endpoint(TypedDict):
    """An endpoint of models, without its key."""

    id: int
    name: str
    workspace: int | None
    protocol: Protocol
    model: str


class NewDataset(TypedDict, total=False):
    """A file of questions, articles, queries, or posts with two responses."""

    file: Required[File]
    task: Required[Task]
    limit: int
    workspace: int


class NewPipeline(TypedDict, total=False):
    """A recipe, the dataset that it runs on, and the endpoint that answers."""

    recipe: str
    content: Any
    dataset: Required[int]
    endpoint: Required[str]
    overrides: Any


class PipelineBudgetPatch(TypedDict, total=False):
    """What all runs of a pipeline may cost together; null removes the limit."""

    budget: str | None


class Pipeline(TypedDict):
    """A pipeline; ``results`` maps the name of each finished step to what it left, in numbers. ``tunings``
    are its fine-tuning jobs in order, those that another job has replaced included.
    """

    id: int
    recipe: str
    dataset: str
    endpoint: str
    state: PipelineState
    reason: str
    step: int
    overrides: Any
    results: Any
    runs: list[int]
    tunings: list[TuningShown]
    created_at: str
    finished_at: str | None


class Recipe(TypedDict):
    """A recipe: what a pipeline does, step by step."""

    id: int | None
    name: str
    title: str
    task: str
    steps: list[str]


class TuningShown(TypedDict):
    """A fine-tuning job, and what it waits for.

    ``moved`` is where its endpoint is now, empty if that is where the job is; ``seconds`` is how long
    the job has been, or was, at the endpoint, null if it was never started there.
    """

    waits_for: str
    moved: str
    seconds: float | None


class PipelinesOperations:
    """Operations on pipelines."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def datasets(self) -> list[Dataset]:
        """The datasets of your workspaces, by name (at most 1,000)."""
        reply: list[Dataset] = self._http.json("GET", "datasets/")
        return reply

    def datasets_create(self, **sent: Unpack[NewDataset]) -> Dataset:
        """Make a dataset of a file: all rows or none. Sending the same file again gives the same dataset."""
        reply: Dataset = self._http.json("POST", "datasets/", form=sent)
        return reply

    def endpoints(self) -> list[Endpoint]:
        """The endpoints that your runs and pipelines can use, by name (at most 1,000). Keys are never shown."""
        reply: list[Endpoint] = self._http.json("GET", "endpoints/")
        return reply

    def all(self) -> list[Pipeline]:
        """Pipelines of your workspaces, newest first (at most 100)."""
        reply: list[Pipeline] = self._http.json("GET", "pipelines/")
        return reply

    def create(self, **sent: Unpack[NewPipeline]) -> Pipeline:
        """Start a recipe on a dataset; a background job carries it out. Needs the role of an editor in the
        dataset's workspace.
        """
        reply: Pipeline = self._http.json("POST", "pipelines/", body=sent)
        return reply

    def read(self, id: int, /) -> Pipeline:
        """The state of the pipeline, and what its finished steps left."""
        reply: Pipeline = self._http.json("GET", f"pipelines/{id}/")
        return reply

    def change(self, id: int, /, **sent: Unpack[PipelineBudgetPatch]) -> Pipeline:
        """Raise or lower the budget. 400 if more has been used already, 409 if the pipeline is over."""
        reply: Pipeline = self._http.json("PATCH", f"pipelines/{id}/", body=sent)
        return reply

    def act(
        self,
        id: int,
        action: Literal["cancel", "cancel-job", "give-up-job", "pause", "resume", "retry", "same-deployment"],
        /,
        **sent: Unpack[Action],
    ) -> Pipeline:
        """Act on the pipeline; repeating an action has no further effect. 409 if that is not possible now.

        Only two read the body: ``retry`` the calls to send again, and ``same-deployment`` where the moved
        endpoint is now: a 409 says it, and refuses anything else.
        """
        reply: Pipeline = self._http.json("POST", f"pipelines/{id}/{part(action)}/", body=sent)
        return reply

    def recipes(self) -> list[Recipe]:
        """The recipes that ship with Foretell, then those saved in your workspaces, the newest version first
        (at most 1,000).
        """
        reply: list[Recipe] = self._http.json("GET", "recipes/")
        return reply

"""The interfaces that layers are joined by; `runtime` fills them in.

Only `ProviderAdapter` is required of a provider. Everything else is a Protocol of its own: ask
`isinstance(adapter, SupportsPull)` and offer the action only then.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.protocol.provider_events import ProviderEvent
from ollm_tui.protocol.request import Request, Response
from ollm_tui.protocol.tools import Approval, ToolCall, ToolEffect, ToolOutput, ToolSchema

StreamingFormat: TypeAlias = Literal["sse", "ndjson", "none"]
ProviderStream: TypeAlias = AbstractAsyncContextManager[AsyncIterator[ProviderEvent]]


@runtime_checkable
class ProviderAdapter(Protocol):
    """A way to talk to one backend."""

    @property
    def name(self) -> str:
        """The instance's name, unique in a registry: the scheme of `provider://model`."""
        ...

    @property
    def label(self) -> str:
        """The name a person reads."""
        ...

    @property
    def streaming_format(self) -> StreamingFormat:
        """How answers come over the wire."""
        ...

    def chat_stream(self, request: Request) -> ProviderStream:
        """Ask, and give the events as they come.

        Leaving the block, by any road, has closed the connection. Every failure is the one
        closing `ErrorEvent`; `request.signal` ends the stream with `Finish("abort")`; a task
        cancellation propagates.
        """
        ...

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Ask for a whole `Response`, or with `request.stream` for a stream.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE when streaming is asked for and not there.
        """
        ...

    def capabilities(self) -> Sequence[ModelCapability]:
        """What models of this provider can do as far as it is known without asking."""
        ...


@runtime_checkable
class SupportsWindow(Protocol):
    """Loads a model with the window that a request names by `num_ctx`."""

    loads_with_window: bool


@runtime_checkable
class SupportsTokenCount(Protocol):
    """Counts with the engine's own tokenizer."""

    async def count_tokens(self, request: Request) -> int:
        """Tokens of the whole request, through the model's template."""
        ...


@runtime_checkable
class SupportsTextTokenCount(Protocol):
    """Counts text with the engine's own tokenizer, but does not know the model's template."""

    async def count_text_tokens(self, model: str, text: str) -> int:
        """Tokens of a text alone: what frames a conversation is not in it."""
        ...


@runtime_checkable
class SupportsEmbed(Protocol):
    """Makes embeddings."""

    async def embed(self, request: Request) -> Response:
        """Give an `EmbeddingContent` for each text block of the request's input, in their order."""
        ...


@runtime_checkable
class SupportsList(Protocol):
    """Lists its models."""

    async def list_models(self) -> Sequence[ModelInfo]:
        """Give every model the provider has."""
        ...


@runtime_checkable
class RemembersListError(Protocol):
    """Lists nothing when its server cannot be asked, and keeps the reason."""

    @property
    def last_error(self) -> AIError | None:
        """Why the last listing is empty; None when it is right."""
        ...


@runtime_checkable
class SupportsShow(Protocol):
    """Describes one model."""

    async def show_model(self, name: str) -> ModelInfo:
        """Give all that is known about one model."""
        ...


@runtime_checkable
class SupportsPull(Protocol):
    """Fetches models."""

    def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Fetch a model; a repeated call goes on where the last one stopped.

        Layers may come side by side, so the whole is the sum over `digest`. The iterator raises
        `AIError` when the model did not come whole. Whoever may leave before its end closes it:
        as an async context manager where it is one, else with `aclose`.
        """
        ...


@runtime_checkable
class SupportsDelete(Protocol):
    """Deletes models."""

    async def delete_model(self, name: str) -> None:
        """Remove a model for good."""
        ...


@runtime_checkable
class SupportsCopy(Protocol):
    """Copies models under another name."""

    async def copy_model(self, source: str, destination: str) -> None:
        """Give a model a second name."""
        ...


@runtime_checkable
class SupportsLoad(Protocol):
    """Brings models into memory ahead of use."""

    async def load_model(self, name: str) -> None:
        """Load a model and wait until it is ready."""
        ...


@runtime_checkable
class SupportsLoadFor(Protocol):
    """Brings models into memory for as long as somebody wants."""

    async def load_model_for(self, name: str, keep_alive: str | float) -> None:
        """Load a model and keep it for this long without a request.

        `keep_alive` is text like `1h30m`, or seconds; below zero is forever. A model that is
        loaded already stays from now on as long as this says.
        """
        ...


@runtime_checkable
class SupportsUnload(Protocol):
    """Frees a model's memory on demand."""

    async def unload_model(self, name: str) -> None:
        """Drop a model from memory."""
        ...


@runtime_checkable
class SupportsRunning(Protocol):
    """Tells which models are in memory."""

    async def list_running(self) -> Sequence[ModelInfo]:
        """Give the loaded models."""
        ...


@runtime_checkable
class SupportsVersion(Protocol):
    """Knows which version of the server it talks to."""

    async def server_version(self) -> str | None:
        """Give the version as the server writes it; None when it has none to tell."""
        ...


@runtime_checkable
class SupportsInitialize(Protocol):
    """Wants to be woken before first use."""

    async def initialize(self) -> None:
        """Prepare; called once, before the first request."""
        ...


@runtime_checkable
class SupportsDispose(Protocol):
    """Holds something that must be given back."""

    async def dispose(self) -> None:
        """Close connections and end child processes."""
        ...


class ModelLibrary(Protocol):
    """The model files on this machine, as the embedded provider sees them."""

    def models(self) -> Sequence[ModelInfo]:
        """Give the model files, also those that cannot be chatted with."""
        ...

    def path_of(self, name: str) -> Path:
        """Give the file of a model.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        ...

    def name_of(self, path: Path) -> str | None:
        """Give what the model is called whose first file this is; None when it is not listed."""
        ...

    def facts(self, name: str) -> JsonObject:
        """Give all that the file says of its model, and where it is from.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        ...

    def check_delete(self, name: str) -> None:
        """Do nothing for a model that may be deleted.

        Raises:
            AIError: MODEL_NOT_FOUND, or it is kept, for the reason given.
        """
        ...

    def delete(self, name: str) -> None:
        """Remove the files of a model for good, with what lies beside them.

        Raises:
            AIError: as `check_delete`, or a file could not be removed.
        """
        ...


@runtime_checkable
class Tool(Protocol):
    """Something a model may have done."""

    @property
    def schema(self) -> ToolSchema:
        """How it is offered."""
        ...

    @property
    def effect(self) -> ToolEffect:
        """What it may do."""
        ...

    @property
    def timeout_s(self) -> float:
        """How long one call may take."""
        ...

    async def run(self, args: JsonObject) -> ToolOutput:
        """Do it; whatever is raised becomes an error result."""
        ...


class Approver(Protocol):
    """Says whether a call may run."""

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Ask a person, or answer by a rule; what is shown is what will run."""
        ...


class ChatJournal(Protocol):
    """Keeps one conversation as it happens."""

    async def begin(self, message: Message) -> str:
        """Store a message and give its id; it is safe when this returns."""
        ...

    async def update(self, message_id: str, message: Message) -> None:
        """Take a message that has grown; at most the last quarter second may be lost."""
        ...

    async def finish(self, message_id: str, message: Message) -> None:
        """Store a message in its last form; it is safe when this returns.

        An empty id means the message whose `begin` failed last.
        """
        ...

    def rewind(self, kept: int) -> None:
        """Go on after the first `kept` messages; the others stay as another branch."""
        ...

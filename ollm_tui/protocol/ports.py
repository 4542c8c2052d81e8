"""The interfaces between layers; `runtime` fills them in.

Each optional ability is a Protocol: offer an action if `isinstance(adapter, SupportsPull)`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelDraft, ModelInfo, PullProgress
from ollm_tui.protocol.provider_events import DrawingProgress, ProviderEvent, Segment
from ollm_tui.protocol.request import PromptText, Request, Response
from ollm_tui.protocol.tools import Approval, ToolCall, ToolEffect, ToolOutput, ToolSchema

StreamingFormat: TypeAlias = Literal["sse", "ndjson", "none"]
ProviderStream: TypeAlias = AbstractAsyncContextManager[AsyncIterator[ProviderEvent]]


@runtime_checkable
class ProviderAdapter(Protocol):
    """A connection to one backend."""

    @property
    def name(self) -> str:
        """The instance's name, unique in a registry: the scheme of `provider://model`."""

    @property
    def label(self) -> str:
        """The name that users see."""

    @property
    def streaming_format(self) -> StreamingFormat:
        """How answers are streamed."""

    def chat_stream(self, request: Request) -> ProviderStream:
        """Send a request and stream the events of its answer.

        Leaving the block in any way closes the connection. Every failure is the one closing
        `ErrorEvent`; `request.signal` ends the stream with `Finish("abort")`; a task cancellation
        propagates.
        """

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Return a whole `Response`, or with `request.stream` a stream.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE if the provider cannot stream.
        """

    def capabilities(self) -> Sequence[ModelCapability]:
        """Return what models of this provider can do, as far as known without a request."""


@runtime_checkable
class SupportsWindow(Protocol):
    """Loads a model with the window that a request names by `num_ctx`."""

    loads_with_window: bool


@runtime_checkable
class SupportsTokenCount(Protocol):
    """Counts with the engine's own tokenizer."""

    async def count_tokens(self, request: Request) -> int:
        """Return the tokens of the whole request, through the model's template."""


@runtime_checkable
class SupportsTextTokenCount(Protocol):
    """Counts text with the engine's own tokenizer, but does not know the model's template."""

    async def count_text_tokens(self, model: str, text: str) -> int:
        """Return the tokens of a text alone, without the frame of a conversation."""


@runtime_checkable
class SupportsPromptText(Protocol):
    """Reports the prompt that its engine makes of a request."""

    async def prompt_text(self, request: Request) -> PromptText:
        """Return the text that the model gets for a request, through the model's template."""


@runtime_checkable
class WritesPrompt(Protocol):
    """Adds to the messages of a request what switches thinking."""

    def as_sent(self, request: Request) -> Request:
        """Return the request with the messages that are sent.

        A last message of the assistant is the beginning of its answer.
        """


@runtime_checkable
class SupportsEmbed(Protocol):
    """Makes embeddings."""

    async def embed(self, request: Request) -> Response:
        """Return an `EmbeddingContent` for each text block of the input, in their order."""


@runtime_checkable
class SupportsSpeech(Protocol):
    """Speaks a text."""

    def speak(self, request: Request) -> ProviderStream:
        """Stream the sound of the input's text as `MediaDelta`s."""


@runtime_checkable
class SupportsTranscription(Protocol):
    """Writes down what is said."""

    async def transcribe(self, request: Request) -> Response:
        """Return the text of the input's only sound."""


ReportSegment: TypeAlias = Callable[[Segment], Awaitable[None]]
"""Takes a part of a transcription."""


@runtime_checkable
class SupportsSegments(Protocol):
    """Writes down what is said, and tells each part of it at once."""

    async def transcribe_segments(self, request: Request, report: ReportSegment) -> Response:
        """Return the text of the input's only sound; `report` takes its parts as they come."""


ReportDrawing: TypeAlias = Callable[[DrawingProgress], Awaitable[None]]
"""Takes one step of a drawing."""


@runtime_checkable
class SupportsPictures(Protocol):
    """Makes pictures."""

    async def draw(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return an `ImageContent` with data for each picture of the input's text.

        Pictures of the input are edited; the request's mask says where. `extra_body` may have
        `size`, as in 512x512, and `n`, the number of pictures. A request that is stopped is
        stopped on the server too, if the server can.
        """


@runtime_checkable
class SupportsList(Protocol):
    """Lists its models."""

    async def list_models(self) -> Sequence[ModelInfo]:
        """Return every model the provider has."""


@runtime_checkable
class RemembersListError(Protocol):
    """Returns an empty listing if its server fails, and keeps the error."""

    @property
    def last_error(self) -> AIError | None:
        """Why the last listing is empty, or None if it succeeded."""


@runtime_checkable
class SupportsShow(Protocol):
    """Describes one model."""

    async def show_model(self, name: str) -> ModelInfo:
        """Return all that is known about one model."""


@runtime_checkable
class SupportsPull(Protocol):
    """Downloads models."""

    def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Download a model; a repeated call resumes where the last one stopped.

        Layers may be downloaded concurrently, so the total is the sum over `digest`. The iterator
        raises `AIError` if the download is incomplete. To leave before its end, close it: as an
        async context manager if it is one, else with `aclose`.
        """


@runtime_checkable
class SupportsDelete(Protocol):
    """Deletes models."""

    async def delete_model(self, name: str) -> None:
        """Delete a model permanently."""


@runtime_checkable
class SupportsCopy(Protocol):
    """Copies models to a new name."""

    async def copy_model(self, source: str, destination: str) -> None:
        """Copy a model to a new name."""


ReportProgress: TypeAlias = Callable[[PullProgress], Awaitable[None]]
"""Takes one step of long work. A caller that cancels the task stops the work."""


@runtime_checkable
class SupportsCreate(Protocol):
    """Makes models from others, or from files."""

    async def create_model(self, name: str, draft: ModelDraft, report: ReportProgress) -> None:
        """Make a model of this name, in place of one that has it."""


@runtime_checkable
class SupportsQuantize(Protocol):
    """Makes smaller models of those with full weights."""

    async def quantize_model(
        self, name: str, level: str, copy: str, report: ReportProgress
    ) -> None:
        """Make a quantized copy of a model."""


@runtime_checkable
class SupportsPush(Protocol):
    """Uploads models to a registry."""

    async def push_model(self, name: str, report: ReportProgress) -> None:
        """Upload a model under its name."""


@runtime_checkable
class SupportsLoad(Protocol):
    """Loads models ahead of use."""

    async def load_model(self, name: str) -> None:
        """Load a model and wait until it is ready."""


@runtime_checkable
class SupportsLoadFor(Protocol):
    """Loads models for a given time."""

    async def load_model_for(self, name: str, keep_alive: str | float) -> None:
        """Load a model and keep it for this long without a request.

        `keep_alive` is text like `1h30m`, or seconds; below zero is forever. For a model that is
        already loaded, the time starts over.
        """


@runtime_checkable
class SupportsUnload(Protocol):
    """Unloads models."""

    async def unload_model(self, name: str) -> None:
        """Unload a model."""


@runtime_checkable
class SupportsRunning(Protocol):
    """Lists the models that are loaded."""

    async def list_running(self) -> Sequence[ModelInfo]:
        """Return the loaded models."""


@runtime_checkable
class SupportsVersion(Protocol):
    """Reports the version of its server."""

    async def server_version(self) -> str | None:
        """Return the version as the server writes it, or None if it does not report one."""


@runtime_checkable
class SupportsInitialize(Protocol):
    """Needs preparation before first use."""

    async def initialize(self) -> None:
        """Prepare; called once, before the first request."""


@runtime_checkable
class SupportsDispose(Protocol):
    """Holds resources that must be released."""

    async def dispose(self) -> None:
        """Close connections and end child processes."""


Companion: TypeAlias = Literal["projector", "lora", "draft_model"]
"""A file that a model is loaded with."""


class ModelLibrary(Protocol):
    """The model files on this machine; keeps the embedded provider from knowing the library.

    A name that no file has is MODEL_NOT_FOUND.
    """

    def models(self) -> Sequence[ModelInfo]:
        """Return the model files, also those that are not for chat."""

    def path_of(self, name: str) -> Path:
        """Return the file of a model."""

    def check_companion(self, path: Path, kind: Companion, name: str) -> None:
        """Raise an `AIError` that tells why a file cannot be used with a model."""

    def name_of(self, path: Path) -> str | None:
        """Return the name of the model with this first file, or None if it is not listed."""

    def facts(self, name: str) -> JsonObject:
        """Return all that the file tells about its model, and its origin."""

    def check_delete(self, name: str) -> None:
        """Raise an `AIError` that tells why a model is kept, unless it may be deleted."""

    def delete(self, name: str) -> None:
        """Delete the files of a model permanently, with their companions, after the same check."""


@runtime_checkable
class Tool(Protocol):
    """A tool that a model may call."""

    @property
    def schema(self) -> ToolSchema:
        """The schema that the model is offered."""

    @property
    def effect(self) -> ToolEffect:
        """What it may do."""

    @property
    def timeout_s(self) -> float:
        """Time limit of one call, in seconds."""

    async def run(self, args: JsonObject) -> ToolOutput:
        """Run a call; an exception becomes an error result."""


class Approver(Protocol):
    """Decides whether a call may run."""

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Ask the user, or decide by a rule; what is shown is what will run."""


class ChatJournal(Protocol):
    """Saves one conversation as it grows; keeps the chat from knowing the store."""

    async def begin(self, message: Message) -> str:
        """Store a message and return its id; it is on the disk when this returns."""

    async def update(self, message_id: str, message: Message) -> None:
        """Replace a message that has grown; at most the last quarter second may be lost."""

    async def finish(self, message_id: str, message: Message) -> None:
        """Store a message in its final form; it is on the disk when this returns.

        An empty id stands for the message whose `begin` failed last.
        """

    async def branch(self, kept: int, messages: Sequence[Message]) -> None:
        """Continue after the first `kept` messages with others; all or none are on the disk."""

    def rewind(self, kept: int) -> None:
        """Continue after the first `kept` messages; the others stay as another branch."""

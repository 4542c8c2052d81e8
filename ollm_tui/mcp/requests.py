"""What a server may ask for: an answer of the model, a form, a page to open, the working folder.

All but the folder, for programs, is off until the settings of that server switch it on. Then each
request is a question to the user.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

import anyio

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.mcp.log import ServerLog
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.forms import FormField, FormValues
from ollm_tui.protocol.message import Message

Action: TypeAlias = Literal["accept", "decline", "cancel"]
"""What the user did: agreed, refused, or closed the question."""
MAX_WAITING: Final = 3
"""Requests of one server that wait for the user; further ones are refused."""
MAX_REFUSED: Final = 3
"""Refusals in a row after which nothing more is asked until the server is restarted."""
QUESTIONS_S: Final = 3600.0
"""How much longer a call may take if its server asks something meanwhile."""
Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """Messages that a server wants the model to answer."""

    server: str
    messages: tuple[Message, ...]
    max_tokens: int
    system_prompt: str = ""
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingAnswer:
    """What the model wrote."""

    text: str
    model: str
    is_cut: bool = False
    """Whether it ended at the limit of tokens."""


@dataclass(frozen=True, slots=True)
class FormRequest:
    """Fields that a server wants the user to fill."""

    server: str
    message: str
    fields: tuple[FormField, ...]


@dataclass(frozen=True, slots=True)
class AddressRequest:
    """A page that a server wants the user to open."""

    server: str
    message: str
    url: str


class Answerer(Protocol):
    """Asks the user; a cancellation closes the question."""

    async def sample(self, request: SamplingRequest) -> SamplingAnswer | None:
        """Return the model's answer; None if the user refused to ask it, or to hand it over.

        Raises:
            AIError: the model cannot answer.
        """

    async def fill(self, request: FormRequest) -> tuple[Action, FormValues]:
        """Return what the user did, and the values that they agreed to send."""

    async def open_page(self, request: AddressRequest) -> Action:
        """Show an address; it is opened if the user agrees."""


@dataclass(slots=True)
class ClientSide:
    """What all servers meet here."""

    root: Path | None = None
    """The folder in which tools work."""
    answerer: Answerer | None = None
    """None where there is no user to ask; then servers are not told that they may ask."""
    complete: Callable[[str, SamplingRequest], Awaitable[SamplingAnswer]] | None = None
    """Has a model answer; set by the runtime."""


class QuestionClock:
    """Time limits that stand still while the user is asked."""

    def __init__(self) -> None:
        self._questions = 0
        self._left: dict[anyio.CancelScope, float] = {}

    @contextmanager
    def limit(self, seconds: float) -> Iterator[anyio.CancelScope]:
        """Cancel the block after so many seconds without a question."""
        with anyio.CancelScope() as scope:
            self._left[scope] = seconds
            if not self._questions:
                scope.deadline = anyio.current_time() + seconds
            try:
                yield scope
            finally:
                del self._left[scope]

    @contextmanager
    def question(self) -> Iterator[None]:
        """Let all limits stand still."""
        now = anyio.current_time()
        if not self._questions:
            for scope in self._left:
                self._left[scope], scope.deadline = scope.deadline - now, inf
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                now = anyio.current_time()
                for scope, left in self._left.items():
                    scope.deadline = now + left


class ServerRights:
    """What one server may ask."""

    def __init__(
        self, name: str, settings: McpServerSettings, client: ClientSide, log: ServerLog
    ) -> None:
        self.name = name
        self.clock = QuestionClock()
        self._settings = settings
        self._client = client
        self._log = log
        self._waiting = 0
        self._refused = 0

    @property
    def may_sample(self) -> bool:
        """Whether it may ask for an answer of the model."""
        return self._settings.sampling and self._client.answerer is not None

    @property
    def may_elicit(self) -> bool:
        """Whether it may ask the user for something."""
        return self._settings.elicitation and self._client.answerer is not None

    @property
    def root(self) -> Path | None:
        """The working folder, if it may know it: by default a program, which can see it anyway."""
        is_shown = self._settings.roots
        if is_shown is None:
            is_shown = self._settings.command is not None
        return self._client.root if is_shown else None

    @property
    def questions_s(self) -> float:
        """How much longer a call may take because something is asked."""
        return QUESTIONS_S if self.may_sample or self.may_elicit else 0.0

    def forgive(self) -> None:
        """Let it ask again after refusals: the user has restarted it."""
        self._refused = 0

    async def ask(
        self,
        question: Callable[[Answerer], Awaitable[Answer]],
        is_refusal: Callable[[Answer], bool],
    ) -> Answer:
        """Put a question to the user, unless there are too many.

        Raises:
            AIError: it is not asked, or cannot be answered.
        """
        answerer = self._client.answerer
        if answerer is None:
            raise _refusal("There is no person to ask.")
        if self._refused >= MAX_REFUSED:
            self._log.add("A request was refused without a question, after refusals in a row.")
            raise _refusal("The person refused several requests; no further one is shown.")
        if self._waiting >= MAX_WAITING:
            raise _refusal("Other requests of this server are waiting.")
        self._waiting += 1
        try:
            with self.clock.question():
                answer = await question(answerer)
        except AIError:
            raise
        except Exception as error:  # its words would go to the server
            logger.exception("A request of the MCP server %s failed", self.name)
            raise _refusal("The client failed.") from error
        finally:
            self._waiting -= 1
        self._refused = self._refused + 1 if is_refusal(answer) else 0
        return answer


def _refusal(sentence: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, sentence)

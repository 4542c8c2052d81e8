"""One answer at a time, and the prompts that wait for it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import anyio

from ollm_tui.commands.parse import ShellLine
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.blocks import MEDIA, Content, MediaContent, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.tui.chat.presenter import TurnPresenter
from ollm_tui.tui.chat.restore import prompt_words
from ollm_tui.tui.composer import WaitingPrompts

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient, ChatStream
    from ollm_tui.chat.drawing import DrawingWish
    from ollm_tui.chat.prompt import ChatOptions
    from ollm_tui.protocol.chat_events import ChatEvent

STOP_GRACE_S = 1.5
"""How long a stopped answer may take to close its connection before its task is cancelled."""


class AnswerListener(Protocol):
    """What follows each answer beside the screen."""

    def begin_answer(self) -> None:
        """Note that a prompt is sent."""

    def take(self, event: "ChatEvent") -> None:
        """Take an event of the answer; there are none after a stop."""

    def end_answer(self) -> None:
        """Note that nothing more comes."""


@dataclass(frozen=True, slots=True)
class AnswerListeners:
    """Several listeners as one."""

    listeners: Sequence[AnswerListener]

    def begin_answer(self) -> None:
        """Note that a prompt is sent."""
        for one in self.listeners:
            one.begin_answer()

    def take(self, event: "ChatEvent") -> None:
        """Take an event of the answer."""
        for one in self.listeners:
            one.take(event)

    def end_answer(self) -> None:
        """Note that nothing more comes."""
        for one in self.listeners:
            one.end_answer()


@dataclass(slots=True)
class PromptQueue:
    """Sends prompts to the client in order, and stops the answer on request."""

    presenter: TurnPresenter
    queue_changed: Callable[[Sequence[str]], None]
    client: "Callable[[], ChatClient]"
    """Called for each prompt, as the chat may have changed."""
    content: Callable[[str], Content] = str
    """Returns a prompt as it is sent, with its pictures."""
    listener: AnswerListener | None = None
    run_shell: "Callable[[str, AbortSignal], Awaitable[None]] | None" = None
    """Runs a command of the user in its turn; it returns soon after the signal."""
    waiting: WaitingPrompts = field(init=False)
    """What is sent next, in order."""
    _signal: AbortSignal | None = None
    _scope: anyio.CancelScope | None = None
    _holds: int = 0
    _is_command: bool = False
    failed: bool = False
    """Whether the newest prompt ended in an error, so that sending it again makes sense."""
    refused: bool = False
    """Whether it would end in the same error if it were sent again as things are."""

    def __post_init__(self) -> None:
        self.waiting = WaitingPrompts(self.queue_changed)

    @property
    def is_running(self) -> bool:
        """Whether an answer is coming; one whose end is shown may still close its connection."""
        if self._signal is None or self._signal.aborted:
            return False
        return self._is_command or not self.presenter.is_over

    @property
    def is_busy(self) -> bool:
        """Whether a prompt has to wait: an answer is coming or closing, or the queue is held."""
        return self._signal is not None or self._holds > 0

    def hold(self) -> None:
        """Let prompts wait until `release` is called as often."""
        self._holds += 1

    def release(self) -> None:
        """Undo one `hold`; what waits is not sent by this."""
        self._holds -= 1

    @property
    def can_go_on(self) -> bool:
        """Whether the newest prompt ran out of turns and nothing was sent since."""
        return self.presenter.can_go_on and self._signal is None

    @property
    def is_waiting(self) -> bool:
        """Whether prompts are queued."""
        return bool(self.waiting.items)

    @property
    def can_stop(self) -> bool:
        """Whether there is an answer to stop or a queue to take back."""
        return self.is_running or self.is_waiting

    def enqueue(self, text: str) -> None:
        """Keep a prompt until the answer before it has ended."""
        self.waiting.add(text)

    def take_back(self) -> str:
        """Take all waiting prompts out of the queue, as one text for the editor."""
        return self.waiting.take_all()

    def take_newest(self) -> str | None:
        """Take the newest prompt out of the queue, or None if none waits."""
        return self.waiting.take(self.waiting.items[-1]) if self.is_waiting else None

    def stop(self) -> None:
        """Stop the answer: shown at once, the connection closes afterwards."""
        if self._signal is None or self._signal.aborted:
            return
        self._signal.abort()
        if not self._is_command:
            self.presenter.stop()
        if self._scope is not None:
            self._scope.deadline = anyio.current_time() + STOP_GRACE_S

    async def run(self, prompt: str | None) -> None:
        """Send a prompt, or run a command, then take what was queued meanwhile.

        None sends the newest question again.
        """
        await self._take(prompt)
        if not self.failed:
            await self.drain()

    async def go_on(self, options: "ChatOptions | None" = None) -> None:
        """Let the model continue where its turns ran out, then send what was queued meanwhile."""
        client = self.client()
        await self._run(lambda signal: client.go_on(options, signal), self.presenter.go_on)
        if not self.failed:
            await self.drain()

    async def drain(self) -> None:
        """Send everything that waits, up to an error: what follows it may depend on it."""
        while self.waiting.items:
            await self._take(self.waiting.first())
            if self.failed:
                return

    async def _take(self, text: str | None) -> None:
        if isinstance(text, ShellLine):
            await self._run_command(text)
        else:
            await self._send(text)

    async def _run_command(self, command: ShellLine) -> None:
        if self.run_shell is None:
            return
        signal = self._signal = AbortSignal()
        self._is_command = True
        try:
            await self.run_shell(command, signal)
        finally:
            self._signal, self._is_command = None, False

    async def _send(self, prompt: str | None) -> None:
        client, begin = self.client(), self.presenter.begin
        position = len(client.conversation.messages)
        if prompt is None:
            await self._run(
                lambda signal: client.retry(signal=signal), lambda: begin(None, position)
            )
            return
        content = self.content(prompt)
        shown, attached = _shown(content)
        await self._run(
            lambda signal: client.chat(content, signal=signal),
            lambda: begin(shown, position, attached),
        )

    async def draw(self, content: Content, wish: "DrawingWish") -> None:
        """Have a model draw a prompt, then send what was queued meanwhile."""
        client = self.client()
        position = len(client.conversation.messages)
        shown, attached = _shown(content)
        await self._run(
            lambda signal: client.draw(content, wish, signal),
            lambda: self.presenter.begin(shown, position, attached),
        )
        if not self.failed:
            await self.drain()

    async def _run(
        self, ask: "Callable[[AbortSignal], ChatStream]", begin: Callable[[], None]
    ) -> None:
        self._signal = signal = AbortSignal()
        begin()
        if self.listener is not None:
            self.listener.begin_answer()
        try:
            with anyio.CancelScope() as self._scope:
                await self._stream(ask(signal))
        finally:
            self._signal = self._scope = None
            if self.listener is not None:
                self.listener.end_answer()
        self.failed, self.refused = self.presenter.failed, self.presenter.refused
        if self.failed and self.is_waiting:
            self.queue_changed(tuple(item.text for item in self.waiting.items))

    async def _stream(self, stream: "ChatStream") -> None:
        try:
            async with stream as events:
                async for event in events:
                    if self.listener is not None and not self.presenter.is_over:
                        self.listener.take(event)
                    self.presenter.apply(event)
        except AIError as error:
            self.presenter.fail(error)
        else:
            self.presenter.fail(
                AIError(ErrorCode.STREAM_INCOMPLETE, "The answer ended without an end marker.")
            )


def _shown(content: Content) -> tuple[str, Sequence[MediaContent]]:
    """Return the text of a prompt as it is shown, and what is attached."""
    blocks = normalize_content(content)
    attached = [block for block in blocks if isinstance(block, MEDIA)]
    return content if isinstance(content, str) else prompt_words(blocks), attached

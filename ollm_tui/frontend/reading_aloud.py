"""Reading aloud: sentences become sound while the one before is played."""

from collections import deque
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Final, Literal, Protocol, TypeAlias

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from ollm_tui.decode.spoken import SpokenText
from ollm_tui.frontend.notes import SayWithHint, SpeechLine
from ollm_tui.protocol.chat_events import ChatEvent, TextDelta, ToolCallStart, TurnComplete
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound.player import Player

_SLICE: Final = 2_000
"""Characters that are divided into sentences before the screen gets its turn."""
_Sound: TypeAlias = bytes | AIError


class Speaker(Protocol):
    """What reading aloud uses of the runtime."""

    def player(self) -> Player:
        """Return what plays; an `AIError` if nothing does."""

    async def find_model(self, task: Literal["speech"]) -> str:
        """Return the address of the model; an `AIError` if there is none."""

    async def speak(self, text: str) -> bytes:
        """Return the sound of a text."""


class Script:
    """A text that is read while it still arrives."""

    def __init__(self, text: str = "") -> None:
        self._pieces: deque[str | None] = deque([text] if text else [])
        self._block: str | None = None
        self.is_empty = False
        """Whether it came to its end without a sentence."""
        self._has_ended = False
        self._changed = anyio.Event()

    def add(self, text: str, block: str | None = None) -> None:
        """Add a piece of a block; another block begins a new sentence."""
        if block != self._block:
            self.end_block()
        self._block = block
        self._pieces.append(text)
        self._changed.set()

    def end_block(self) -> None:
        """End the sentence that was begun."""
        self._pieces.append(None)
        self._changed.set()

    def end(self) -> None:
        """Note that nothing more arrives."""
        self._has_ended = True
        self._changed.set()

    async def sentences(self) -> AsyncIterator[str]:
        """Yield the sentences as they are complete."""
        spoken, count = SpokenText(), 0
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                if piece is not None and len(piece) > _SLICE:
                    self._pieces.appendleft(piece[_SLICE:])
                    piece = piece[:_SLICE]
                for one in spoken.finish() if piece is None else spoken.feed(piece):
                    count += 1
                    yield one
                await anyio.lowlevel.checkpoint()
            if self._has_ended:
                break
            self._changed = anyio.Event()
            await self._changed.wait()
        rest = spoken.finish()
        self.is_empty = not (count or rest)
        for one in rest:
            yield one


class ReadAloud:
    """Reads one text at a time; what is read stops at once."""

    def __init__(self, voice: Speaker, line: SpeechLine, say: SayWithHint) -> None:
        self._voice, self._line, self._say = voice, line, say
        self._is_on = False
        self._is_expecting = False
        """Whether the answer that comes is to be read and nothing of it has arrived."""
        self._script: Script | None = None
        self._scope: anyio.CancelScope | None = None
        self._player: Player | None = None

    @property
    def is_running(self) -> bool:
        """Whether something is being read."""
        return self._script is not None

    async def switch_on(self) -> None:
        """Read every answer from now on.

        Raises:
            AIError: no model speaks, or nothing plays here.
        """
        self._voice.player()
        address = await self._voice.find_model("speech")
        self._is_on = True
        self._say(f"Answers are read aloud by {address}.", "info", "/speak off ends it.")

    def switch_off(self) -> None:
        """Read no more answers."""
        self._is_on = self._is_expecting = False
        self.stop()

    def expect_answer(self) -> None:
        """Read the next answer if it is wished."""
        self._is_expecting = self._is_on

    def take(self, event: ChatEvent) -> Coroutine[Any, Any, None] | None:
        """Add an event of the answer to what is read; returns the work that begins reading."""
        if isinstance(event, TextDelta):
            work = None
            if self._is_expecting:
                self._is_expecting = False
                self._script = script = Script()
                work = self._run(script)
            if self._script is not None:
                self._script.add(event.delta, event.block)
            return work
        if self._script is not None and isinstance(event, ToolCallStart | TurnComplete):
            self._script.end_block()
        return None

    def end_answer(self) -> None:
        """Note that the answer is complete, or will not be."""
        self._is_expecting = False
        if self._script is not None:
            self._script.end()

    async def read(self, text: str) -> None:
        """Read a text, and return when it was heard or stopped."""
        self._script = script = Script(text)
        script.end()
        await self._run(script)
        if script.is_empty:
            self._say("The answer has nothing in it to read aloud.", "info", "Code is not read.")

    def stop(self) -> None:
        """Stop at once."""
        self._script = None
        self._line.hide()
        if self._player is not None:
            self._player.stop()
        if self._scope is not None:
            self._scope.cancel()

    async def _run(self, script: Script) -> None:
        if self._script is not script:  # stopped before it began
            return
        self._line.show_reading()
        try:
            with anyio.CancelScope() as scope:
                self._scope = scope
                async with self._voice.player() as self._player:
                    await self._perform(script, self._player)
        except AIError as error:
            if self._script is script:
                self._say(error.message, "error", error.hint)
        finally:
            if self._script is script:
                self._script = self._scope = self._player = None
                self._line.hide()

    async def _perform(self, script: Script, player: Player) -> None:
        send, receive = anyio.create_memory_object_stream[_Sound](1)
        async with receive, anyio.create_task_group() as group:
            group.start_soon(self._synthesize, script, send)
            error = await _play(receive, player)
            group.cancel_scope.cancel()
        if error is not None:
            raise error

    async def _synthesize(self, script: Script, send: MemoryObjectSendStream[_Sound]) -> None:
        async with send:
            async for sentence in script.sentences():
                try:
                    sound: _Sound = await self._voice.speak(sentence)
                except AIError as error:
                    sound = error
                await send.send(sound)
                if isinstance(sound, AIError):
                    return


async def _play(receive: MemoryObjectReceiveStream[_Sound], player: Player) -> AIError | None:
    """Play all sounds; returns why that is not possible, since a group must not wrap it."""
    async for sound in receive:
        if isinstance(sound, AIError):
            return sound
        try:
            await player.play(sound)
        except AIError as error:
            return None if error.known_code is ErrorCode.ABORTED else error
    return None

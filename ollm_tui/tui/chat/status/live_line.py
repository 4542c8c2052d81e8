"""`LiveLine`: what is known of the model while it answers: loaded or not, its memory, how long."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.figures import stay_text
from ollm_tui.frontend.model_facts import FOREVER_S, seconds_left
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.chat_events import TextDelta, ThinkingDelta
from ollm_tui.protocol.keep_alive import keep_alive_seconds, parse_keep_alive
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.model_lookup import memory_of
from ollm_tui.tui.chat.status.status_presenter import StatusPresenter
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.transcript import ReadingMode

if TYPE_CHECKING:
    from ollm_tui.protocol.chat_events import ChatEvent
    from ollm_tui.protocol.model import ModelInfo

KEEP_STATS: Final = "To keep that after a restart, change show_stats in /settings."
LOOK_EVERY_S: Final = 3.0
"""How often a server is asked while it loads the model."""
TIMEOUT_S: Final = 2.0
"""How long a server may take to tell which models it has in memory."""


@dataclass(slots=True)
class LiveLine:
    """Asks at the beginning and the end of an answer, and between only while the model loads."""

    session: ChatSession
    status: StatusPresenter
    dialogs: Dialogs
    reading: ReadingMode
    """Says whether a line of figures follows each answer."""
    _info: "ModelInfo | None" = None
    _is_answering: bool = False
    _moved_on: anyio.Event = field(default_factory=anyio.Event)
    """Set with the first words of the answer, and with its end."""
    _learned: dict[str, float] = field(default_factory=dict)
    """How long servers keep their models after an answer, in seconds, by address."""

    def begin_answer(self) -> None:
        """Look whether the model is loaded."""
        self._info, self._is_answering, self._moved_on = None, True, anyio.Event()
        self.status.show_model_facts("")
        self.dialogs.run(self._watch(), "live", is_exclusive=True)

    def take(self, event: "ChatEvent") -> None:
        """Take note of the first words."""
        if isinstance(event, TextDelta | ThinkingDelta) and not self._moved_on.is_set():
            self._moved_on.set()

    def end_answer(self) -> None:
        """Stop looking; the time that the model stays has begun anew."""
        self._is_answering = False
        self._moved_on.set()
        ref, info = self.session.ref, self._info
        if ref is not None and info is not None and "expires_at" in info.details:
            self.dialogs.run(self._look_back(ref), "live", is_exclusive=True)

    async def _watch(self) -> None:
        ref, moved_on, was_loaded = self.session.ref, self._moved_on, True
        while ref is not None:
            info = await self._ask(ref)
            if moved_on is not self._moved_on or not self._is_answering:
                return
            self._info = info
            if info is None or info.loaded:
                if not was_loaded:
                    self._learn(ref, info)
                self.status.show_loading(is_loading=False)
                self.status.show_model_facts(" · ".join(self._facts("stays {}")))
                return
            was_loaded = False
            self.status.show_loading(is_loading=True)
            with anyio.move_on_after(LOOK_EVERY_S):
                await moved_on.wait()

    async def _look_back(self, ref: ModelRef) -> None:
        """Learn how long the server keeps the model: while it answers, the time is an older one."""
        self._learn(ref, await self._ask(ref))

    async def _ask(self, ref: ModelRef) -> "ModelInfo | None":
        return await self.session.runtime.running_info(ref, within_s=TIMEOUT_S)

    def _learn(self, ref: ModelRef, info: "ModelInfo | None") -> None:
        left = seconds_left(info.details.get("expires_at"), datetime.now(UTC)) if info else None
        if left is not None and left > 0:
            self._learned[str(ref)] = left

    def toggle_stats(self) -> str:
        """Show the line of figures after each answer, or no longer; return a sentence on it."""
        shown = not self.reading.current.stats
        self.reading.change(stats=shown)
        done = "Each answer is" if shown else "Answers are no longer"
        return f"{done} followed by a line of figures."

    def stats(self) -> Sequence[str] | None:
        """Return what follows the figures of an answer: window, memory, and how long it stays.

        None if no line is wanted.
        """
        if not self.reading.current.stats:
            return None
        window = self.status.bar.window_text
        return [*([window] if window else []), *self._facts("unloads in {}")]

    def _facts(self, stays: str) -> list[str]:
        info = self._info
        if info is None or not info.loaded:
            return []
        memory, left = memory_of(info), self._stays_s(info)
        facts = [size_text(memory)] if memory else []
        if left is not None:
            facts.append(stays.format(stay_text(left)) if left < FOREVER_S else "stays loaded")
        return facts

    def _stays_s(self, info: "ModelInfo") -> float | None:
        """Return how long the model stays loaded after an answer, in seconds; None if unknown."""
        wish = self.session.client.conversation.options.keep_alive
        kept = (
            info.details.get("stays_s")
            if wish is None
            else keep_alive_seconds(parse_keep_alive(wish))
        )
        if isinstance(kept, int | float):
            return math.inf if kept < 0 else float(kept)
        return self._learned.get(self.session.model or "")

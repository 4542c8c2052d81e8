"""The title of the open chat, made by its model after an answer, until the next prompt."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.chat_events import Finish
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.tui.dialogs import Dialogs

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.protocol.chat_events import ChatEvent
    from ollm_tui.runtime.saved.titles import ChatTitles


@dataclass(slots=True)
class TitleUpdater:
    """Listens to answers, to know how fast the model is, and has a title made behind them."""

    titles: "ChatTitles"
    client: Callable[[], "ChatClient"]
    """Returns the client of the open chat."""
    dialogs: Dialogs
    show_session: Callable[[], None]
    _finish: Finish | None = None
    _signal: AbortSignal | None = None

    def begin_answer(self) -> None:
        """Stop making a title: the prompt does not wait for it."""
        self._finish = None
        self.stop()

    def take(self, event: "ChatEvent") -> None:
        """Keep how fast the answer was."""
        if isinstance(event, Finish):
            self._finish = event

    def end_answer(self) -> None:
        """Do nothing: what follows an answer comes first."""

    def stop(self) -> None:
        """Stop making a title, such as for a chat that is left."""
        if self._signal is not None:
            self._signal.abort()
            self._signal = None

    def make_soon(self) -> None:
        """Have a title made in the background, if the chat should get one now."""
        client, finish = self.client(), self._finish
        if finish is None or finish.reason != "stop" or self._signal is not None:
            return
        if self.titles.is_wanted(client, finish.timings, finish.usage):
            self._signal = signal = AbortSignal()
            self.dialogs.run(self._make(client, signal), "title")

    async def _make(self, client: "ChatClient", signal: AbortSignal) -> None:
        try:
            title = await self.titles.make(client, signal)
        finally:
            if self._signal is signal:
                self._signal = None
        if title is not None and client is self.client():
            self.show_session()

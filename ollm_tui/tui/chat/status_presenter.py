"""What header and status bar say of the open chat."""

from typing import TYPE_CHECKING

from ollm_tui.protocol.message import Usage
from ollm_tui.tui.capabilities import KnowsRoom
from ollm_tui.tui.chat.session import ChatSession
from ollm_tui.tui.chat.status_line import TurnState

if TYPE_CHECKING:
    from ollm_tui.tui.chat.screen import ChatScreen


class StatusPresenter:
    """Shows the presenter's figures and the chat's own beside each other."""

    def __init__(self, screen: "ChatScreen", session: ChatSession) -> None:
        self._screen = screen
        self._talk = session
        self._downloads = ""

    def show_turn(self, state: TurnState) -> None:
        """Say what the answer is doing, and which keys matter now."""
        self._screen.status.show_turn(state)
        self._screen.show_keys(state)
        self._show_title()

    def show_speed(self, tokens_per_s: float | None) -> None:
        """Say how fast the answer comes."""
        self._screen.status.show_speed(tokens_per_s)

    def show_usage(self, usage: Usage) -> None:
        """Keep what the server counted."""
        self._talk.usage = usage
        self.show_talk()

    def show_room(self, used: int, limit: int) -> None:
        """Show what was counted before asking."""
        self._screen.status.show_context(used, limit)

    def show_tools(self) -> None:
        """Say how many tools are on, and whether they ask."""
        on = self._talk.client.conversation.tools
        count = sum(tool.name in on for tool in self._talk.offered_tools)  # one may be gone
        mode = self._screen.services.approver.permissions.word if count else ""
        tools = f"tools {count}{mode}" if count else ""
        self._screen.status.show_notes(*filter(None, (self._downloads, tools)))

    def show_downloads(self, word: str) -> None:
        """Say how far the downloads are; nothing takes the word away."""
        if word != self._downloads:
            self._downloads = word
            self.show_tools()

    def show_talk(self) -> None:
        """Say which model answers, in what chat, and how full its context is."""
        screen, ref = self._screen, self._talk.ref
        self._show_title()
        provider = self._talk.runtime.catalog.shown_name(ref.provider) if ref else ""
        screen.header.show_model(ref.model if ref else "", provider)
        self.show_context()
        self.show_tools()

    def show_context(self) -> None:
        """Say how full the context is, by the figures that decide whether a prompt is sent."""
        session, status = self._talk, self._screen.status
        runtime = session.runtime
        known = (
            runtime.room(session.client.conversation) if isinstance(runtime, KnowsRoom) else None
        )
        if known is not None:
            status.show_context(known.used, known.limit, is_assumed=known.is_assumed)
        else:
            status.show_context(session.context_used, session.window)

    def _show_title(self) -> None:
        title = self._talk.client.conversation.title or ""
        self._screen.header.show_title(title)
        self._screen.app.sub_title = title

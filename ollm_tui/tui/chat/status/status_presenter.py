"""What header and status bar say of the open chat."""

from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.tools import includes
from ollm_tui.tui.chat.parts import KeyHints
from ollm_tui.tui.chat.ports import TurnState
from ollm_tui.tui.chat.status.status_bar import StatusBar
from ollm_tui.tui.dialogs import ScreenApprover
from ollm_tui.tui.widgets import ChatHeader

_PRIVATE: Final = "Private"
"""Stands before the title of a chat of which nothing is kept."""


@dataclass(slots=True)
class StatusPresenter:
    """Shows the presenter's figures and the chat's own beside each other."""

    header: ChatHeader
    bar: StatusBar
    keys: KeyHints
    session: ChatSession
    approver: ScreenApprover
    _downloads: str = ""

    def show_turn(self, state: TurnState) -> None:
        """Show what the answer is doing, and which keys matter now."""
        self.bar.show_turn(state)
        self.keys.show(state)
        self._show_title()

    def show_speed(self, tokens_per_s: float | None) -> None:
        """Show how fast the answer comes."""
        self.bar.show_speed(tokens_per_s)

    def show_first_token(self, seconds_text: str) -> None:
        """Show how long the first token took; an empty text removes it."""
        self.bar.show_facts(first_token=seconds_text)

    def show_model_facts(self, facts: str) -> None:
        """Show what is known of the model that answers; an empty text removes it."""
        self.bar.show_facts(model=facts)

    def show_loading(self, *, is_loading: bool) -> None:
        """Show that the model is being loaded, or no longer is, before the answer comes."""
        if self.bar.state == ("waiting" if is_loading else "loading"):
            self.show_turn("loading" if is_loading else "waiting")

    def show_progress(self, progress: str) -> None:
        """Show how far a drawing is."""
        self.bar.show_progress(progress)

    def show_usage(self, usage: Usage) -> None:
        """Keep what the server counted, and show it."""
        self.session.usage = usage
        self.show_session()

    def show_room(self, used: int, limit: int) -> None:
        """Show what was counted before asking."""
        self.bar.show_context(used, limit)

    def show_tools(self) -> None:
        """Show how many tools are on, and whether they ask."""
        on = self.session.client.conversation.tools
        offered = self.session.runtime.offered_tools() if on else ()
        chosen = [tool for tool in offered if includes(on, tool.name)]  # one may be gone
        mode = self.approver.permissions.word if chosen else ""
        missing = "".join(f", {tool.warning}" for tool in chosen if tool.warning)
        tools = f"tools {len(chosen)}{missing}{mode}" if chosen else ""
        running = self.session.client.jobs.running
        jobs = f"jobs {running}" if running else ""
        self.bar.show_notes(*filter(None, (self._downloads, tools, jobs)))

    def show_downloads(self, progress: str) -> None:
        """Show how far the downloads are; an empty text removes the figure."""
        if progress != self._downloads:
            self._downloads = progress
            self.show_tools()

    def show_session(self) -> None:
        """Show which model answers, in what chat, and how full its context is."""
        ref = self.session.ref
        self._show_title()
        provider = self.session.runtime.catalog.shown_name(ref.provider) if ref else ""
        self.header.show_model(ref.model if ref else "", provider)
        self.show_context()
        self.show_tools()

    def show_context(self) -> None:
        """Show how full the context is, by the figures that decide whether a prompt is sent."""
        session = self.session
        room = session.runtime.room(session.client.conversation)
        if room is not None:
            self.bar.show_context(room.used, room.limit, is_assumed=room.is_assumed)
        else:
            self.bar.show_context(session.context_used, session.window)

    def _show_title(self) -> None:
        title = self.session.client.conversation.title or ""
        if self.session.is_private:
            title = f"{_PRIVATE} · {title}" if title else _PRIVATE
        self.header.show_title(title)
        self.header.app.sub_title = title

"""Links on the screen: where one leads, and opening it after a yes."""

from typing import TYPE_CHECKING

from ollm_tui.tui.links.open_dialog import LinkAnswer, OpenLink
from ollm_tui.tui.links.target import LinkTarget, read_link
from ollm_tui.tui.transcript.navigation_keys import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen


class Links:
    """Nothing leaves here without the dialog in between."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller

    def ask(self, address: str) -> None:
        """Show where a link leads, unless a dialog is open."""
        if self._screen.app.screen is not self._screen:
            return
        target = read_link(address)

        def answered(answer: LinkAnswer) -> None:
            if answer == "copy":
                self._screen.copy(target.address if isinstance(target, LinkTarget) else address)
            elif answer == "open" and isinstance(target, LinkTarget):
                self._screen.run_worker(self._open(target), group="link")

        self._screen.app.push_screen(OpenLink(address, target), answered)

    async def _open(self, target: LinkTarget) -> None:
        problem = await self._screen.services.opener.open(target.address)
        if problem is None:
            whom = "mail program" if target.scheme == "mailto" else "browser"
            self._screen.hints.flash(f"Handed to the {whom}", FLASH_S)
            return
        self._screen.copy(target.address)
        self._desk.say(f"{problem} Its address was sent to the terminal's clipboard.", "warning")

    def show(self) -> None:
        """List the links of the newest answer."""
        self._screen.run_worker(self._list(), group="links", exclusive=True)

    async def _list(self) -> None:
        # Imported for the first list: the Markdown painters come with it.
        from ollm_tui.tui.links.pick_dialog import PickLink, links_in

        links = await links_in(self._screen.transcript.last_answer_text() or "")
        if not links:
            self._screen.hints.flash("The last answer has no links", FLASH_S)
        elif self._screen.app.screen is self._screen:
            self._screen.app.push_screen(PickLink(links), self._chosen)

    def _chosen(self, address: str | None) -> None:
        if address is not None:
            self._screen.call_after_refresh(self.ask, address)

"""Links on the screen: where one leads, and opening it after a yes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.link_target import LinkTarget, read_link
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.frontend.web_results import links_of_output
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.terminal import ClipboardCopier
from ollm_tui.tui.transcript import NavigableTranscript, NoteKind
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from ollm_tui.tui.links.open_dialog import LinkAnswer


@dataclass(frozen=True, slots=True)
class Links:
    """Opens a link only after the dialog that shows where it leads."""

    transcript: NavigableTranscript
    hints: HintLine
    dialogs: Dialogs
    copying: ClipboardCopier
    opener: SystemOpener
    say: Callable[[str, NoteKind], None]

    def ask(self, address: str) -> None:
        """Show where a link leads; a no-op while another dialog is open."""
        # Loaded only for a link.
        from ollm_tui.tui.links.open_dialog import OpenLink

        target = read_link(address)

        def answered(answer: "LinkAnswer") -> None:
            if answer == "copy":
                self.copying.text(target.address if isinstance(target, LinkTarget) else address)
            elif answer == "open" and isinstance(target, LinkTarget):
                self.dialogs.run(self._open(target), "link")

        self.dialogs.open(OpenLink(address, target), answered)

    async def _open(self, target: LinkTarget) -> None:
        problem = await self.opener.open(target.address)
        if problem is None:
            program = "mail program" if target.scheme == "mailto" else "browser"
            self.hints.flash(f"Handed to the {program}", FLASH_S)
            return
        self.copying.text(target.address)
        self.say(f"{problem} Its address was sent to the terminal's clipboard.", "warning")

    def show(self) -> None:
        """List the links of the newest answer, and of what its tools found on the web."""
        self.dialogs.run(self._list(), "links", is_exclusive=True)

    async def _list(self) -> None:
        # Imported for the first list, with the Markdown painters.
        from ollm_tui.tui.links.pick_dialog import LinkPicker
        from ollm_tui.tui.painters import FoundLink, links_in

        block_list = self.transcript.block_list
        links = await links_in(block_list.last_answer_text() or "")
        known = {link.address for link in links}
        of_tools = [
            FoundLink(address, title)
            for call in block_list.calls_of_turn()
            for title, address in links_of_output(call.name, call.output)
        ]
        links += [link for link in dict.fromkeys(of_tools) if link.address not in known]
        if links:
            self.dialogs.open(LinkPicker(links), self._chosen)
        else:
            self.hints.flash("The last answer has no links", FLASH_S)

    def _chosen(self, address: str | None) -> None:
        if address is not None:
            # after the list has closed
            self.transcript.call_after_refresh(self.ask, address)

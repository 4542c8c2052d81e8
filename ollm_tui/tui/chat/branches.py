"""Branches of the open chat: telling that there are others, and going to one."""

from typing import TYPE_CHECKING, Final

from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError
from ollm_tui.store.branches import others_line
from ollm_tui.tui.capabilities import ChatBranches, KeepsBranches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollm_tui.store.branches import Branch, ChatNews
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen

LOOK_EVERY_S: Final = 2.0
_SHOW: Final = "/branch shows it."
_SHOW_NEXT: Final = "/branch shows the next one."


class Branches:
    """Looks now and then whether another program has continued the open chat."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller
        self._is_looking = False

    def watch(self) -> None:
        """Look from now on; what is found is said while no answer is coming."""
        if self._source is not None:
            self._screen.set_interval(LOOK_EVERY_S, self._look_beside)
            self._screen.run_worker(self.tell_others(), group="branches")

    def _look_beside(self) -> None:
        if not self._is_looking and not self._desk.is_busy:
            self._screen.run_worker(self.look(), group="branches")

    async def look(self) -> None:
        """Say what another program has done to the open chat since the last look."""
        source, client = self._source, self._desk.session.client
        if source is None or self._is_looking:
            return
        self._is_looking = True
        try:
            news = await source.news(client)
        except AIError:  # a chat that cannot be read is told when it is written
            return
        finally:
            self._is_looking = False
        if news is not None and client is self._desk.session.client:
            if news.title is not None:
                client.conversation.own_title = news.title
                self._desk.status.show_talk()
            for text, hint in news_words(news):
                self._desk.say(text, "warning", hint)

    async def tell_others(self) -> None:
        """Say that the chat that was opened has more than one branch."""
        found = await self._listed() or ()
        if (line := others_line(found)) is not None:
            self._desk.say(line, hint=_SHOW if len(found) == 2 else _SHOW_NEXT)

    def show(self, number: str) -> None:
        """Go to a branch by its number, or to the next one."""
        self._screen.run_worker(self._show(number.strip()), group="open", exclusive=True)

    async def _show(self, number: str) -> None:
        found, source = await self._listed(), self._source
        if source is None or found is None:
            return
        if len(found) < 2:
            self._desk.say("This chat has only one branch.")
            return
        place = _chosen(found, number)
        if place is None:
            self._desk.say(f"There are branches 1 to {len(found)}.", "error")
            return
        if not await self._desk.views.may_stop("show the other branch"):
            return
        try:
            client = await source.open(self._desk.session.client, found[place])
        except AIError as error:
            self._desk.say(error.message, "error", error.hint)
            return
        self._desk.go_to(client)
        newest = ", the latest" if place == 0 else ""
        length = counted(found[place].length, "message")
        text = f"Branch {place + 1} of {len(found)}{newest}: {length}."
        self._desk.say(text, hint="/branch shows the next one. New messages continue from here.")
        await self._desk.session.find_window()
        self._desk.status.show_talk()

    def rename(self, title: str) -> None:
        """Give the open chat another title."""
        self._screen.run_worker(self._rename(title), group="rename")

    async def _rename(self, title: str) -> None:
        source, client = self._source, self._desk.session.client
        if source is None:
            self._desk.say("Chats cannot be renamed here.")
            return
        try:
            await source.rename(client, title)
        except AIError as error:
            self._desk.say(error.message, "error", error.hint)
        else:
            self._desk.say(f"Renamed this chat to “{clean_line(title)}”.")
            self._desk.status.show_talk()

    async def _listed(self) -> "Sequence[Branch] | None":
        """Give the branches; None, and why, if they cannot be read."""
        source, client = self._source, self._desk.session.client
        if source is None:
            return ()
        try:
            found = await source.listed(client)
        except AIError as error:
            self._desk.say(error.message, "error", error.hint)
            return None
        return found if client is self._desk.session.client else None

    @property
    def _source(self) -> ChatBranches | None:
        runtime = self._desk.runtime
        return runtime.branches if isinstance(runtime, KeepsBranches) else None


def news_words(news: "ChatNews") -> list[tuple[str, str | None]]:
    """Give sentences about what another program did, each with its next step."""
    if news.is_saved_anew:
        text = "This chat was deleted in another window. It is saved again as a new chat."
        return [(text, "To remove it completely, delete it from the list of chats.")]
    if news.is_deleted:
        text = "This chat was deleted in another window."
        return [(text, "The next message saves it again as a new chat.")]
    words: list[tuple[str, str | None]] = []
    if news.title is not None:
        words.append((f"This chat was renamed in another window: {clean_line(news.title)}", None))
    if news.branch is not None:
        where = "after this" if news.branch.is_continuation else "on another branch"
        what = f"{counted(news.messages, 'message')} {where}"
        words.append((f"This chat was continued in another window: {what}.", _SHOW))
    return words


def _chosen(found: "Sequence[Branch]", number: str) -> int | None:
    """Give the place of the branch that is meant; None when there is none of that number."""
    if number:
        is_number = number.isascii() and number.isdigit() and len(number) < 7
        place = int(number) - 1 if is_number else -1
        return place if 0 <= place < len(found) else None
    shown = next((at for at, one in enumerate(found) if one.apart == 0), None)
    return 0 if shown is None else (shown + 1) % len(found)

"""Saved chats: opening one, its branches, renaming it, and saying when it cannot be saved."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.last_session import LastSession
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.errors import AIError
from ollm_tui.store.branches import Branch, ChatNews, others_line
from ollm_tui.tui.chats import ChatsPage
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import Say

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.runtime.saved.branches import ChatBranches
    from ollm_tui.store.conversations import ConversationStore
    from ollm_tui.tui.chats import ShownChat

LOOK_EVERY_S: Final = 2.0
_SHOW: Final = "/branch shows it."
_SHOW_NEXT: Final = "/branch shows the next one."
_QUIT_AGAIN: Final = "Quit again to leave without saving."


@dataclass(slots=True)
class ChatHistory:
    """Opens saved chats and their branches, and watches the open one for other programs."""

    session: ChatSession
    dialogs: Dialogs
    say: Say
    may_stop: Callable[[str], Awaitable[bool]]
    go_to: "Callable[[ChatClient, str | None], None]"
    show_message: Callable[[str], bool]
    """Scrolls to a message of the open chat, or returns that it is not shown."""
    show_session: Callable[[], None]
    show_forks: Callable[[], None]
    """Counts the messages at each fork again."""
    is_busy: Callable[[], bool]
    """Whether an answer is coming: other programs are not looked for meanwhile."""
    keymap: Keymap
    search: Callable[[str], None]
    """Opens the search in the messages of all chats."""
    last: LastSession
    page: ChatsPage = field(init=False)
    """The list of chats."""
    _is_looking: bool = False

    def __post_init__(self) -> None:
        self.page = ChatsPage(
            self.session.runtime.saved,
            self.dialogs,
            self.keymap,
            self.say,
            self._shown,
            self.open,
            self.rename_chat,
            self.search,
        )

    def _shown(self) -> "ShownChat":
        # Loaded when it is shown.
        from ollm_tui.tui.chats import ShownChat

        runtime, ref = self.session.runtime, self.session.ref
        provider = runtime.catalog.shown_name(ref.provider) if ref else ""
        chat_id = runtime.chat_id(self.session.client)
        return ShownChat(chat_id, ref.model if ref else "", provider)

    # Other chats

    def show(self, word: str) -> None:
        """List the saved chats, or continue the one that was open last."""
        if word.strip().casefold() == "last":
            self._run(self._continue())
        else:
            self.page.show()

    async def _continue(self) -> None:
        await self.open(await self.last.chat_to_continue())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self.dialogs.run(report_errors(work, self.say), "open", is_exclusive=True)

    async def open(self, chat_id: str, message_id: str | None = None) -> None:
        """Continue a saved chat; a no-op if it is open.

        With a `message_id` its branch is shown at that message.

        Raises:
            AIError: it cannot be read.
        """
        runtime = self.session.runtime
        is_open = chat_id == runtime.chat_id(self.session.client)
        if is_open and (message_id is None or self.show_message(message_id)):
            return
        if not await self.may_stop("open the other chat"):
            return
        self.go_to(await runtime.open_chat(chat_id, message_id=message_id), message_id)
        if message_id is not None:
            await self._remember()
        await self._say_branches()
        await self.session.find_window()
        self.show_session()

    async def arrived(self) -> None:
        """Show the model and the window of a branch or a chat that was just opened."""
        await self.session.find_window()
        self.show_session()

    def rename(self, title: str) -> None:
        """Give the open chat another title."""
        self.dialogs.run(report_errors(self._rename(title), self.say), "rename")

    async def rename_chat(self, chat_id: str, title: str) -> None:
        """Give a saved chat another title, the open one or another.

        Raises:
            AIError: it was not renamed.
        """
        runtime = self.session.runtime
        if chat_id == runtime.chat_id(self.session.client):
            await self._source.rename(self.session.client, title)
            self.show_session()
        elif runtime.saved is not None:
            await runtime.saved.rename(chat_id, title)

    async def _rename(self, title: str) -> None:
        await self._source.rename(self.session.client, title)
        self.say(f"Renamed this chat to “{clean_line(title)}”.")
        self.show_session()

    # Branches of the open chat

    def watch(self) -> None:
        """Look from now on whether another program continues the open chat."""
        self.last.start()
        self.dialogs.every(LOOK_EVERY_S, self._look_beside)
        self.dialogs.run(self._say_branches(), "branches")

    def _look_beside(self) -> None:
        if not self._is_looking and not self.is_busy():
            self.dialogs.run(self.look(), "branches")

    async def look(self) -> None:
        """Say what other programs have done to the open chat since the last look."""
        client = self.session.client
        if self._is_looking:
            return
        self._is_looking = True
        try:
            news = await self._source.news(client)
        except AIError:  # writing to a chat that cannot be read says why
            return
        finally:
            self._is_looking = False
        if news is not None and client is self.session.client:
            if news.title is not None:
                client.conversation.own_title = news.title
                self.show_session()
            self.show_forks()
            for text, hint in news_words(news):
                self.say(text, "warning", hint)

    async def _say_branches(self) -> None:
        branches = await self._branches() or ()
        if (line := others_line(branches)) is not None:
            self.say(line, hint=_SHOW if len(branches) == 2 else _SHOW_NEXT)

    def show_branch(self, number: str) -> None:
        """Go to a branch by its number, or to the next one."""
        self._run(self._show_branch(number.strip()))

    async def _show_branch(self, number: str) -> None:
        branches = await self._branches()
        if branches is None:
            return
        if len(branches) < 2:
            self.say("This chat has only one branch.")
            return
        index = _chosen(branches, number)
        if index is None:
            self.say(f"There are branches 1 to {len(branches)}.", "error")
        elif await self.may_stop("show the other branch"):
            await self._go_to_branch(branches, index)

    async def _go_to_branch(self, branches: Sequence[Branch], index: int) -> None:
        self.go_to(await self._source.open(self.session.client, branches[index]), None)
        await self._remember()
        newest = ", the latest" if index == 0 else ""
        length = counted(branches[index].length, "message")
        text = f"Branch {index + 1} of {len(branches)}{newest}: {length}."
        self.say(text, hint="/branch shows the next one. New messages continue from here.")
        await self.session.find_window()
        self.show_session()

    async def _remember(self) -> None:
        """Have the branch shown where the chat is opened next."""
        with suppress(AIError):  # the next message says why nothing is saved
            await self._source.remember(self.session.client)

    async def _branches(self) -> Sequence[Branch] | None:
        """Return the branches; None, and a note, if they cannot be read."""
        client = self.session.client
        try:
            branches = await self._source.listed(client)
        except AIError as error:
            self.say(error.message, "error", error.hint)
            return None
        return branches if client is self.session.client else None

    @property
    def _source(self) -> "ChatBranches":
        return self.session.runtime.branches


def news_words(news: ChatNews) -> list[tuple[str, str | None]]:
    """Return sentences about what another program did, each with its hint."""
    if news.is_saved_anew:
        text = "This chat was deleted in another window. It is saved again as a new chat."
        return [(text, "To remove it completely, delete it from the list of chats.")]
    if news.is_deleted:
        text = "This chat was deleted in another window."
        return [(text, "The next message saves it again as a new chat.")]
    sentences: list[tuple[str, str | None]] = []
    if news.title is not None:
        renamed = f"This chat was renamed in another window: {clean_line(news.title)}"
        sentences.append((renamed, None))
    if news.deleted_messages:
        what = counted(news.deleted_messages, "message")
        text = f"{what} of this branch {'was' if news.deleted_messages == 1 else 'were'} deleted"
        sentences.append(
            (
                f"{text} in another window.",
                "The next message restores them. /tree shows what is left.",
            )
        )
    if news.branch is not None:
        where = "after this" if news.branch.is_continuation else "on another branch"
        what = f"{counted(news.messages, 'message')} {where}"
        sentences.append((f"This chat was continued in another window: {what}.", _SHOW))
    return sentences


def _chosen(branches: Sequence[Branch], number: str) -> int | None:
    """Return the index of a branch: by its number, or the next one; None if there is none."""
    if number:
        is_number = number.isascii() and number.isdigit() and len(number) < 7
        index = int(number) - 1 if is_number else -1
        return index if 0 <= index < len(branches) else None
    shown = next((at for at, branch in enumerate(branches) if branch.apart == 0), None)
    return 0 if shown is None else (shown + 1) % len(branches)


@dataclass(slots=True)
class SaveMonitor:
    """Says when the chat cannot be saved, once for each problem, and asks before it is lost."""

    chats: "ConversationStore | None"
    say: Say
    _last_problem: str | None = None
    _has_asked: bool = False

    def look(self) -> None:
        """Say that saving has failed, or works again."""
        problem = self.chats.problem if self.chats is not None else None
        message = problem.message if problem is not None else None
        if message == self._last_problem:
            return
        self._last_problem = message
        self._has_asked = False
        if problem is not None:
            self.say(problem.message, "warning", problem.hint)
        else:
            self.say("The chat is saved again.", "info", None)

    def may_quit(self) -> bool:
        """Whether nothing would be lost; says once what would, and then lets the user quit."""
        chats = self.chats
        if chats is None or chats.problem is None or not chats.unsaved or self._has_asked:
            return True
        self._has_asked = True
        what = f"{counted(chats.unsaved, 'message')} {'is' if chats.unsaved == 1 else 'are'}"
        self.say(f"{what} in memory only. {chats.problem.message}", "warning", _QUIT_AGAIN)
        return False

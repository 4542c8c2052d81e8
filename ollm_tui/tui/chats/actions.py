"""What can be done with one chat of the list, and what is asked before."""

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from ollm_tui.config.new_file import NameTaken
from ollm_tui.config.paths import expanded
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.chat_words import count_of_all, shown_tags, shown_title
from ollm_tui.frontend.deletions import IS_OPEN, ChatDeletions
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.tui.dialogs import (
    ChoiceDialog,
    ChoiceRow,
    DialogOpener,
    LineEntry,
    Passage,
    YesNoDialog,
    short_path,
)

if TYPE_CHECKING:
    from ollm_tui.runtime.saved.chats import SavedChats

_MAX_TITLE_LENGTH: Final = 200
_SHOWN_TAGS: Final = 8
IS_DELETED: Final = "This chat is deleted. Enter restores it."
IS_GONE_SOON: Final = (
    "This chat is deleted already. `ollm chats purge` removes all that was deleted permanently."
)
MENU: Final = ("open", "rename", "pin", "tag", "archive", "delete", "export")
"""What the menu offers, by the name of the key."""


class DeleteChat(YesNoDialog):
    """Returns whether to delete a chat."""

    def __init__(
        self, chat: ConversationSummary, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(
            "Delete this chat?",
            "It can be restored for 30 days.",
            Passage(count_of_all(chat), shown_title(chat.title)),
            yes="delete",
            no="or Esc keep it",
            clock=clock,
        )


@dataclass(slots=True)
class ChatActions:
    """Changes chats; each action returns what it did in words, or None if it was cancelled.

    All raise `AIError` if that fails.
    """

    chats: "SavedChats"
    dialogs: DialogOpener
    rename_chat: Callable[[str, str], Awaitable[None]]
    """Renames a chat by its id, also the open one."""
    current: str | None
    """The id of the open chat."""
    was_deleted: bool = False
    """Whether a chat was deleted here, and not restored since."""
    deletions: ChatDeletions = field(init=False)

    def __post_init__(self) -> None:
        self.deletions = ChatDeletions(self.chats)

    async def menu(self, chat: ConversationSummary, key_for: Callable[[str], str]) -> str | None:
        """Ask what to do with a chat; return the name of the key for it."""
        names = MENU if chat.deleted_ms is None else ("undelete",)
        words = {
            "undelete": "Restore",
            "open": "Open",
            "rename": "Rename…",
            "pin": "Unpin" if chat.is_pinned else "Pin to the top",
            "tag": "Change tags…",
            "archive": "Return to the list" if chat.is_archived else "Archive",
            "delete": "Delete…",
            "export": "Export…",
        }
        refusals = {"delete": IS_OPEN} if chat.id == self.current else {}
        rows = [
            ChoiceRow(name, words[name], key_for(f"chats.{name}"), refusals.get(name))
            for name in names
        ]
        choose = ChoiceDialog(shown_title(chat.title), rows, "Enter choose · Esc close")
        return await self.dialogs.ask(choose)

    async def rename(self, chat: ConversationSummary) -> str | None:
        """Ask for another title."""
        about = "Enter rename · Esc cancel"
        typed = await self.dialogs.ask(LineEntry("Rename this chat", chat.title, about))
        title = " ".join((typed or "").split())[:_MAX_TITLE_LENGTH].rstrip()
        if not title or title == chat.title:
            return None
        await self.rename_chat(chat.id, title)
        return f"Renamed to “{shown_title(title)}”."

    async def pin(self, chat: ConversationSummary) -> str | None:
        """Pin a chat to the top, or unpin it."""
        await self.chats.pin(chat.id, not chat.is_pinned)
        return f"{'Unpinned' if chat.is_pinned else 'Pinned'} “{shown_title(chat.title)}”."

    async def archive(self, chat: ConversationSummary) -> str | None:
        """Move a chat to the archive, or back to the list."""
        await self.chats.archive(chat.id, not chat.is_archived)
        done = "Returned" if chat.is_archived else "Archived"
        back = " to the list" if chat.is_archived else ""
        return f"{done} “{shown_title(chat.title)}”{back}."

    async def tag(self, chat: ConversationSummary) -> str | None:
        """Ask for the tags of a chat."""
        used = await self.chats.tags()
        common = sorted(used, key=lambda tag: (-used[tag], tag))[:_SHOWN_TAGS]
        in_use = f"In use: {shown_tags(common)}. " if common else ""
        draft, problem = " ".join(chat.tags), ""
        while True:
            entry = LineEntry(
                f"Tags of “{shown_title(chat.title)}”",
                draft,
                f"{in_use}Enter save · Esc cancel",
                placeholder="Words between spaces, such as: work python",
                problem=problem,
            )
            typed = await self.dialogs.ask(entry)
            if typed is None:
                return None
            try:
                await self.chats.tag(chat.id, typed.replace(",", " ").split())
            except AIError as error:
                if error.code is not ErrorCode.BAD_REQUEST:
                    raise
                draft, problem = typed, str(error)
                continue
            return "Tags saved." if typed else "Tags removed."

    async def delete(self, chat: ConversationSummary) -> str | None:
        """Delete a chat after a yes."""
        if chat.id == self.current:
            return IS_OPEN
        if not await self.dialogs.ask(DeleteChat(chat)):
            return None
        if await self.deletions.delete_chat(chat.id, chat.revision) is not None:
            self.was_deleted = True
        return f"Deleted “{shown_title(chat.title)}”."

    async def undelete(self, chat: ConversationSummary | None = None) -> str | None:
        """Restore a deleted chat, by default the one that was deleted last."""
        self.was_deleted = False
        deletion = await self.deletions.undo_chat(chat.id if chat is not None else None)
        if deletion is None:
            return "This chat was just restored or removed." if chat else "No deleted chats."
        return f"Restored “{shown_title(deletion.title)}”."

    async def export(self, chat: ConversationSummary) -> str | None:
        """Ask for a file and write a chat to it."""
        # Imported with the first export: no other chat pays for it.
        from ollm_tui.exchange.formats import FORMATS, format_of
        from ollm_tui.exchange.new_file import free_name

        about = f"The ending chooses the format: {_endings(list(FORMATS))}. "
        path = await anyio.to_thread.run_sync(
            free_name, Path(), shown_title(chat.title), FORMATS["md"].suffixes[0]
        )
        draft, problem = str(path), ""
        while True:
            entry = LineEntry(
                f"Export “{shown_title(chat.title)}”",
                draft,
                f"{about}Enter export · Esc cancel",
                problem=problem,
            )
            typed = await self.dialogs.ask(entry)
            if not typed:
                return None
            draft, target = typed, expanded(Path(typed))
            form = format_of(target)
            if form is None:
                problem = f"{clean_line(target.name)} has no ending of a format."
                continue
            try:
                written = await self.chats.export(chat.id, form, target)
            except NameTaken as taken:
                problem = f"{taken.message} Choose another name."
                continue
            except AIError as error:
                problem = clean_line(str(error))
                continue
            return f"Saved {clean_line(short_path(written))}."


def _endings(names: Sequence[str]) -> str:
    dotted = [f".{name}" for name in names]
    return f"{', '.join(dotted[:-1])} or {dotted[-1]}"

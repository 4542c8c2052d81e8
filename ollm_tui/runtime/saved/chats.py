"""Saved chats as a screen or a command line works on them: listed, marked, written and read."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.deletions import Deletion
from ollm_tui.store.listing import ChatFilter, ChatPreview, ChatSort
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.store.search.query import parse_query
from ollm_tui.store.tree import Extent

if TYPE_CHECKING:
    from ollm_tui.exchange.formats import ExportFormat
    from ollm_tui.exchange.importing import ImportResult, Progress


def chat_filter(
    text: str, *, is_archived: bool = False, is_deleted: bool = False
) -> tuple[ChatFilter, tuple[str, ...]]:
    """Understand what was typed to choose chats; return also sentences about what is ignored.

    Words must all be in the title, the model or the tags. `model:`, `tag:`, `after:` and `before:`
    choose as in the search.
    """
    query = parse_query(text)
    chosen = ChatFilter(
        words=tuple(query.plain.casefold().split()),
        models=query.models,
        tags=query.tags,
        after_ms=query.after_ms,
        before_ms=query.before_ms,
        is_archived=is_archived,
        is_deleted=is_deleted,
    )
    return chosen, query.notes


class SavedChats:
    """The chats of a store; `Runtime.saved` is one. All raise `AIError` if that fails."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store

    # The list

    async def order(
        self, chosen: ChatFilter, sort: ChatSort, *, is_turned: bool = False
    ) -> Sequence[int]:
        """Return the numbers of the chats that are chosen, the pinned ones first."""
        return await self._store.listing.order(chosen, sort, is_turned=is_turned)

    async def rows(
        self, numbers: Sequence[int], *, is_deleted: bool = False
    ) -> Mapping[int, ConversationSummary]:
        """Return some chats by their numbers, or some deleted ones, without those that are gone."""
        return await self._store.listing.rows(numbers, is_deleted=is_deleted)

    async def preview(self, chat_id: str, *, is_deleted: bool = False) -> ChatPreview:
        """Return the beginning and the end of a chat."""
        return await self._store.listing.preview(chat_id, is_deleted=is_deleted)

    async def tags(self) -> Mapping[str, int]:
        """Return all tags, each with the number of its chats."""
        return await self._store.listing.tags()

    # Changes

    async def rename(self, chat_id: str, title: str) -> None:
        """Set the title that the user gives."""
        await self._store.rename(chat_id, title)

    async def pin(self, chat_id: str, is_pinned: bool = True) -> None:
        """Have a chat listed first, or no longer."""
        await self._store.listing.pin(chat_id, is_pinned)

    async def archive(self, chat_id: str, is_archived: bool = True) -> None:
        """Take a chat out of the list without deleting it, or put it back."""
        await self._store.listing.archive(chat_id, is_archived)

    async def tag(self, chat_id: str, tags: Sequence[str]) -> None:
        """Give a chat these tags and no others."""
        await self._store.listing.tag(chat_id, tags)

    async def delete(self, chat_id: str, revision: int | None = None) -> Deletion | None:
        """Delete a chat until it is restored or purged; see `Deletions.delete`."""
        return await self._store.delete(chat_id, revision)

    async def extent(self, chat_id: str, message_id: str) -> Extent | None:
        """Return what the deletion of a message would take; None if it does not exist."""
        return await self._store.trees.extent(chat_id, message_id)

    async def delete_messages(self, chat_id: str, message_id: str) -> Deletion | None:
        """Delete a message and what follows it; see `Deletions.delete_messages`."""
        return await self._store.deletions.delete_messages(chat_id, message_id)

    async def deletions(self, chat_id: str | None = None) -> Sequence[Deletion]:
        """Return what can be restored, of one chat or of all, the newest deletion first."""
        return await self._store.deletions.listed(chat_id)

    async def undelete(self, deletion: Deletion) -> Deletion | None:
        """Restore what was deleted; None if it was restored or removed meanwhile."""
        return await self._store.deletions.undelete(deletion.conversation_id, deletion.deleted_ms)

    # Files

    async def export(
        self, chat_id: str, form: "ExportFormat", path: Path | None, *, replaces: bool = False
    ) -> Path:
        """Write a chat to a file, by default to one named by its title; return its path.

        Raises:
            AIError: it cannot be written; `NameTaken` if there is a file and `replaces` is False.
        """
        # Imported with the first export: no other chat pays for it.
        from ollm_tui.runtime.exports import write_record

        record = await self._store.records.read(chat_id)
        if record is None:
            raise AIError(ErrorCode.BAD_REQUEST, "This chat was just deleted.")
        return await to_thread.run_sync(
            partial(write_record, record, form, path, replaces=replaces)
        )

    async def import_files(
        self, paths: Sequence[Path], report: "Progress", result: "ImportResult"
    ) -> None:
        """Import files; `result` has what was done, also if it is cancelled."""
        # Imported with the first import: it brings the formats of all programs.
        from ollm_tui.exchange.importing import import_files

        if not self._store.saves:
            raise AIError(
                ErrorCode.PERMISSION_DENIED, "Nothing was imported: chats cannot be saved."
            )
        await import_files(paths, self._store.records, report, result)

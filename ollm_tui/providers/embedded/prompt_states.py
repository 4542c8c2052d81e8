"""What engines have read of saved chats, kept in files: reading it again would take longer.

The state of a chat lies in its folder below the one of all chats, and goes with the chat: without
the folder of the chat nothing is written. Engines write and read files beside these folders, which
get other names before and after: what a crash leaves there is never read.
"""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import anyio
from anyio import to_thread

from ollm_tui.config.paths import private_folder
from ollm_tui.config.regular_file import is_folder
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.request import Request
from ollm_tui.providers.embedded.plan import CachedChat, EnginePlan
from ollm_tui.tasks import cancelled_by

if TYPE_CHECKING:
    from ollm_tui.providers.embedded.supervisor import Engine

MIN_TOKENS: Final = 1000
"""A shorter chat is read again quickly."""
SLACK_TOKENS: Final = 4
"""By how many tokens a state may differ from what was reported of its chat."""
KEEP_S: Final = 1.0
"""How long the end of an engine waits for its state."""
RESTORE_S: Final = 30.0
OLDEST_S: Final = 30 * 86_400.0
OLDEST_PART_S: Final = 3_600.0
SUFFIX, PART_SUFFIX = ".state", ".part"


class SlotFiles(Protocol):
    """A server that writes what it has read into a file, and reads it back."""

    async def save_slot(self, file_name: str, within_s: float) -> int:
        """Return how many tokens were written."""

    async def restore_slot(self, file_name: str, within_s: float) -> None:
        """Read a file that `save_slot` wrote."""


class PromptStates:
    """The states of chats in one folder, of at most so many bytes."""

    def __init__(self, root: Path | None, max_bytes: int) -> None:
        self._root = root if max_bytes else None
        self._max_bytes = max_bytes

    async def begin(
        self, engine: "Engine[EnginePlan]", server: SlotFiles, request: Request
    ) -> CachedChat | None:
        """Note which chat an engine is to read, and give a new one what was kept of it.

        Return what `note_answer` takes, if something is to be kept of the chat. Its folder is made
        now, while the chat is there: if it is gone when the engine ends, the chat was deleted.
        """
        is_new, engine.has_processed_prompt = not engine.has_processed_prompt, True
        folder = request.state_folder
        characters = sum(len(message.text) for message in request.conversation)
        engine.read_chat = None
        if self._root is None or engine.plan.options.draft_model is not None:
            return None  # what a draft model has read is not in the file
        if is_new:
            engine.state_name = await to_thread.run_sync(_file_name, engine.plan)
        name = engine.state_name
        if name is None or folder is None or folder.parent != self._root:
            return None
        chat = CachedChat(folder)
        if engine.leases <= 1:  # else it is unknown whose prompt it reads last
            engine.read_chat = chat
        if characters >= MIN_TOKENS:
            with suppress(OSError):  # then nothing is kept
                await to_thread.run_sync(_folder_in_use, folder)
        if is_new:
            await to_thread.run_sync(self.clean)
            with cancelled_by(request.signal):
                await self._restore(server, folder / name)
        return chat

    async def keep(self, engine: "Engine[EnginePlan]", server: SlotFiles) -> None:
        """Write what an engine that is about to end has read of a chat, if that is worth it."""
        chat, name = engine.read_chat, engine.state_name
        if name is None or chat is None or chat.tokens < MIN_TOKENS:
            return
        part = _part_of(chat.folder)
        try:
            if not await to_thread.run_sync(self._has_room, chat.folder):
                return
            written = await server.save_slot(part.name, KEEP_S)
            if abs(written - chat.tokens) <= SLACK_TOKENS:  # else it has read something else since
                await to_thread.run_sync(self._publish, part, chat.folder / name)
        except (AIError, OSError):
            pass  # then it is read again
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(_remove, part)

    async def _restore(self, server: SlotFiles, kept: Path) -> None:
        part, is_usable = _part_of(kept.parent), True
        try:
            await to_thread.run_sync(kept.rename, part)
            await server.restore_slot(part.name, RESTORE_S)
        except OSError:
            return  # there is none
        except AIError as error:  # then the chat is read
            is_usable = error.code == ErrorCode.TIMEOUT
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(_put_back if is_usable else _drop, part, kept)

    def _has_room(self, folder: Path) -> bool:
        """Return whether a chat is there, and room for its state; blocks."""
        assert self._root is not None
        return is_folder(folder) and shutil.disk_usage(self._root).free > 2 * self._max_bytes

    def _publish(self, part: Path, target: Path) -> None:
        """Give a file its name, and remove the oldest ones above the limit; blocks."""
        part.chmod(0o600)
        part.rename(target)
        self.clean()

    def clean(self) -> None:
        """Remove what is too old or too much, and what a crash left; blocks."""
        assert self._root is not None
        now, left = time.time(), self._max_bytes
        for used_at, size, path in sorted(self._files(), reverse=True):
            oldest_s = OLDEST_S if path.suffix == SUFFIX else OLDEST_PART_S
            if size > left or now - used_at > oldest_s:
                _remove(path)
            else:
                left -= size
        with suppress(OSError):
            for folder in self._root.iterdir():
                if is_folder(folder) and now - folder.stat().st_mtime > OLDEST_PART_S:
                    with suppress(OSError):
                        folder.rmdir()  # an empty one

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        assert self._root is not None
        paths: list[Path] = []
        with suppress(OSError):  # a folder may go meanwhile
            paths += self._root.glob(f"*/*{SUFFIX}")
            paths += self._root.glob(f"*{PART_SUFFIX}")
        for path in paths:
            with suppress(OSError):
                status = path.stat()
                yield status.st_mtime, status.st_size, path


def note_answer(engine: "Engine[EnginePlan]", chat: CachedChat | None, usage: Usage | None) -> None:
    """Note how much of a chat an engine holds after an answer, unless another one came since."""
    if chat is not None and chat is engine.read_chat and usage is not None:
        # the last token of an answer is not read
        chat.tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) - 1


def _file_name(plan: "EnginePlan") -> str | None:
    """Return a name that only the same model, loaded in the same way, has; blocks.

    None if one of its files is gone, so that nobody can load it in the same way again.
    """
    options = plan.options
    files = (plan.path, *options.lora, *([options.projector] if options.projector else []))
    facts: list[object] = [plan.program, plan.context, options.cache_type_k, options.cache_type_v]
    try:
        for path in files:
            status = path.stat()
            facts += [path, status.st_size, status.st_mtime_ns]
    except OSError:
        return None
    facts.append(options.flash_attention)
    return sha256(repr(facts).encode()).hexdigest()[:32] + SUFFIX


def _part_of(folder: Path) -> Path:
    """Return a new name for a state of the chat, where the engine finds it."""
    return folder.with_name(f"{folder.name}.{secrets.token_hex(8)}{PART_SUFFIX}")


def _folder_in_use(folder: Path) -> None:
    private_folder(folder)
    os.utime(folder)  # an empty one that is old is removed


def _put_back(part: Path, kept: Path) -> None:
    with suppress(OSError):
        part.rename(kept)
    _remove(part)  # the chat was deleted meanwhile


def _drop(part: Path, _kept: Path) -> None:
    _remove(part)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()

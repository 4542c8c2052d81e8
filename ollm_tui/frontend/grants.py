"""What was allowed beyond one question: for the open chat, or for a folder until a day."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from ollm_tui.config.private_file import folder_lock, write_private
from ollm_tui.config.regular_file import read_bounded, real_path, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.tools import ToolEffect
from ollm_tui.shell.words import REST, fits

if TYPE_CHECKING:
    from ollm_tui.protocol.tools import CallPreview
    from ollm_tui.runtime.compose import Runtime

LASTS_S: Final = 30 * 24 * 3600
"""How long a permission for a folder lasts."""
MAX_GRANTS: Final = 500
_MAX_BYTES: Final = 1_000_000
_LOCK_S: Final = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Grant:
    """A tool that may run without a question."""

    tool: str
    effect: ToolEffect
    words: tuple[str, ...] | None = None
    """The pattern of commands, or the host, that it covers; None covers every call."""
    until: float | None = None
    """When it ends, in seconds since 1970; None is when the chat is left."""
    containment: str | None = None
    """What contained the command when it was allowed; None if that does not matter."""

    def covers(self, name: str, effect: ToolEffect, preview: "CallPreview | None") -> bool:
        """Return whether a call may run by it."""
        if (name, effect) != (self.tool, self.effect):
            return False
        argv = preview.argv if preview is not None else None
        if preview is not None and preview.host is not None:
            return self.words == (preview.host,)
        if self.words is None:
            # no tool is allowed to run just any command
            return preview is None or not preview.is_command
        is_as_allowed = preview is not None and self.containment in {None, preview.containment}
        return argv is not None and is_as_allowed and fits(self.words, argv)


def grant_of(
    name: str, effect: ToolEffect, preview: "CallPreview | None", until: float | None = None
) -> Grant:
    """Return the permission for what a question showed: the tool, or exactly this command."""
    words: tuple[str, ...] | None = None
    containment: str | None = None
    if preview is not None and preview.host is not None:
        words = (preview.host,)
    elif preview is not None and preview.is_command:
        words, containment = preview.argv, preview.containment
    return Grant(name, effect, words, until, containment)


class FolderGrants:
    """Permissions for one folder, in a private file with those of other folders; it blocks.

    The file is the program's own: nothing in the folder itself grants anything.
    """

    def __init__(self, file: Path, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._folder = str(folder)
        self._clock = clock

    def read(self) -> tuple[Grant, ...]:
        """Return those that have not ended."""
        return tuple(self._live(self._all().get(self._folder)))

    def add(self, name: str, effect: ToolEffect, preview: "CallPreview | None") -> Grant:
        """Allow what a question showed from now on.

        Raises:
            OSError: it cannot be kept.
        """
        grant = grant_of(name, effect, preview, self._clock() + LASTS_S)
        with self._changing():
            others = [one for one in self.read() if _subject(one) != _subject(grant)]
            self._write([*others, grant])
        return grant

    def remove(self, grant: object) -> None:
        """Take a permission back.

        Raises:
            AIError: the file cannot be written.
        """
        try:
            with self._changing():
                self._write([one for one in self.read() if one != grant])
        except OSError as error:
            raise AIError(
                ErrorCode.INTERNAL_ERROR,
                f"{self._file} cannot be written: {why_unreadable(error)}.",
                hint="Remove the file to take back all permissions.",
            ) from None

    def _changing(self) -> AbstractContextManager[object]:
        """Keep other windows from changing the file meanwhile: none revives what one took back."""
        return folder_lock(self._file.parent, within_s=_LOCK_S)

    def _live(self, listed: object) -> Sequence[Grant]:
        now = self._clock()
        grants = [_grant(one) for one in listed] if isinstance(listed, list) else []
        return [one for one in grants if one is not None and (one.until or 0) > now]

    def _all(self) -> Mapping[str, object]:
        try:
            data = json.loads(read_bounded(self._file, _MAX_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            logger.warning("%s cannot be read, so nothing in it is allowed.", self._file.name)
            return {}
        return data if isinstance(data, dict) else {}

    def _write(self, grants: Sequence[Grant]) -> None:
        folders: dict[str, object] = {
            folder: [_as_json(one) for one in live]
            for folder, listed in self._all().items()
            if folder != self._folder and (live := self._live(listed))
        }
        if grants:
            folders[self._folder] = [_as_json(one) for one in grants[-MAX_GRANTS:]]
        write_private(self._file, json.dumps(folders, indent=1).encode())


def folder_grants(runtime: "Runtime") -> FolderGrants:
    """Return the permissions for the folder that the tools of a runtime have access to."""
    folder = runtime.config.tools.root or runtime.shell.folder
    return FolderGrants(runtime.paths.state_dir / "permissions.json", real_path(folder))


def _subject(grant: Grant) -> tuple[object, ...]:
    """Return what a permission is about; a later one about the same takes its place."""
    return grant.tool, grant.words, grant.containment or ""


def _as_json(grant: Grant) -> Mapping[str, object]:
    words = None if grant.words is None else [*grant.words]
    return {
        "tool": grant.tool,
        "effect": grant.effect,
        "words": words,
        "until": grant.until,
        "containment": grant.containment,
    }


def _grant(data: object) -> Grant | None:
    """Read a permission; anything odd about it means that there is none."""
    if not isinstance(data, dict):
        return None
    tool, words, until = data.get("tool"), data.get("words"), data.get("until")
    effect = next((one for one in get_args(ToolEffect) if one == data.get("effect")), None)
    if not isinstance(tool, str) or effect is None or not isinstance(until, int | float):
        return None
    if words is None:
        return Grant(tool, effect, None, until)
    containment = data.get("containment")
    if not (isinstance(words, list) and words and all(isinstance(one, str) for one in words)):
        return None
    # A command is allowed with its containment, and by its words: no pattern is ever kept.
    if words[-1] == REST:
        return None
    containment = containment if isinstance(containment, str) else ""
    return Grant(tool, effect, tuple(words), until, containment)

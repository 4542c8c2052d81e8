"""Folders of other programs with models that could be listed here, and the setting for it."""

import json
from collections.abc import Sequence

import anyio
from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import plural
from ollm_tui.library.other_folders import TITLES, ExistingFolder, existing_folders

TIMEOUT_S = 1.5
"""Time limit for searching the disk; a home folder on a network may hang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFolder:
    """An existing folder."""

    title: str
    """The program's name for people."""
    path: str
    models: int
    is_listed: bool
    """Whether the settings say that its models are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFolders:
    """All of them."""

    folders: tuple[OtherFolder, ...] = ()
    setting: str = ""
    """What to write below [embedded] to have them all listed; empty when nothing is to be added."""

    @property
    def words(self) -> str:
        """What could be added and how, in one sentence; empty if nothing could."""
        parts = [
            f"{one.title}'s folder holds {count_of(one.models)}"
            for one in self.folders
            if one.models and not one.is_listed
        ]
        if not parts:
            return ""
        what = "it is" if len(parts) == 1 else "they are"
        return f"{', '.join(parts)}: {what} searched with {self.setting} below [embedded]."


def count_of(models: int) -> str:
    """Write how many models there are."""
    return f"{models or 'no'} {plural(models, 'model')}"


async def look_for_folders(listed: Sequence[str]) -> OtherFolders:
    """Find the folders of other programs; none if the disk does not answer in time.

    `listed` are the programs whose folders are searched already.
    """
    with anyio.move_on_after(TIMEOUT_S):
        # Only reads, and ends by itself: a thread that is not waited for does no harm.
        return describe_folders(
            await to_thread.run_sync(existing_folders, abandon_on_cancel=True), listed
        )
    return OtherFolders()


def describe_folders(folders: Sequence[ExistingFolder], listed: Sequence[str]) -> OtherFolders:
    """Describe the folders, and the setting that lists them."""
    more = {one.program for one in folders if one.models} - set(listed)
    named = [*dict.fromkeys(listed), *(program for program in TITLES if program in more)]
    return OtherFolders(
        folders=tuple(
            OtherFolder(
                title=TITLES[one.program],
                path=str(one.folder.path),
                models=one.models,
                is_listed=one.program in listed,
            )
            for one in folders
        ),
        setting=f"other_folders = {json.dumps(named)}" if more else "",
    )

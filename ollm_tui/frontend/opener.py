"""Open an address or a file with the system's opener, if that works without this terminal."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

if TYPE_CHECKING:
    from subprocess import Popen

_BEGINNINGS: Final = ("http://", "https://", "mailto:")
_REMOTE: Final = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_DISPLAYS: Final = ("WAYLAND_DISPLAY", "DISPLAY")
FAILS_WITHIN_S: Final = 1.5
"""An opener that fails does so by then; one that runs longer shows the page itself."""


class SystemOpener:
    """Runs `xdg-open`, `open` or the Windows shell with one argument and without a terminal."""

    def __init__(
        self, environment: Mapping[str, str] | None = None, platform: str = sys.platform
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._platform = platform
        self._children: list[Popen[bytes]] = []

    async def open(self, address: str) -> str | None:
        """Open an address; return a sentence if it cannot be opened here, else None.

        Raises:
            ValueError: the address is none of http, https or mailto.
        """
        if not address.startswith(_BEGINNINGS):
            raise ValueError("only http, https and mailto addresses are opened")
        return await self._opened(address, "Links", "link")

    async def open_file(self, path: Path) -> str | None:
        """Open a file with the program for its kind; return a sentence if that is impossible."""
        return await self._opened(str(path), "Files", "file")

    async def _opened(self, target: str, many: str, one: str) -> str | None:
        if any(self._environment.get(name) for name in _REMOTE):
            return f"{many} cannot be opened from a remote session."
        if self._platform == "win32":
            return await anyio.to_thread.run_sync(_start_file, target, one)
        has_display = any(self._environment.get(name) for name in _DISPLAYS)
        if self._platform != "darwin" and not has_display:
            return f"{many} cannot be opened without a graphical screen."
        command = "open" if self._platform == "darwin" else "xdg-open"
        return await anyio.to_thread.run_sync(
            self._run, command, target, one, abandon_on_cancel=True
        )

    def _run(self, command: str, target: str, kind: str) -> str | None:
        # imported when the first link is opened, to keep the start fast
        import shutil
        import subprocess

        # poll ended children, which would stay in the process table otherwise
        self._children = [child for child in self._children if child.poll() is None]
        program = shutil.which(command, path=self._environment.get("PATH"))
        if program is None:
            return f"The program {command} that opens {kind}s is not installed."
        try:
            child = subprocess.Popen(
                [program, target],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(self._environment),
                start_new_session=True,  # without a terminal, which a text browser would take
            )
        except OSError:
            return f"The program {command} could not be started."
        try:
            status = child.wait(FAILS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._children.append(child)
            return None
        return f"The program {command} could not open the {kind}." if status else None


def _start_file(target: str, kind: str) -> str | None:
    start = getattr(os, "startfile", None)
    try:
        if start is not None:
            start(target)
            return None
    except OSError:
        pass
    return f"Windows could not open the {kind}."

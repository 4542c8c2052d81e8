"""The picture in the clipboard of the desktop, read by the program that the system has for it."""

import base64
import binascii
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from anyio.to_thread import run_sync

from ollm_tui.attachments.attachment import (
    MAX_PICTURE_BYTES,
    AttachedImage,
    FileBytes,
    image_of,
    refusal,
)
from ollm_tui.config.paths import find_program
from ollm_tui.decode.images import read_image_header
from ollm_tui.lazy import lazy_re

TIMEOUT_S: Final = 5.0
_TYPES: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")
_REMOTE: Final = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_ATTACH: Final = "Save it to a file, and attach that with /attach FILE."
_NONE: Final = "There is no picture in the clipboard."
_APPLE: Final = "get the clipboard as «class PNGf»"
_APPLE_DATA: Final = lazy_re(rb"data PNGf([0-9A-Fa-f]+)")
_WINDOWS: Final = (
    "Add-Type -AssemblyName System.Windows.Forms;"
    "$image = [System.Windows.Forms.Clipboard]::GetImage();"
    "if ($image) { $memory = New-Object IO.MemoryStream;"
    "$image.Save($memory, [System.Drawing.Imaging.ImageFormat]::Png);"
    "[Convert]::ToBase64String($memory.ToArray()) }"
)


async def clipboard_picture(
    environ: Mapping[str, str] | None = None, platform: str = sys.platform
) -> AttachedImage:
    """Return the picture in the clipboard.

    Raises:
        AIError: there is none, it cannot be sent, or the clipboard cannot be read here.
    """
    environ = os.environ if environ is None else environ
    if any(environ.get(name) for name in _REMOTE):
        raise refusal("The clipboard of your own machine cannot be read over SSH.", _ATTACH)
    clipboard = _Clipboard(environ)
    data = await run_sync(clipboard.read, platform, abandon_on_cancel=True)
    header = read_image_header(data) if data else None
    if not data or header is None:
        raise refusal(_NONE, f"Copy one first, or: {_ATTACH[0].lower()}{_ATTACH[1:]}")
    if len(data) > MAX_PICTURE_BYTES:
        most = MAX_PICTURE_BYTES // 1_000_000
        raise refusal(f"The picture in the clipboard has more than {most} MB.", _ATTACH)
    return image_of(FileBytes(f"clipboard.{header.kind}", data))


class _Clipboard:
    """Reads it with the programs of one environment; blocks."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def read(self, platform: str) -> bytes:
        """Return the picture as a file; empty if there is none."""
        if platform == "darwin":
            return self._apple()
        if platform == "win32" or self._environ.get("WSL_DISTRO_NAME"):
            return self._windows()
        if self._environ.get("WAYLAND_DISPLAY"):
            return self._listed(
                self._program("wl-paste", "wl-clipboard"), ["--list-types"], ["--no-newline", "-t"]
            )
        if self._environ.get("DISPLAY"):
            common = ["-selection", "clipboard", "-o", "-t"]
            return self._listed(self._program("xclip", "xclip"), [*common, "TARGETS"], common)
        raise refusal("There is no desktop here whose clipboard could be read.", _ATTACH)

    def _listed(self, program: str, types: Sequence[str], read: Sequence[str]) -> bytes:
        """Read the first type that models accept."""
        offered = self._output([program, *types]).decode("utf-8", "replace").split()
        wanted = next((one for one in _TYPES if one in offered), None)
        return self._output([program, *read, wanted]) if wanted is not None else b""

    def _apple(self) -> bytes:
        if (program := find_program("pngpaste", self._environ)) is not None:
            return self._output([str(program), "-"])
        written = self._output([self._program("osascript", "osascript"), "-e", _APPLE])
        match = _APPLE_DATA.search(written)
        return bytes.fromhex(match[1].decode("ascii")) if match is not None else b""

    def _windows(self) -> bytes:
        program = self._program("powershell.exe", "PowerShell")
        options = ["-NoProfile", "-NonInteractive", "-Sta", "-Command", _WINDOWS]
        with suppress(binascii.Error):
            return base64.b64decode(self._output([program, *options]).strip(), validate=True)
        return b""

    def _program(self, name: str, package: str) -> str:
        path = find_program(name, self._environ)
        if path is None:
            raise refusal(
                f"Pasting a picture needs {name}, which is not installed.",
                f"Install {package}, or: {_ATTACH[0].lower()}{_ATTACH[1:]}",
            )
        return str(path)

    def _output(self, command: Sequence[str]) -> bytes:
        """Return what a program prints, up to a limit; it is killed if it takes too long."""
        try:
            program = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self._environ),
                start_new_session=True,
            )
        except OSError:
            return b""
        limit = threading.Timer(TIMEOUT_S, program.kill)
        limit.start()
        try:
            assert program.stdout is not None
            # base64 and hexadecimal digits take up to twice as much
            return program.stdout.read(2 * MAX_PICTURE_BYTES + 100)
        finally:
            limit.cancel()
            program.kill()
            program.communicate()

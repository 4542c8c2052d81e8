"""Which external editor the user uses, as `VISUAL` and `EDITOR` name it."""

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ollm_tui.config.paths import expanded, find_program
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name

VARIABLES: Final = ("VISUAL", "EDITOR")
USUAL: Final = ("editor", "nano", "vim", "vi")
"""What is used if no variable names one: the first that is installed."""
_WAITS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"),
            ("--wait", "-w"),
        ),
        **dict.fromkeys(("subl", "sublime_text", "zed", "zeditor", "gedit"), ("--wait", "-w")),
        "mate": ("--wait", "-w"),
        "kate": ("--block", "-b"),
        **dict.fromkeys(("gvim", "mvim"), ("--nofork", "-f")),
    }
)
"""Editors with a window, and the option with which they wait until it is closed, in both forms."""
_MAX_SHOWN_LENGTH: Final = 80


class NoEditorError(Exception):
    """There is no editor; the message says what to do."""


@dataclass(frozen=True, slots=True)
class EditorCommand:
    """How the editor is started; the path of the file follows."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The program without its folder, as it is shown."""
        return clean_name(Path(self.words[0]).name)[:_MAX_SHOWN_LENGTH]

    @property
    def has_window(self) -> bool:
        """Whether it is known to open a window of its own."""
        return Path(self.words[0]).name in _WAITS


def editor_command(
    environ: Mapping[str, str],
    find: Callable[[str, Mapping[str, str]], Path | None] = find_program,
) -> EditorCommand:
    """Return the editor of `VISUAL`, else of `EDITOR`, else a usual one that is installed.

    Editors that are known to open a window get their option to wait, if it is not there.

    Raises:
        NoEditorError: a variable cannot be read or names no program, or none is installed.
    """
    for variable in VARIABLES:
        if value := environ.get(variable, "").strip():
            return _named(variable, value, environ, find)
    for name in USUAL:
        if (path := find(name, environ)) is not None:
            return EditorCommand((str(path),))
    raise NoEditorError("No editor found. Set EDITOR to one, such as EDITOR=nano.")


def _named(
    variable: str,
    value: str,
    environ: Mapping[str, str],
    find: Callable[[str, Mapping[str, str]], Path | None],
) -> EditorCommand:
    shown = clean_name(value[:_MAX_SHOWN_LENGTH])
    try:
        words = shlex.split(value)
    except ValueError:
        words = []
    if not words:
        raise NoEditorError(f"{variable} has a quotation mark that is not closed: {shown}")
    program = str(expanded(Path(words[0]))) if "~" in words[0] else words[0]
    if os.sep in program:
        path = Path(program) if os.access(program, os.X_OK) else None
    else:
        path = find(program, environ)
    if path is None:
        what = clean_name(words[0][:_MAX_SHOWN_LENGTH])
        raise NoEditorError(f"{variable} names {what}, which is not installed. Set it to another.")
    options = words[1:]
    waits = _WAITS.get(path.name)
    if waits is not None and not set(waits) & set(options):
        options = [waits[0], *options]
    return EditorCommand((str(path), *options))

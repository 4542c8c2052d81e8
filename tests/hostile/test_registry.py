"""A module that begins to read from outside or to write there must be entered in `doors`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.doors import READERS, WRITERS

PACKAGE = Path(__file__).resolve().parents[2] / "ollm_tui"
READS = {"read_text", "read_bytes", "scandir", "glob", "iterdir", "stdin", "read", "aiter_raw"} | {
    "pread",
    "fetchall",
    "fetchone",
    "pieces",
    "read_bounded",
    "open_binary",
    "toml_values",
}
WRITES = {"write", "print", "copy_to_clipboard", "write_text", "write_bytes", "set_title"} | {
    "writelines",
    "dump",
    "write_private",
}
FUNCTIONS = {"read_bounded", "open_binary", "toml_values", "write_private"}
"""Of the modules for files in `config`; the others are methods."""
NOT_FROM_OUTSIDE = {
    # `read` is a method of their own there.
    "commands/options.py",
    "decode/react.py",
    "providers/ollama/pull.py",
    "providers/stream.py",
    "tui/chat/screen.py",
    "commands/speech.py",
    "sections/reading.py",
    "frontend/voice_control.py",
    *(f"linear/{name}.py" for name in ("chat", "commands", "message_reading", "model_actions")),
    "linear/saved_chats.py",
    "linear/views.py",
    # It waits for an end and reads nothing.
    "sound/player.py",
    # `pieces` is a list of its own there.
    "tui/transcript/block.py",
    "chat/summary.py",
    # For others, which are named by it.
    "config/regular_file.py",
    # Files that come with the program.
    "store/migrate.py",
    "tokens/encodings.py",
    # Made from the code, or the program's own old reports.
    "cli/reference.py",
    "tui/crash.py",
}
NOT_TO_THE_OUTSIDE = {
    # `write` is a method of their own there.
    "decode/react.py",
    *(f"chat/{name}.py" for name in ("client", "prompt_run", "saving")),
    # By `linear/terminal.py`.
    *(f"linear/{name}.py" for name in ("chat", "commands", "model_actions", "run", "settings")),
    *(f"linear/{name}.py" for name in ("compacting", "views", "writing")),
    # For others, which are named by it.
    "config/private_file.py",
    # To a TLS session, what came from its server.
    "providers/read_coalescer.py",
    # Into a text in memory.
    "providers/anthropic/llamacpp.py",
}


def users(names: set[str]) -> Iterator[str]:
    """Give the modules that use an attribute of one of these names."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        if any(_used(node) in names for node in ast.walk(tree)):
            yield path.relative_to(PACKAGE).as_posix()


def _used(node: ast.AST) -> str | None:
    match node:
        case ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            return name
        case _:
            return None


def test_every_module_that_reads_from_outside_is_tried() -> None:
    assert set(users(READS)) - NOT_FROM_OUTSIDE == READERS.keys()


def test_every_module_that_writes_to_the_outside_is_tried() -> None:
    assert set(users(WRITES)) - NOT_TO_THE_OUTSIDE == WRITERS.keys()

"""The command `ollm`."""

import os
import sys

from ollm_tui import __version__

# Type checkers take it for true; `collections.abc` is not needed.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit code."""
    typed = sys.argv[1:] if argv is None else argv
    if list(typed) == ["--version"] and _print_version():
        return 0
    # Not for the version, which takes a fifth of the time without.
    import atexit
    import gc

    from ollm_tui.cli.dispatch import run

    if argv is None:
        # The process ends with the command. Python would look through all objects once more.
        atexit.register(gc.freeze)
    return run(typed)


def _print_version() -> bool:
    """Write the version past all buffers; False if the output is no file or takes nothing."""
    try:
        return os.write(sys.stdout.fileno(), f"ollm {__version__}\n".encode()) > 0
    except (AttributeError, OSError, ValueError):
        return False

"""The command `ollm`."""

import os
import sys

from ollm_tui import __version__

# Type checkers take it for true; `collections.abc` is not needed.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollm_tui.frontend.first_frame import FirstFrame


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit code."""
    typed = sys.argv[1:] if argv is None else argv
    if list(typed) == ["--version"] and _print_version():
        return 0
    # Not for the version, which takes a fifth of the time without.
    import atexit
    import gc

    if argv is None:
        # Modules that load leave no garbage.
        gc.set_threshold(20_000)
    first_frame: FirstFrame | None = None
    try:
        if argv is None:
            first_frame = _first_frame(typed)
        if first_frame is not None:
            first_frame.show_saved(os.environ)
        from ollm_tui.cli.dispatch import run

        if argv is None:
            from ollm_tui.lazy import leave_out_pydantic_plugins

            leave_out_pydantic_plugins()
            # The process ends with the command. Python would look through all objects once more.
            atexit.register(gc.freeze)
        return run(typed, first_frame)
    except KeyboardInterrupt:  # while `run` was being loaded
        return 130
    finally:
        if first_frame is not None:
            first_frame.close()


def _first_frame(typed: "Sequence[str]") -> "FirstFrame | None":
    """Return what shows the last first frame; None with options that matter for what is drawn."""
    names_model = typed[:1] == ["--model"] and len(typed) == 2
    is_usual = not typed or names_model or list(typed) in (["-c"], ["--continue"])
    if sys.platform == "win32" or not is_usual:
        return None
    # Before everything else: what follows takes several times as long.
    from ollm_tui.frontend.first_frame import FirstFrame, conditions

    return FirstFrame(conditions(typed, os.environ))


def _print_version() -> bool:
    """Write the version past all buffers; False if the output is no file or takes nothing."""
    try:
        return os.write(sys.stdout.fileno(), f"ollm {__version__}\n".encode()) > 0
    except (AttributeError, OSError, ValueError):
        return False

"""A yes or no from the person at the keyboard."""

import sys

from ollm_tui.cli.output import NeedsApproval, Output

_YES = frozenset({"y", "yes"})
_LONGEST = 100


def confirm(question: str, output: Output) -> bool:
    """Ask; anything but a clear yes is a no.

    Raises:
        NeedsApproval: nobody is here to be asked.
    """
    if not (output.is_watched and sys.stdin is not None and sys.stdin.isatty()):
        raise NeedsApproval(
            "There is no terminal for confirmation.", "Use --yes to skip the question."
        )
    output.question(f"{question} [y/N]")
    try:
        return sys.stdin.readline(_LONGEST).strip().lower() in _YES
    except KeyboardInterrupt:
        output.end_line()
        raise

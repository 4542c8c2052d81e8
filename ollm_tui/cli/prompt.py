"""The prompt of a run without a screen: typed, piped, or both."""

import os
import stat
import sys

from ollm_tui.cli.output import UsageError

LARGEST_PROMPT_BYTES = 16_000_000


def read_prompt(typed: str | None) -> str | None:
    """Give the prompt; None when nothing was typed and nothing is piped.

    Raises:
        UsageError: a prompt was asked for and is empty, or is too large.
    """
    piped = _piped_text()
    if typed == "-":
        typed = None
        if piped is None:
            piped = _read_all()
    elif typed is None and not (piped or "").strip():
        return None
    prompt = "\n\n".join(part for part in (typed, (piped or "").strip("\n")) if part)
    if not prompt.strip():
        raise UsageError("The prompt is empty.")
    return prompt


def _piped_text() -> str | None:
    """Give what a pipe or file holds; a terminal and `/dev/null` hold nothing."""
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or none at all
        return None
    if stat.S_ISFIFO(kind) or stat.S_ISREG(kind) or stat.S_ISSOCK(kind):
        return _read_all()
    return None


def _read_all() -> str:
    content = sys.stdin.buffer.read(LARGEST_PROMPT_BYTES + 1)
    if len(content) > LARGEST_PROMPT_BYTES:
        raise UsageError(f"The piped text is over {LARGEST_PROMPT_BYTES // 1_000_000} MB.")
    return content.decode("utf-8-sig", errors="replace")

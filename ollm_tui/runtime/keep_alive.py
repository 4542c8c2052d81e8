"""How long a model stays in memory, as a person types it."""

import re

from ollm_tui.protocol.errors import AIError, ErrorCode

_TEXT = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ms|s|m|h))+")
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?")


def read_keep_alive(text: str) -> str | float:
    """Give a length of time as engines take it: text like `1h30m`, else seconds.

    Below zero is forever.

    Raises:
        AIError: BAD_REQUEST when it is none, or no time at all.
    """
    said = text.strip().lower()
    if _NUMBER.fullmatch(said):
        seconds = float(said)
        if seconds == 0:
            raise _refused("A time of 0 would unload the model at once.")
        return int(seconds) if seconds.is_integer() else seconds
    if _TEXT.fullmatch(said):
        if not any(digit in "123456789" for digit in said):
            raise _refused("A time of 0 would unload the model at once.")
        return said
    if said in {"for ever", "forever", "always"}:
        return -1
    raise _refused(f"{text[:40]!r} is not a valid duration.")


def _refused(message: str) -> AIError:
    return AIError(
        ErrorCode.BAD_REQUEST, message, hint="Give seconds, text like 10m, or -1 forever."
    )

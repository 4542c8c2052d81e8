"""Numbers with their nouns, and lists in a sentence, written the same everywhere."""

from collections.abc import Sequence


def counted(number: int, noun: str, many: str = "") -> str:
    """Return `1 message`, `1,204 messages`; `many` is the plural of a noun that takes no `s`."""
    return f"{number:,} {plural(number, noun, many)}"


def plural(number: int, noun: str, many: str = "") -> str:
    """Return the noun in singular or plural."""
    return noun if number == 1 else many or f"{noun}s"


def alternatives(options: Sequence[str]) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last

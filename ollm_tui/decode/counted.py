"""Numbers with their nouns, sizes, and lists in a sentence, written the same everywhere."""

from collections.abc import Sequence


def counted(number: int, noun: str, many: str = "") -> str:
    """Return `1 message`, `1,204 messages`; `many` is the plural of a noun that takes no `s`."""
    return f"{number:,} {plural(number, noun, many)}"


def plural(number: int, noun: str, many: str = "") -> str:
    """Return the noun in singular or plural."""
    return noun if number == 1 else many or f"{noun}s"


def size_text(size: float | None) -> str:
    """Return an amount of bytes: `812 B`, `94 kB`, `4.7 GB`; nothing for an unknown one."""
    if size is None:
        return ""
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB" if size < 999.5 else f"{size / 1000:.1f} TB"


def alternatives(options: Sequence[str]) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last

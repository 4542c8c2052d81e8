"""Numbers with their nouns, written the same everywhere."""


def counted(number: int, noun: str, many: str = "") -> str:
    """Write `1 message`, `1,204 messages`; `many` is the plural of a noun that takes no `s`."""
    return f"{number:,} {plural(number, noun, many)}"


def plural(number: int, noun: str, many: str = "") -> str:
    """Give the form of a noun that goes with a number."""
    return noun if number == 1 else many or f"{noun}s"

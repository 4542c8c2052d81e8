"""How a program that will be killed says what it does: a line of JSON before and after each act."""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

Line: TypeAlias = dict[str, Any]


def tell(what: str, **facts: object) -> None:
    """Print a line; whoever reads it knows that it was true then."""
    sys.stdout.write(json.dumps({"what": what, **facts}) + "\n")
    sys.stdout.flush()


def understood(lines: Iterable[str]) -> Iterator[Line]:
    """Yield what was told; the last line may have been cut by the kill."""
    for line in lines:
        if line.startswith("{") and line.endswith("\n"):
            yield json.loads(line)


def of(lines: Iterable[Line], what: str) -> list[Line]:
    """Return the lines that tell one thing."""
    return [line for line in lines if line["what"] == what]

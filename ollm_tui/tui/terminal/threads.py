"""How long the thread that reads keys and the one that writes the screen wait for the interpreter.

A thread that wants the interpreter asks for it only after a whole switch interval in which nobody
let go of it (`ceval_gil.c`). The loop lets go at every read of an answer and takes it back at once,
so with Python's 5 ms a key waited up to 45 ms to be read, and a frame as long to be written,
while an answer came as fast as it could. The shorter interval costs something only while
threads compete.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SWITCH_S: Final = 0.0005


@contextmanager
def prompt_threads() -> Iterator[None]:
    """Hand the interpreter over sooner, for as long as the app runs."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)

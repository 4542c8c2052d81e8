"""How to start and work one program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
ESCAPE, INTERRUPT = "\x1b", "\x03"
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something to do before the prompt is there: wait for a pattern, then press or click."""

    seen: str
    keys: str = ""
    click: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program with its settings; what it writes goes into a home of its own."""

    argv: Sequence[str]
    ready: str
    """What is on the screen when the prompt takes keys, as a regular expression."""
    answers: str = ""
    """What is on the screen when it can send a prompt, where that is later."""
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts by their path below the home."""
    steps: Sequence[Step] = ()
    submit: str = "\r"
    stop: Sequence[str] = (ESCAPE,)
    """The keys that stop an answer, with a pause between; the last one counts."""
    stop_click: str = ""
    page_up: str = PAGE_UP
    """Empty when it leaves scrolling to the terminal."""
    page_down: str = PAGE_DOWN
    clear: str = "\x15"
    types_while_streaming: bool = True
    key_gap_s: float = 0.004
    settle_s: float = 0.0
    """How long after its first echo it really takes a prompt."""
    line_mode: bool = False
    """It reads whole lines, and the terminal shows what is typed."""

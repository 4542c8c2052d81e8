"""How to start and work a program: the one under test, and the references."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from benchmarks.terminal.backend.process import ROOT

PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
ESCAPE, INTERRUPT = "\x1b", "\x03"
NOTHING: Mapping[str, str] = {}
HERE = Path(__file__).parent
PYTHON = (sys.executable, "-P")
OLLM, BARE, CAT = "ollm", "bare Textual", "cat"


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


Maker = Callable[[str, Path, Sequence[str]], Program]
"""Makes a program from the server's address, its home, and what its interpreter runs it under."""


def ollm(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """This project's program, new chat."""
    target = (*under, "ollm_tui") if under else ("-m", "ollm_tui")
    return Program(
        argv=(*PYTHON, *target, "--model", "local://fake:latest"),
        ready="Ask anything",
        answers="ready|■ stopped",
        env={"OLLAMA_HOST": url, "PYTHONPATH": str(ROOT)},
    )


def ollm_last_chat(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """This project's program, going on with the chat that was written last."""
    new = ollm(url, home, under)
    return Program(argv=(*new.argv, "-c"), ready=new.ready, answers=new.answers, env=new.env)


def bare_textual(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """Textual's own Markdown stream, with nothing around it."""
    script = str(HERE / "references" / "bare_textual.py")
    return Program(argv=(*PYTHON, *under, script, url), ready="Say something")


def cat(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """The bytes alone."""
    return Program(
        argv=(*PYTHON, str(HERE / "references" / "plain_cat.py"), url),
        ready="Say something>",
        submit="\n",
        stop=("\x03",),
        page_up="",
        types_while_streaming=False,
        line_mode=True,
    )


MAKERS: Mapping[str, Maker] = MappingProxyType({OLLM: ollm, BARE: bare_textual, CAT: cat})


def base_environment(home: Path, path: str) -> dict[str, str]:
    """Return a small fixed environment: nothing of the caller's leaks into a program."""
    return {
        "HOME": str(home),
        "PATH": path,
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "NO_PROXY": "127.0.0.1,localhost",
        "DO_NOT_TRACK": "1",
        "SHELL": "/bin/sh",
        "PYTHONHASHSEED": "0",
    }

"""What `make bench` runs, by group: each case with its programs and rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.terminal.answer import DOCUMENTS
from benchmarks.terminal.commands import CODEX, LLM, PRINT, VERSION, Command
from benchmarks.terminal.programs import BARE, CAT, OLLM
from benchmarks.terminal.run import Run
from benchmarks.terminal.scenarios.abort import Abort
from benchmarks.terminal.scenarios.document import Document
from benchmarks.terminal.scenarios.echo import Echo, HungEcho, IdleEcho
from benchmarks.terminal.scenarios.measures import Values
from benchmarks.terminal.scenarios.scroll import Scroll
from benchmarks.terminal.scenarios.startup import CHATS, Opening, idle, startup
from benchmarks.terminal.scenarios.stream import Stream
from benchmarks.terminal.scenarios.words import Words

FEW, SOME, MANY = 1, 3, 10
JUDGED = 5
"""Rounds of what is compared with the best of the others."""
BOTH = (OLLM, BARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to measure, of several programs in turn."""

    name: str
    scenario: Callable[[Run], Values] | Command
    rounds: int = SOME
    programs: Sequence[str] = BOTH
    once: Sequence[str] = ()
    """Programs that are measured in the first round only, where they are installed."""
    rivals: Sequence[str] = ()
    """Peers that take part in every round, where they are installed."""
    peers: bool = False
    """Whether the other peers are measured too, in the first round."""
    has_heart: bool = False
    """Whether the program runs with a heart in its event loop."""
    chat: int | None = None
    """Messages of the saved chat in the program's home."""
    seconds: float
    """About how long one program takes in one round, with its start."""


def stream_name(tokens: int, rate: int) -> str:
    """Name a stream: tokens, and tokens a second."""
    size = f"{tokens // 1000}k" if tokens >= 1000 and tokens % 1000 == 0 else str(tokens)
    return f"stream {size}@{rate or 'unlimited'}"


def stream_case(
    tokens: int, rate: int, rounds: int = SOME, *, peers: bool = False, rivals: Sequence[str] = ()
) -> Case:
    """Make the case of one answer."""
    return Case(
        name=stream_name(tokens, rate),
        scenario=Stream(tokens, rate),
        rounds=rounds,
        once=(CAT,) if peers else (),
        peers=peers,
        rivals=rivals,
        seconds=4 + (tokens / rate if rate else tokens / 1500),
    )


STARTUP = "start-up"
ECHO = "echo@1000"
IDLE_ECHO = "echo, idle"
HUNG_ECHO = "echo, server hangs"
ABORT = "abort"
SCROLL = "scroll@200"
IDLE = "idle"
VERSIONS = "--version"
PRINTING = "-p"
STREAMS = (
    stream_case(1000, 50, FEW),
    stream_case(1000, 200, JUDGED, peers=True, rivals=[CODEX]),
    stream_case(1000, 1000, JUDGED),
    stream_case(1000, 0, FEW),
    stream_case(5000, 200, FEW),
    stream_case(5000, 1000, JUDGED, peers=True, rivals=[CODEX]),
    stream_case(5000, 0, 2),
    stream_case(20_000, 1000, JUDGED),
    stream_case(20_000, 0, FEW),
)


WORD_RATES = (50, 100, 200)


def words_name(rate: int) -> str:
    """Name the words inside an answer of 1,000 tokens."""
    return f"words 1k@{rate}"


def words_case(rate: int) -> Case:
    """Make the case of the words inside one answer; the slowest is measured once."""
    return Case(
        name=words_name(rate),
        scenario=Words(1000, rate),
        rounds=SOME if rate >= 100 else FEW,
        programs=(OLLM,),
        once=(BARE, CODEX),
        seconds=4 + 1000 / rate,
    )


def opening_name(messages: int) -> str:
    """Name the opening of a saved chat."""
    return f"open {messages}"


def document_name(document: str, *, whole: bool) -> str:
    """Name a stalling document, whole or in pieces."""
    return f"document {document} {'whole' if whole else 'in pieces'}"


GROUPS: Mapping[str, Sequence[Case]] = MappingProxyType(
    {
        "startup": (
            Case(
                name=STARTUP,
                scenario=startup,
                rounds=MANY,
                rivals=[CODEX],
                peers=True,
                seconds=3,
                once=(CAT,),
            ),
        ),
        "commands": tuple(
            Case(
                name=name,
                scenario=command,
                rounds=JUDGED,
                programs=(OLLM,),
                rivals=[rival],
                seconds=4,
            )
            for name, command, rival in ((VERSIONS, VERSION, CODEX), (PRINTING, PRINT, LLM))
        ),
        "stream": STREAMS,
        "words": tuple(words_case(rate) for rate in WORD_RATES),
        "echo": (
            Case(
                name=ECHO,
                scenario=Echo(1000, 40),
                rounds=JUDGED,
                rivals=[CODEX],
                peers=True,
                has_heart=True,
                seconds=14,
            ),
            Case(
                name=IDLE_ECHO,
                scenario=IdleEcho(40),
                rounds=JUDGED,
                rivals=[CODEX],
                has_heart=True,
                seconds=12,
            ),
            Case(
                name=HUNG_ECHO, scenario=HungEcho(200, 150), rounds=FEW, has_heart=True, seconds=30
            ),
        ),
        "abort": (
            Case(
                name=ABORT,
                scenario=Abort(200, 40),
                rounds=JUDGED,
                programs=(OLLM,),
                rivals=[CODEX],
                seconds=36,
            ),
        ),
        "scroll": (Case(name=SCROLL, scenario=Scroll(200, 12), rounds=FEW, seconds=27),),
        "open": tuple(
            Case(
                name=opening_name(messages),
                scenario=Opening(messages),
                programs=(OLLM,),
                rounds=5,
                chat=messages,
                seconds=3,
            )
            for messages in CHATS
        ),
        "idle": (Case(name=IDLE, scenario=idle, rounds=FEW, seconds=8),),
        "documents": tuple(
            Case(
                name=document_name(document, whole=whole),
                scenario=Document(document, whole=whole),
                programs=(OLLM,),
                rounds=FEW,
                has_heart=True,
                seconds=6,
            )
            for document in DOCUMENTS
            for whole in (True, False)
        ),
    }
)
DEFAULT = (
    "startup",
    "commands",
    "stream",
    "words",
    "echo",
    "abort",
    "scroll",
    "open",
    "idle",
    "documents",
)

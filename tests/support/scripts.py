"""What the fake servers do for which prompt: one list of steps, whatever the wire format.

The first word of the last user message chooses the script; see `SCRIPTS`. Unknown words get a
greeting. `echo ...` repeats, `words N RATE` sends N words at RATE a second, `status CODE` fails.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MARKDOWN = """# Title

Some *emphasis*, some `code` and a [link](https://example.com/).

- one
- two

| a | b |
|---|---|
| 1 | 2 |

```python
print("hello")
```
"""
UNICODE = "日本語 🎌 ñ é 👩‍👩‍👧 ok"


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Thinking:
    text: str


@dataclass(frozen=True)
class Calls:
    """Calls that come side by side; their arguments are JSON texts, or the beginning of one."""

    calls: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Stall:
    """Say nothing more, and keep the connection."""


@dataclass(frozen=True)
class Cut:
    """Close the connection."""


@dataclass(frozen=True)
class Stop:
    """End the body without the format's end marker."""


@dataclass(frozen=True)
class Fail:
    """Report a failure inside the answer."""

    message: str


@dataclass(frozen=True)
class Whole:
    """Answer with these bytes instead of a stream."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bytewise:
    """Send everything from here on one byte at a time."""


@dataclass(frozen=True)
class End:
    reason: str = "stop"


Trick = Stall | Cut | Stop | Whole | Bytewise
Step = Text | Thinking | Calls | Wait | Fail | End | Trick

SCRIPTS: Mapping[str, tuple[Step, ...]] = {
    "hello": (Text("Hello"), Text(", "), Text("world"), Text("!"), End()),
    "markdown": (*(Text(line) for line in MARKDOWN.splitlines(keepends=True)), End()),
    "think": (Thinking("Let me "), Thinking("see."), Text("Yes."), End()),
    "tags": (Text("<thi"), Text("nk>Let me see.</th"), Text("ink>\n\nYes."), End()),
    "unicode": (Bytewise(), Text(UNICODE), End()),
    "tool": (Calls((("call_a1", "weather", '{"city": "Oslo"}'),)), End("tool_calls")),
    "tools": (
        Text("Looking."),
        Calls(
            (("call_a1", "weather", '{"city": "Oslo"}'), ("call_b2", "clock", "{}")),
        ),
        End("tool_calls"),
    ),
    "ponder": (
        Thinking("I have to look."),
        Calls((("call_a1", "weather", '{"city": "Oslo"}'),)),
        End("tool_calls"),
    ),
    "arguments": (
        Text("Looking."),
        Calls((("call_a1", "weather", '{"city": "Os'),)),
        Stall(),
    ),
    "length": (Text("It was a dark and"), End("length")),
    "nothing": (Whole(b"", content_type=""),),
    "html": (
        Whole(
            b"<!DOCTYPE html><html><title>Log in</title><body>Hi</body></html>", 200, "text/html"
        ),
    ),
    "cut": (Text("It was "), Text("a dark"), Wait(0.02), Cut()),
    "unended": (Text("It was "), Text("a dark"), Stop()),
    "fail": (Text("It was "), Fail("the engine died")),
    "stall": (Text("It was "), Stall()),
    "silent": (Stall(),),
}


def steps_for(prompt: str) -> Iterator[Step]:
    """Give the steps of the script that a prompt chooses; `forever` never ends."""
    first, _, below = prompt.strip().partition("\n")
    # the name of an attached picture stands on a line of its own before the prompt
    word, _, rest = (below if first.endswith(".png:") else prompt.strip()).partition(" ")
    match word:
        case "echo":
            return iter((Text(rest), End()))
        case "words":
            return _words(rest.split())
        case "forever":
            return _forever(float(rest) if rest else 100.0)
        case "status":
            return iter((_status(int(rest or 500)),))
        case _:
            return iter(SCRIPTS.get(word, SCRIPTS["hello"]))


def last_prompt(messages: object) -> str:
    """Give the last paragraph of the last user message: a question without an answer goes along."""
    found = ""
    for message in messages if isinstance(messages, Sequence) else ():
        if isinstance(message, Mapping) and message.get("role") == "user":
            found = content_text(message.get("content"))
    return found.rpartition("\n\n")[2]


def content_text(content: object) -> str:
    """Give the text of a wire content: a string, or parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(str(p.get("text", "")) for p in parts if isinstance(p, Mapping))


def _words(numbers: list[str]) -> Iterator[Step]:
    count = int(numbers[0]) if numbers else 10
    rate = float(numbers[1]) if len(numbers) > 1 else 0.0
    for number in range(count):
        yield Text(f"word{number} ")
        if rate:
            yield Wait(1 / rate)
    yield End()


def _forever(rate: float) -> Iterator[Step]:
    number = 0
    while True:
        yield Text(f"word{number} ")
        yield Wait(1 / rate)
        number += 1


def _status(status: int) -> Whole:
    headers = {"retry-after": "2"} if status in (429, 503) else {}
    body = b'{"error": {"message": "scripted failure %d", "type": "scripted"}}' % status
    return Whole(body, status, headers=headers)

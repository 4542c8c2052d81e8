"""What the fake servers do for which prompt: steps that a wire format spells in its own way.

The first word of the last user message chooses the script; unknown words get a greeting. `echo ...`
repeats, `words N RATE` sends N words at RATE a second, `status CODE` fails, `forever` never ends.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import anyio

from tests.support.http_server import Reply

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
PAGE = b"<!DOCTYPE html><html><title>Log in</title><body>Hi</body></html>"

CallText = tuple[str, str, str]
"""Id, name and arguments, which are a JSON text or the beginning of one."""
Step = tuple[Any, ...]
"""What `ScriptWire` does, and with what."""


def said(*texts: str) -> list[Step]:
    return [("say", text) for text in texts]


END: Step = ("end", "stop")
TO_TOOLS: Step = ("end", "tool_calls")
OSLO: CallText = ("call_a1", "weather", '{"city": "Oslo"}')
SCRIPTS: Mapping[str, Sequence[Step]] = {
    "hello": [*said("Hello", ", ", "world", "!"), END],
    "markdown": [*said(*MARKDOWN.splitlines(keepends=True)), END],
    "think": [("think", "Let me "), ("think", "see."), ("say", "Yes."), END],
    "tags": [*said("<thi", "nk>Let me see.</th", "ink>\n\nYes."), END],
    "unicode": [("bytewise",), ("say", UNICODE), END],
    "tool": [("call", OSLO), TO_TOOLS],
    "tools": [("say", "Looking."), ("call", OSLO, ("call_b2", "clock", "{}")), TO_TOOLS],
    "ponder": [("think", "I have to look."), ("call", OSLO), TO_TOOLS],
    "arguments": [("say", "Looking."), ("call", (*OSLO[:2], '{"city": "Os')), ("stall",)],
    "length": [("say", "It was a dark and"), ("end", "length")],
    "nothing": [("whole", b"", 200, "")],
    "html": [("whole", PAGE, 200, "text/html")],
    "cut": [*said("It was ", "a dark"), ("wait", 0.02), ("cut",)],
    "unended": [*said("It was ", "a dark"), ("begin",)],
    "fail": [("say", "It was "), ("fail", "the engine died")],
    "stall": [("say", "It was "), ("stall",)],
    "silent": [("stall",)],
}


def steps_for(prompt: str) -> Iterable[Step]:
    first, _, below = prompt.strip().partition("\n")
    # the name of an attached picture stands on a line of its own before the prompt
    word, _, rest = (below if first.endswith(".png:") else prompt.strip()).partition(" ")
    match word:
        case "echo":
            return [("say", rest), END]
        case "words":
            given = dict(enumerate(rest.split()))
            return [*_words(range(int(given.get(0, 10))), float(given.get(1, 0))), END]
        case "forever":
            return _words(count(), float(rest or 100))
        case "status":
            status = int(rest or 500)
            body = b'{"error": {"message": "scripted failure %d", "type": "scripted"}}' % status
            later = {"retry-after": "2"} if status in (429, 503) else {}
            return [("whole", body, status, "application/json", later)]
        case _:
            return SCRIPTS.get(word, SCRIPTS["hello"])


def _words(numbers: Iterable[int], rate: float) -> Iterator[Step]:
    for number in numbers:
        yield "say", f"word{number} "
        if rate:
            yield "wait", 1 / rate


def last_prompt(messages: object) -> str:
    """Give the last paragraph of the last user message: a question without an answer goes along."""
    found: object = ""
    for message in messages if isinstance(messages, Sequence) else ():
        if isinstance(message, Mapping) and message.get("role") == "user":
            found = message.get("content")
    parts = found if isinstance(found, Sequence) and not isinstance(found, str) else ()
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, Mapping)]
    return (found if isinstance(found, str) else "".join(texts)).rpartition("\n\n")[2]


class ScriptWire(ABC):
    """Plays a script as the answer to a request of one format, whose frames a subclass gives."""

    content_type = "text/event-stream"
    streams_unasked = False

    def __init__(self, body: Mapping[str, object], reply: Reply) -> None:
        self._body = body
        self._reply = reply
        self._streams = bool(body.get("stream", self.streams_unasked))
        self._bytewise = False
        self._tokens = 0
        self._text = self._thinking = ""
        self._calls: list[CallText] = []

    async def play(self, *steps: Step) -> None:
        """Do these steps, or what the prompt asks for."""
        for step, *given in steps or steps_for(last_prompt(self._body.get("messages"))):
            self._keep(step, given)
            match step:
                case "bytewise":  # from here on
                    self._bytewise = True
                case "whole":
                    await self._reply.whole(*given)
                case "wait":
                    await anyio.sleep(*given)
                case "cut":
                    self._reply.cut()
                case "begin":
                    await self._begin()
                case "stall":
                    await self._begin()
                    await anyio.sleep_forever()
                case "end" if not self._streams:
                    await self._reply.json(self.complete(*given))
                case _ if self._streams or step == "fail":
                    for frame in self.frames(step, *given):
                        await self._send(self.spelled(frame))

    def _keep(self, step: str, given: Sequence[Any]) -> None:
        self._tokens += step in {"say", "think", "call"}
        match step:
            case "say":
                self._text += given[0]
            case "think":
                self._thinking += given[0]
            case "call":
                self._calls += given

    async def _begin(self) -> None:
        if not self._reply.started:
            await self._reply.start(content_type=self.content_type)

    async def _send(self, data: bytes) -> None:
        await self._begin()
        for piece in [bytes([byte]) for byte in data] if self._bytewise else [data]:
            await self._reply.write(piece)

    @abstractmethod
    def frames(self, step: str, *given: Any) -> Iterator[object]:
        """Give what is sent to say a text, to think, call side by side, fail or end."""

    @abstractmethod
    def complete(self, reason: str) -> object:
        """Give the answer for who wants no stream."""

    def spelled(self, frame: object) -> bytes:
        data = "[DONE]" if frame is None else json.dumps(frame, ensure_ascii=False)
        return f"data: {data}\n\n".encode()

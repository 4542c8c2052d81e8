"""Bodies of answers as the fake servers stream them, and ways to damage their frames.

A frame is what carries one object: a line, or an event with its blank line.
"""

import copy
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder
from tests.support.damage import ENDPOINT, JUNK, retype
from tests.support.fakes import REMOTES
from tests.support.http_server import Left, Received, Reply

PATHS: Mapping[str, str] = {
    "ollama": "/api/chat",
    "openai-compatible": "/v1/chat/completions",
    "anthropic": "/v1/messages",
}
"""One kind for each wire format."""
DECODERS: Mapping[str, Callable[[], AnswerDecoder]] = {
    "ollama": lambda: OllamaDecoder(ENDPOINT),
    "openai-compatible": lambda: OpenAIDecoder(ENDPOINT),
    "anthropic": lambda: AnthropicDecoder(ENDPOINT, "scripted://m"),
}


class _Recorder(Reply):
    """Keeps the body of an answer in place of sending it."""

    def __init__(self) -> None:
        self.started = self.chunked = False
        self.body = b""

    async def raw(self, data: bytes) -> None:
        pass

    async def write(self, data: bytes) -> None:
        self.body += data

    async def whole(
        self,
        body: bytes,
        status: int = 200,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.started = True
        self.body += body


async def recording(kind: str, prompt: str) -> bytes:
    """Give the body that the fake server of a kind, or of a backend, streams to a prompt."""
    asked = {
        "model": "thinker" if kind == "ollama" else "tiny",
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
    }
    headers = {"anthropic-version": "2023-06-01"}
    recorder = _Recorder()
    remote = REMOTES[kind]
    request = Received("POST", PATHS[remote.wire], headers, json.dumps(asked).encode())
    with suppress(Left):  # a script that cuts the connection
        await remote.make()(request, recorder)
    return recorder.body


def frames_of(kind: str, body: bytes) -> list[bytes]:
    """Cut a body after each of its frames; what is not ended is the last."""
    end = b"\n" if kind == "ollama" else b"\n\n"
    parts = body.split(end)
    return [part + end for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def carrying(frame: bytes, value: object) -> bytes:
    """Put another object into a frame."""
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    head, found, _ = frame.partition(b"data: ")
    return head + found + data + b"\n\n" if found else data + b"\n"


def carried(frame: bytes) -> object:
    """Give the object of a frame, None if it has none."""
    _, found, data = frame.partition(b"data: ")
    try:
        return json.loads(data if found else frame)
    except ValueError:
        return None


Frames = list[bytes]
UNKNOWN: tuple[Mapping[str, object], ...] = (
    {"type": "vendor_event", "index": 99},
    {"x": None},
    {},
    {"choices": []},
    {"choices": None, "message": None},
    {"choices": [{"index": 7, "delta": {"content": "other"}}]},
    {"type": "content_block_delta", "index": 77, "delta": {"type": "new_delta"}},
    {"type": "ping"},
)


def _any(frames: Sequence[bytes], chance: random.Random) -> int:
    return chance.randrange(len(frames))


def lose(frames: Frames, chance: random.Random) -> None:
    if len(frames) > 1:
        del frames[_any(frames, chance)]


def repeat(frames: Frames, chance: random.Random) -> None:
    frames.insert(_any(frames, chance), frames[_any(frames, chance)])


def swap(frames: Frames, chance: random.Random) -> None:
    one, other = _any(frames, chance), _any(frames, chance)
    frames[one], frames[other] = frames[other], frames[one]


def end_twice(frames: Frames, chance: random.Random) -> None:
    """Let the last frames, or all of them, come again."""
    frames += frames[chance.choice((-1, -2, -3, 0)) :]


def insert_unknown(frames: Frames, chance: random.Random) -> None:
    """Let frames come that no client knows."""
    sample = frames[_any(frames, chance)]
    frames.insert(_any(frames, chance), carrying(sample, chance.choice(UNKNOWN)))


def insert_noise(frames: Frames, chance: random.Random) -> None:
    """Let lines come that carry nothing."""
    noise = [b"\n", b"\r\n"]
    if frames[0].startswith((b"data", b"event")):
        noise += [b": ping\n\n", b"retry: 5\n\n", b"id: 1\n\n", b"data:\n\n"]
    frames.insert(_any(frames, chance), chance.choice(noise))


def end_lines_otherwise(frames: Frames, chance: random.Random) -> None:
    """End lines in CRLF, or where events are sent in CR, from somewhere on."""
    events = frames[0].startswith((b"data", b"event"))
    end = chance.choice((b"\r\n", b"\r")) if events else b"\r\n"
    for at in range(_any(frames, chance), len(frames)):
        frames[at] = frames[at].replace(b"\n", end)


def tighten(frames: Frames, _chance: random.Random) -> None:
    """Leave out the blank after the colon, and a proper start."""
    frames[:] = [frame.replace(b"data: ", b"data:") for frame in frames]
    frames[0] = b"\xef\xbb\xbf" + frames[0]


def join_frames(frames: Frames, chance: random.Random) -> None:
    """Swallow a line end, so that two objects, or an object and an event, share a line."""
    at = _any(frames, chance)
    frames[at] = frames[at].rstrip(b"\n") + chance.choice((b"", b"\n"))


def end_early(frames: Frames, chance: random.Random) -> None:
    body = b"".join(frames)
    frames[:] = [body[: chance.randrange(len(body))]]


def damage_values(frames: Frames, chance: random.Random) -> None:
    """Put values of other types, odd numbers or null in the place of others."""
    at = _any(frames, chance)
    value = carried(frames[at])
    if not isinstance(value, dict) or not value:
        return
    value = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 3))):
        if value:
            retype(value, chance)
    frames[at] = carrying(frames[at], value)


def null_all(frames: Frames, chance: random.Random) -> None:
    at = _any(frames, chance)
    frames[at] = re.sub(rb'(": ?)("[^"]*"|\d+|true|false)', rb"\1null", frames[at])


def renumber(frames: Frames, chance: random.Random) -> None:
    """Leave gaps between indexes, or number them in a way that no list knows."""
    new = chance.choice((b"99", b"-1", b"1e3", b'"0"', b"null", b"0", b"12345678901234567890"))
    at = _any(frames, chance)
    frames[at] = re.sub(rb'"index": ?\d+', b'"index": ' + new, frames[at])


def scratch(frames: Frames, chance: random.Random) -> None:
    """Flip bits, and take bytes out and put others in."""
    body = bytearray(b"".join(frames))
    for _ in range(chance.randrange(1, 9)):
        at = chance.randrange(len(body) + 1)
        match chance.randrange(4):
            case 0 | 1 if at < len(body):
                body[at] ^= 1 << chance.randrange(8)
            case 2:
                del body[at : at + chance.randrange(1, 12)]
            case _:
                body[at : at + chance.choice((0, 4))] = chance.choice(MORE_JUNK)
    frames[:] = [bytes(body) or b"\n"]


MORE_JUNK = (
    *JUNK,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"9" * 5000,
    b"\\ud83d",
    b"\xe2\x80\xa8",
    b"\x85",
    b"\r",
    b"data: ",
    b"event: error\n",
    b"error: no\n",
    b"<think>",
    b"</think>",
    b"\xf0\x9f",
)
KEEPING = (
    lose,
    repeat,
    swap,
    end_twice,
    insert_unknown,
    insert_noise,
    end_lines_otherwise,
    tighten,
    join_frames,
    end_early,
)
"""What leaves every object as it was, or unreadable."""
CHANGING = (damage_values, null_all, renumber, scratch)
Damage = Callable[[Frames, random.Random], None]


def damaged(frames: Sequence[bytes], ways: Sequence[Damage], chance: random.Random) -> bytes:
    """Damage a body in one to four of these ways."""
    broken = [*frames]
    for _ in range(chance.choice((1, 1, 2, 3, 4))):
        chance.choice(ways)(broken, chance)
        broken = [frame for frame in broken if frame] or [b"\n"]
    return b"".join(broken)

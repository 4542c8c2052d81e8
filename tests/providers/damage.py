"""Ways to damage the frames of an answer."""

import copy
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from tests.support.frames import carried, carrying

OTHER_TYPES: tuple[object, ...] = (None, True, 7, 1.5, "x", [], {})
JUNK: tuple[bytes, ...] = (
    *(b"null", b"[]", b"{}", b'""', b"0", b"-1", b"1e999", b"NaN", b'"\\ud800"', b"\xff", b"\n"),
    *(b"}", b'"', b"\0", b"</tool_call>", b"\nAction Input: {}", b"data: [DONE]\n\n"),
    *(b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"\\ud83d", b"\xe2\x80\xa8", b"\x85"),
    *(b"\r", b"data: ", b"event: error\n", b"error: no\n", b"<think>", b"</think>", b"\xf0\x9f"),
)
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
Frames = list[bytes]
Damage = Callable[[Frames, random.Random], None]


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


def tear(frames: Frames, chance: random.Random) -> None:
    """Make a frame unreadable that is not the last, as a server does that writes half a line."""
    at = chance.randrange(len(frames) - 1)
    line = frames[at].rstrip(b"\n")
    kept = chance.randrange(7 if line.startswith(b"data: ") else 1, len(line))
    frames[at] = line[:kept] + frames[at][len(line) :]


def damage_values(frames: Frames, chance: random.Random) -> None:
    """Put values of other types in the place of others."""
    at = _any(frames, chance)
    value = carried(frames[at])
    if not isinstance(value, dict) or not value:
        return
    for _ in range(chance.choice((1, 1, 3))):
        if value:
            old, put = chance.choice([*_places(value)])
            others = [other for other in OTHER_TYPES if type(other) is not type(old)]
            put(copy.deepcopy(chance.choice(others)))
    frames[at] = carrying(frames[at], value)


def _places(value: Any) -> Iterator[tuple[object, Callable[[object], None]]]:
    """Give all values inside one, each with what puts another in its place."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield inner, partial(value.__setitem__, key)
        if isinstance(inner, dict | list):
            yield from _places(inner)


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
                body[at : at + chance.choice((0, 4))] = chance.choice(JUNK)
    frames[:] = [bytes(body) or b"\n"]


MOVING = (lose, repeat, swap, damage_values)
KEEPING = (
    *(lose, repeat, swap, end_twice, insert_unknown, insert_noise, end_lines_otherwise, tighten),
    *(join_frames, end_early),
)
"""What leaves every object as it was, or unreadable."""
CHANGING = (damage_values, null_all, renumber, scratch)


def damaged(frames: Sequence[bytes], ways: Sequence[Damage], chance: random.Random) -> bytes:
    """Damage a body in one to four of these ways."""
    broken = [*frames]
    for _ in range(chance.choice((1, 1, 2, 3, 4))):
        chance.choice(ways)(broken, chance)
        broken = [frame for frame in broken if frame] or [b"\n"]
    return b"".join(broken)


def damaged_once(frames: Sequence[bytes], way: Damage, chance: random.Random) -> bytes:
    broken = [*frames]
    way(broken, chance)
    return b"".join(broken)


def in_chunks(body: bytes, chance: random.Random) -> list[bytes]:
    """Cut a body as a network would."""
    sizes = (chance.choice((3, 20, 400)) for _ in range(len(body)))
    ends = [0, *(end for end in accumulate(sizes) if end < len(body)), len(body)]
    return [body[start:end] for start, end in pairwise(ends)]

"""What a row of looks at a program amounts to."""

import statistics
from collections.abc import Sequence
from itertools import combinations

from benchmarks.soak.census import Census

WARM_UP = 0.1
SLOPE_KB = 1024.0
"""Most that memory may grow in 1,000 turns."""
JUDGED_FROM = 3000
"""Turns of a session whose memory is judged: caches fill in the first fifteen hundred."""
KEYS_RATIO = 1.2
FILE_SHARE = 0.3
ROW_BYTES = 1000
"""What a message takes beside its text: ids, times, five indexes, and the rest of a page."""


def theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """Return the median of the slopes between all pairs of points."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] != a[0]]
    return statistics.median(slopes) if slopes else 0.0


def p99(values: Sequence[float]) -> float:
    """Return the value that 1 % of all pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] if ordered else 0.0


def grown(counts: Sequence[int]) -> bool:
    """Whether the last third holds more than the first third ever did."""
    third = max(1, len(counts) // 3)
    return min(counts[-third:]) > max(counts[:third])


def judge(looks: Sequence[Census], turns: int) -> list[str]:
    """Print the figures; return what is wrong with them."""
    warm = [look for look in looks if look.turn >= WARM_UP * turns]
    faults: list[str] = []
    slope = theil_sen([(look.turn, float(look.rss_kb)) for look in warm]) * 1000
    first, last = warm[0], warm[-1]
    print(f"memory {first.rss_kb / 1024:.1f} -> {last.rss_kb / 1024:.1f} MB", end="; ")
    print(f"slope {slope:+.0f} kB in 1,000 turns (limit {SLOPE_KB:.0f})")
    if turns < JUDGED_FROM:
        print(f"memory is not judged: {turns} turns are too few")
    elif slope > SLOPE_KB:
        faults.append("memory grows")
    for name in ("files", "threads", "children"):
        counts = [int(getattr(look, name)) for look in warm]
        print(f"{name:8} {counts[0]} -> {counts[-1]}, between {min(counts)} and {max(counts)}")
        if grown(counts):
            faults.append(f"more {name}")
    faults += _judge_keys(warm)
    faults += _judge_file(first, last)
    return faults


def _judge_keys(warm: Sequence[Census]) -> list[str]:
    third = max(1, len(warm) // 3)
    ratios: list[float] = []
    for name in ("keys_ms", "reference_ms"):
        start = [ms for look in warm[:third] for ms in getattr(look, name)]
        end = [ms for look in warm[-third:] for ms in getattr(look, name)]
        ratios.append(p99(end) / p99(start))
        halves = p99(start[::2]) / p99(start[1::2])
        print(
            f"{name:13} median {statistics.median(start):.1f} -> {statistics.median(end):.1f} ms, "
            f"p99 {p99(start):.1f} -> {p99(end):.1f} ms, {ratios[-1]:.2f} times "
            f"(two halves of the start: {max(halves, 1 / halves):.2f} times)"
        )
    # what the machine itself lost meanwhile is not the program's fault
    return ["keys are slower"] if ratios[0] > KEYS_RATIO * max(1.0, ratios[1]) else []


def _judge_file(first: Census, last: Census) -> list[str]:
    size, text, messages = last.chats_bytes, last.text_bytes, last.messages
    print(
        f"file {size / 1e6:.2f} MB for {text / 1e6:.2f} MB of text in {messages} messages: ", end=""
    )
    beside = [
        (look.chats_bytes - look.text_bytes) / max(1, look.messages) for look in (first, last)
    ]
    print(f"beside the text {beside[0]:.0f} -> {beside[1]:.0f} bytes a message")
    expected = text + ROW_BYTES * messages
    if abs(size - expected) > FILE_SHARE * expected:
        return [f"the file should have about {expected / 1e6:.2f} MB"]
    return []

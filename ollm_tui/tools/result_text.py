"""What a tool said, made fit to be kept and sent."""

import re

from ollm_tui.decode.counted import counted

MOST_BYTES = 256 * 1024
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


def repair(text: str) -> str:
    """Replace what JSON, SQLite or UTF-8 cannot carry: NUL and lone surrogates."""
    return _UNSENDABLE.sub("\ufffd", text)


def keep_ends(text: str, most_bytes: int = MOST_BYTES) -> str:
    """Keep the beginning and the end of a long text and count what is left out between them."""
    if len(text) <= most_bytes // 4:
        return text
    data = text.encode()
    if len(data) <= most_bytes:
        return text
    tail_bytes = most_bytes // 4
    head = data[: most_bytes - tail_bytes].decode(errors="ignore")
    tail = data[len(data) - tail_bytes :].decode(errors="ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[... {counted(left_out, 'byte')} left out here ...]\n{tail}"

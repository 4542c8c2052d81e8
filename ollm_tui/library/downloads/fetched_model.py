"""What a fetched file is called as a model, and whether it can be one."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from ollm_tui.library.gguf import BadGGUF, read_header
from ollm_tui.library.gguf_tables import SUFFIX
from ollm_tui.library.shards import shard_of

AddressOf: TypeAlias = Callable[[Path], Awaitable[str | None]]
"""Gives the address to chat with the model whose first file this is; None where nothing runs it."""


def is_gguf(path: Path) -> bool:
    """Whether a file's name says that a model of llama.cpp is in it."""
    return path.name.lower().endswith(SUFFIX)


def name_of(path: Path) -> str:
    """Give the name of the model that a file holds, or that it is a part of."""
    stem = path.name[: -len(SUFFIX)] if is_gguf(path) else path.name
    shard = shard_of(stem)
    return shard.name if shard else stem


def problem_of(path: Path) -> str | None:
    """Tell why a file cannot be a model; None for any that is no GGUF by name. Reads its header.

    Raises:
        OSError: it cannot be read.
    """
    if not is_gguf(path):
        return None
    try:
        read_header(path)
    except BadGGUF as bad:
        return bad.reason
    return None

"""NVIDIA's cards, as the driver's own program tells of them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ollm_tui.library.machine import Gpu
from ollm_tui.library.run_program import Runner

QUERY = ("--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")
MIB = 1024 * 1024
LARGEST = 16 * 1024 * 1024
"""MiB; more is no memory of a card."""
CARD_LIMIT = 64
WSL = "/usr/lib/wsl/lib"
"""Where Windows puts the driver's programs for Linux inside it; seldom on the path."""


def nvidia_gpus(run: Runner, environ: Mapping[str, str], platform: str) -> tuple[Gpu, ...]:
    """Give the cards; none where there is no driver, or where it says nothing sensible."""
    program = _find("nvidia-smi.exe" if platform == "win32" else "nvidia-smi", environ)
    said = run([program, *QUERY]) if program is not None else None
    return tuple(_read(said or ""))


def _find(name: str, environ: Mapping[str, str]) -> str | None:
    """Find a program in the folders of PATH, never in the one the app was started in."""
    for folder in (*environ.get("PATH", "").split(os.pathsep), WSL):
        path = Path(folder) / name
        if path.is_absolute() and os.access(path, os.X_OK) and path.is_file():
            return str(path)
    return None


def _read(said: str) -> Iterator[Gpu]:
    for line in said.splitlines()[:CARD_LIMIT]:
        name, *numbers = (part.strip() for part in line.rsplit(",", 2))
        if len(numbers) != 2:
            continue
        total, free = (_mebibytes(number) for number in numbers)
        if total:
            sensible = free is not None and free <= total
            yield Gpu(
                name=name[:80] or "NVIDIA GPU",
                total=total * MIB,
                free=free * MIB if sensible and free is not None else None,
            )


def _mebibytes(text: str) -> int | None:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    number = int(text)
    return number if number <= LARGEST else None

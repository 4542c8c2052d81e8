"""Finding out what this machine has: memory, what of it is free, and graphics processors.

Everything is a guess that may fail: what cannot be found out is None, and nothing is raised.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from anyio import to_thread

from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.library.machine_linux import amd_gpus, linux_memory
from ollm_tui.library.machine_macos import macos_machine
from ollm_tui.library.machine_nvidia import nvidia_gpus
from ollm_tui.library.machine_windows import windows_memory
from ollm_tui.library.run_program import Runner, run_program

ENGINE_DEVICES = (
    "import xllamacpp\n"
    "print(any(d['type'].name.endswith('GPU') for d in xllamacpp.get_device_info()))"
)
"""Tells whether the built-in engine, as it is installed, sees a graphics processor."""
Memory = tuple[int | None, int | None]
"""Bytes in all and free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Where to look; the tests look elsewhere."""

    platform: str = sys.platform
    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    run: Runner = run_program
    windows_memory: Callable[[], Memory] = windows_memory
    engine: Sequence[str] = (sys.executable, "-I", "-c", ENGINE_DEVICES)
    """Asks the built-in engine, in a process of its own: it is too large to load here."""


async def find_machine(probe: Probe | None = None) -> Machine:
    """Look at the machine as it is now; takes some milliseconds, or 2 s for a driver that hangs.

    Where there is a graphics processor the engine is asked whether it uses it: 0.2 s more.
    """
    # Only reads, and ends by itself: a thread that is not waited for does no harm.
    return await to_thread.run_sync(partial(look, probe or Probe()), abandon_on_cancel=True)


def look(probe: Probe) -> Machine:
    """Look, blocking."""
    if probe.platform == "darwin":
        return macos_machine(probe.run)
    total: int | None = None
    free: int | None = None
    gpus: tuple[Gpu, ...] = ()
    if probe.platform == "win32":
        total, free = probe.windows_memory()
    else:
        total, free = linux_memory(probe.root)
        gpus = amd_gpus(probe.root)
    cards = nvidia_gpus(probe.run, probe.environ, probe.platform)
    gpus = (*cards, *gpus)
    uses_gpus = not gpus or (probe.run(probe.engine) or "").strip() == "True"
    return Machine(ram_total=total, ram_free=free, gpus=gpus, engine_uses_gpus=uses_gpus)

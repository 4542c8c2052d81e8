"""Probing this machine: memory, how much of it is free, and graphics processors.

All of it is best effort: unknown values are None, and nothing is raised.
"""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from anyio import to_thread

from ollm_tui.config.paths import find_program
from ollm_tui.config.regular_file import open_binary
from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re
from ollm_tui.library.machine import Gpu, Machine

TIME_LIMIT_S = 2.0
OUTPUT_LIMIT = 64 * 1024

Runner = Callable[[Sequence[str]], str | None]
"""Runs a program by its full path and returns its output, or None if it failed."""
SYSCTL, VM_STAT = "/usr/sbin/sysctl", "/usr/bin/vm_stat"
METAL_SHARE = 0.75
"""About the share of memory that Metal allows the GPU, unless configured."""
MIB = 1024 * 1024
_PAGE_SIZE = lazy_re(r"page size of ([0-9]{1,9}) bytes")
_PAGES = lazy_re(r"^Pages (free|inactive|speculative): +([0-9]{1,15})\.?$", re.MULTILINE)
_NVIDIA_QUERY = ("--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")
_MAX_CARD_MIB = 16 * 1024 * 1024
"""MiB; a larger value is not plausible."""
CARD_LIMIT = 64
_WSL_FOLDER = "/usr/lib/wsl/lib"
"""Where WSL has the driver's programs; often not on PATH."""
ENGINE_DEVICES = (
    "import xllamacpp\n"
    "print(any(d['type'].name.endswith('GPU') for d in xllamacpp.get_device_info()))"
)
"""Prints whether the installed built-in engine finds a graphics processor."""
SERVER_DEVICES = "--list-devices"
"""The option of llama-server that lists the graphics processors which it can use."""
_DEVICE = lazy_re(r"^ +[^\s:]+: .*\(([0-9]{1,9}) MiB, [0-9]{1,9} MiB free\)\s*$", re.MULTILINE)
Memory = tuple[int | None, int | None]
"""Total and free bytes."""
READ_LIMIT = 64 * 1024
NO_LIMIT = 2**60
"""Version 1 of control groups reports a value near 2**63 for no limit."""


def run_program(command: Sequence[str], *, time_limit_s: float = TIME_LIMIT_S) -> str | None:
    """Run a program without input; return its output, or None if it is missing, fails or hangs.

    Output goes to a file: a grandchild that keeps a pipe open cannot block.
    """
    try:
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            exit_code = _wait(process, time_limit_s)
            output.seek(0)
            printed = output.read(OUTPUT_LIMIT) if exit_code == 0 else None
    except (OSError, ValueError):
        return None
    return None if printed is None else printed.decode(errors="replace")


def _wait(process: subprocess.Popen[bytes], time_limit_s: float) -> int | None:
    """Return the exit code; None if the process and its children had to be killed."""
    try:
        return process.wait(time_limit_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(time_limit_s)
        return None


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("dwLength", ctypes.c_uint32),
        ("dwMemoryLoad", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("ullTotalPhys", "ullAvailPhys")),
        ("others", ctypes.c_uint64 * 5),
    )


def windows_memory(kernel: Any = None) -> Memory:
    """Return total and free bytes; None if this is not Windows, or it does not tell."""
    libraries = getattr(ctypes, "windll", None)  # on Windows only
    if kernel is None and libraries is not None:
        kernel = libraries.kernel32
    if kernel is None:
        return None, None
    status = _MemoryStatus(dwLength=ctypes.sizeof(_MemoryStatus))
    try:
        if not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
            return None, None
    except (OSError, AttributeError):
        return None, None
    return status.ullTotalPhys or None, status.ullAvailPhys


def macos_machine(run: Runner) -> Machine:
    """Probe a Mac: its memory, and the share of it that Apple's GPUs may use."""
    total = _sysctl(run, "hw.memsize") or None
    free = _free(run([VM_STAT]) or "")
    if total is not None and free is not None:
        free = min(free, total)
    if total is None or _sysctl(run, "hw.optional.arm64") != 1:
        return Machine(ram_total=total, ram_free=free)
    wired = (_sysctl(run, "iogpu.wired_limit_mb") or 0) * MIB
    limit = min(total, wired) if wired else int(total * METAL_SHARE)
    name = (run([SYSCTL, "-n", "machdep.cpu.brand_string"]) or "").strip()
    gpu = Gpu(
        name=name.splitlines()[0][:80] if name else "Apple GPU",
        total=limit,
        free=None if free is None else min(limit, free),
    )
    return Machine(ram_total=total, ram_free=free, gpus=(gpu,), unified=True)


def _sysctl(run: Runner, key: str) -> int | None:
    return _count(run([SYSCTL, "-n", key]))


def _free(vm_stat: str) -> int | None:
    """Return the bytes that programs can get: free, inactive and speculative pages."""
    size, pages = _PAGE_SIZE.search(vm_stat), dict(_PAGES.findall(vm_stat))
    if size is None or "free" not in pages:
        return None
    return int(size[1]) * sum(int(count) for count in pages.values())


def nvidia_gpus(run: Runner, environ: Mapping[str, str], platform: str) -> tuple[Gpu, ...]:
    """Return NVIDIA's cards; empty without a driver, or with implausible output."""
    name = "nvidia-smi.exe" if platform == "win32" else "nvidia-smi"
    program = find_program(name, environ, _WSL_FOLDER)
    printed = run([str(program), *_NVIDIA_QUERY]) if program is not None else None
    return tuple(_parse(printed or ""))


def _parse(printed: str) -> Iterator[Gpu]:
    for line in printed.splitlines()[:CARD_LIMIT]:
        name, *numbers = (part.strip() for part in line.rsplit(",", 2))
        if len(numbers) != 2:
            continue
        total, free = map(_count, numbers)
        if total and total <= _MAX_CARD_MIB:
            free_bytes = free * MIB if free is not None and free <= total else None
            yield Gpu(name=name[:80] or "NVIDIA GPU", total=total * MIB, free=free_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The sources of a probe; tests replace them."""

    platform: str = sys.platform
    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    run: Runner = run_program
    windows_memory: Callable[[], Memory] = windows_memory
    engine: Sequence[str] = (sys.executable, "-I", "-c", ENGINE_DEVICES)
    """Queries the built-in engine in a child process: it is too large to load here."""
    server: Path | None = None
    """The llama-server that runs models in place of the installed engine."""


async def find_machine(probe: Probe | None = None) -> Machine:
    """Probe the machine; takes some milliseconds, or 2 s if a driver hangs.

    If there is a graphics processor, asking the engine whether it uses it takes 0.2 s more.
    """
    # It only reads and ends by itself, so that its thread may be abandoned.
    return await to_thread.run_sync(
        partial(probe_machine, probe or Probe()), abandon_on_cancel=True
    )


def probe_machine(probe: Probe) -> Machine:
    """Probe the machine; blocks."""
    if probe.platform == "darwin":
        return macos_machine(probe.run)
    is_windows = probe.platform == "win32"
    total, free = probe.windows_memory() if is_windows else linux_memory(probe.root)
    gpus = nvidia_gpus(probe.run, probe.environ, probe.platform)
    gpus += () if is_windows else amd_gpus(probe.root)
    uses_gpus = not gpus or _engine_uses_gpus(probe)
    return Machine(ram_total=total, ram_free=free, gpus=gpus, engine_uses_gpus=uses_gpus)


def _engine_uses_gpus(probe: Probe) -> bool:
    if probe.server is None:
        return (probe.run(probe.engine) or "").strip() == "True"
    printed = probe.run([str(probe.server), SERVER_DEVICES]) or ""
    # A library for the processor is listed with 0 MiB.
    return any(int(megabytes) > 0 for megabytes in _DEVICE.findall(printed))


def linux_memory(root: Path) -> Memory:
    """Return total and free bytes: of the machine, or of its container if that is less."""
    meminfo = _table(root / "proc/meminfo")
    total, free = meminfo.get("MemTotal"), meminfo.get("MemAvailable")
    total, free = total and total * 1024, None if free is None else free * 1024
    for limit, used in _limits(root):
        total = limit if total is None else min(total, limit)
        if used is not None:
            left = max(0, limit - used)
            free = left if free is None else min(free, left)
        elif free is not None:
            free = min(free, limit)
    return total, free


def amd_gpus(root: Path) -> tuple[Gpu, ...]:
    """Return AMD cards that have memory of their own; integrated ones do not count."""
    try:
        folders = sorted((root / "sys/class/drm").glob("card[0-9]*/device"))[:CARD_LIMIT]
    except OSError:
        return ()
    cards = []
    for folder in folders:
        total = _number(folder / "mem_info_vram_total")
        if not total or not _is_discrete(folder):
            continue
        used = _number(folder / "mem_info_vram_used")
        free = None if used is None else max(0, total - used)
        cards.append(Gpu(name=_name(folder), total=total, free=free))
    return tuple(cards)


def _is_discrete(folder: Path) -> bool:
    # Only of discrete cards the driver reports the memory's load, or for Vega 10 its vendor.
    vendor = (_text(folder / "mem_info_vram_vendor") or "unknown").strip()
    return _text(folder / "mem_busy_percent") is not None or vendor != "unknown"


def _name(folder: Path) -> str:
    name = (_text(folder / "product_name") or "").strip()
    return name.splitlines()[0][:80] if name else "AMD GPU"


def _limits(root: Path) -> Iterator[tuple[int, int | None]]:
    """Yield limit and usage of every control group that this process is in."""
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        top = root / "sys/fs/cgroup"
        if controllers == "":
            yield from _groups(top, path, ("memory.max", "memory.current"), "")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            yield from _groups(top / "memory", path, names, "total_")


def _groups(
    top: Path, path: str, names: tuple[str, str], prefix: str
) -> Iterator[tuple[int, int | None]]:
    """Yield limit and usage from the top group down; a container sees its own group at the top."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    for depth in range(len(parts) + 1):
        folder = top.joinpath(*parts[:depth])
        limit, used = (_number(folder / name) for name in names)
        if limit is None or limit >= NO_LIMIT:
            continue
        # Cached file pages can be dropped at any time.
        cached = _table(folder / "memory.stat").get(f"{prefix}inactive_file", 0)
        yield limit, None if used is None else max(0, used - cached)


def _table(path: Path) -> dict[str, int]:
    """Parse lines like `MemFree:  123 kB` and `inactive_file 123`."""
    table = {}
    for line in (_text(path) or "").splitlines():
        name, *values = line.replace(":", " ").split() or [""]
        count = _count(values[0]) if values else None
        if count is not None:
            table[name] = count
    return table


def _number(path: Path) -> int | None:
    return _count(_text(path))


def _count(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _text(path: Path) -> str | None:
    try:
        with open_binary(path) as file:
            return file.read(READ_LIMIT).decode(errors="replace")
    except (OSError, ValueError):
        return None

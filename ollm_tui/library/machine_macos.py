"""A Mac's memory; with Apple's processors the graphics use it too."""

import re

from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.library.run_program import Runner

SYSCTL, VM_STAT = "/usr/sbin/sysctl", "/usr/bin/vm_stat"
METAL_SHARE = 0.75
"""The part of the memory that Metal lets the graphics have, about, unless it was set."""
MIB = 1024 * 1024
_PAGE_SIZE = re.compile(r"page size of ([0-9]{1,9}) bytes")
_PAGES = re.compile(r"^Pages (free|inactive|speculative): +([0-9]{1,15})\.?$", re.MULTILINE)


def macos_machine(run: Runner) -> Machine:
    """Give the memory, and the part of it that the graphics may have."""
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
    said = (run([SYSCTL, "-n", key]) or "").strip()
    return int(said) if said.isascii() and said.isdigit() and len(said) < 20 else None


def _free(said: str) -> int | None:
    """Count what a program can have: idle pages and those that nobody used for long."""
    size, pages = _PAGE_SIZE.search(said), dict(_PAGES.findall(said))
    if size is None or "free" not in pages:
        return None
    return int(size[1]) * sum(int(count) for count in pages.values())

"""`Machine`: the memory and graphics processors that models can run on.

A module of its own, since screens need the type and `machine_probe` only when they are open.
"""

from dataclasses import replace
from typing import Final

from ollm_tui.dataclass import dataclass

UNREPORTED_FREE: Final = 0.9
"""The share of graphics memory that counts as free where the driver does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One graphics processor and its memory."""

    name: str
    total: int
    """Bytes."""
    free: int | None = None
    """Bytes; None where the driver does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Memory in bytes; None where it is unknown."""

    ram_total: int | None = None
    ram_free: int | None = None
    """What programs can get without swapping, not only idle memory; in a container, what its limit
    leaves."""
    gpus: tuple[Gpu, ...] = ()
    unified: bool = False
    """Whether CPU and GPU share the memory (Apple)."""
    engine_uses_gpus: bool = True
    """Whether the built-in engine uses graphics processors. Its builds on PyPI for Linux and
    Windows do not; the engine of a server on this machine still may."""
    idle_gpus: tuple[Gpu, ...] = ()
    """Graphics processors that the built-in engine does not use, on the machine that it sees."""

    @property
    def for_engine(self) -> "Machine":
        """The part of the machine that the built-in engine can use."""
        if self.engine_uses_gpus:
            return self
        return replace(self, gpus=(), unified=False, idle_gpus=self.gpus)

    @property
    def gpu_free(self) -> int:
        """Free bytes of all graphics processors together: layers are spread over them."""
        return sum(
            int(gpu.total * UNREPORTED_FREE) if gpu.free is None else gpu.free for gpu in self.gpus
        )

    @property
    def all_free(self) -> int:
        """Free bytes of the whole machine; shared memory counts once."""
        ram = self.ram_free or 0
        return ram if self.unified and self.ram_free is not None else ram + self.gpu_free

"""What this machine has to run models with."""

from dataclasses import dataclass, replace
from typing import Final

UNREPORTED_FREE: Final = 0.9
"""The share of graphics memory that counts as free where the driver does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One graphics processor with memory of its own."""

    name: str
    total: int
    """Bytes."""
    free: int | None = None
    """Bytes; None where the driver does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Memory, in bytes; None where it could not be found out."""

    ram_total: int | None = None
    ram_free: int | None = None
    """What programs can have without swapping, not only what lies idle; within a container, what
    its limit leaves."""
    gpus: tuple[Gpu, ...] = ()
    unified: bool = False
    """Whether the processor and the graphics share the memory (Apple)."""
    engine_uses_gpus: bool = True
    """Whether the built-in engine computes on graphics processors: a server's engine may although
    this one, as PyPI has it for Linux and Windows, does not."""

    @property
    def for_engine(self) -> "Machine":
        """What of the machine the built-in engine can use."""
        return self if self.engine_uses_gpus else replace(self, gpus=(), unified=False)

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

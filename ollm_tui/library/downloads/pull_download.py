"""A model that a provider's server pulls itself, and the progress of that pull as a total."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.library.downloads.downloader import Progress, Report, SpeedMeter
from ollm_tui.library.downloads.job import ProviderPull
from ollm_tui.protocol.model import ModelRef, PullProgress

MAX_LAYERS = 10_000
"""No model has more layers; further ones are not counted."""
MAY_CONTINUE: Final = "the server may continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Puller:
    """A provider that pulls models."""

    name: str
    """The provider's own name, not an alias."""
    pulling: Callable[[str], AbstractAsyncContextManager[AsyncIterator[PullProgress]]]
    """Pulls a model and yields its progress; leaving the block, by any road, stops watching."""
    continues_alone: bool
    """Whether the server continues when nothing watches."""


PullerFor: TypeAlias = Callable[[str], Awaitable[Puller]]
"""Returns the puller of a provider; raises AIError if it cannot pull."""


@dataclass(slots=True)
class PullDownload:
    """Watches a `ProviderPull`; the server keeps what arrived, and nothing is deleted there."""

    origin: ProviderPull
    puller_for: PullerFor
    clock: Callable[[], float]
    pause_note: str = field(default="", init=False)

    async def title(self) -> str:
        """Return the model's name at its provider."""
        await self.puller_for(self.origin.provider)
        return self.origin.model

    async def run(self, report: Report) -> str | None:
        """Watch until the server has the model; it resumes an earlier pull."""
        puller = await self.puller_for(self.origin.provider)
        self.pause_note = MAY_CONTINUE if puller.continues_alone else ""
        total = PullSum(self.clock)
        async with puller.pulling(self.origin.model) as steps:
            async for step in steps:
                total.add(step)
                report(
                    Progress(
                        completed=total.completed,
                        total=total.total,
                        note=step.status,
                        is_jump=total.is_jump,
                    )
                )
        return str(ModelRef(puller.name, self.origin.model))

    async def discard(self) -> None:
        """A no-op: what arrived is the server's."""


class PullSum:
    """Sums up the progress lines of a pull; nothing decreases before `success`.

    Lines after `success` are of the next server of a pool, and start over. `clock` returns seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.status = ""
        """The server's activity, in its own words."""
        self.fraction: float | None = None
        """From 0 to 1; None while no size is known."""
        self.is_jump = False
        """Whether the last line counts bytes that were present before."""
        self._clock = clock
        self._is_over = False
        self.completed = 0
        """Bytes present."""
        self._total = 0
        self._layers: dict[str, tuple[int, int]] = {}
        self._speed = SpeedMeter()

    @property
    def total(self) -> int | None:
        """Bytes of all layers named so far; None while no size is known."""
        return self._total or None

    @property
    def bytes_per_s(self) -> float | None:
        """The current speed; None while it is unknown."""
        return self._speed.bytes_per_s

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this speed; None while it is unknown."""
        return self._speed.seconds_left(self._total - self.completed)

    def add(self, progress: PullProgress) -> None:
        """Add one progress line."""
        if self._is_over:
            self._start_over()
        self.status = progress.status
        self.is_jump = False
        self._is_over = progress.status == "success"
        if self._is_over and self._total:
            self.fraction = 1.0
        key = _layer_of(progress)
        if key is None or (key not in self._layers and len(self._layers) >= MAX_LAYERS):
            return
        known = self._layers.get(key)
        before = known or (0, 0)
        completed = max(before[0], progress.completed or 0)
        total = max(before[1], progress.total or 0)
        total = max(total, completed) if total else 0
        self._layers[key] = completed, total
        self.completed += completed - before[0]
        self._total += total - before[1]
        # What a new layer begins with was present before.
        self.is_jump = known is None or (before[0] == 0 and completed > 0)
        if self.is_jump:
            self._speed.clear()
        self._speed.sample(self._clock(), self.completed)
        if self._total:
            share = min(1.0, self.completed / self._total)
            self.fraction = max(self.fraction or 0.0, share)

    def _start_over(self) -> None:
        self._layers, self._speed = {}, SpeedMeter()
        self.completed = self._total = 0
        self.fraction = None


def _layer_of(progress: PullProgress) -> str | None:
    """Return the layer that sizes are about; empty for servers that report the total."""
    if progress.digest is None and (progress.completed is not None or progress.total is not None):
        return ""
    return progress.digest

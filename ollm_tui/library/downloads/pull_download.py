"""A model that a provider's server pulls itself, and the progress of that pull as a whole."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias

from ollm_tui.library.downloads.downloader import Pace, Progress, Report
from ollm_tui.library.downloads.job import ProviderPull
from ollm_tui.protocol.model import ModelRef, PullProgress

MAX_LAYERS = 10_000
"""More parts no model has; what a server makes up beyond them is not counted."""


class PullSum:
    """Adds up what the lines of a download say; nothing in it goes back before `success`.

    What comes after `success` is the download by a further server of a pool, and counts anew.
    `clock` gives seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.status = ""
        """What the server does now, in its own words."""
        self.fraction: float | None = None
        """From 0 to 1; None while no size is known."""
        self.has_leapt = False
        """Whether the last line told of what was there before."""
        self._clock = clock
        self._is_over = False
        self._layers: dict[str, tuple[int, int]] = {}
        self._completed = self._total = 0
        self._pace = Pace()

    @property
    def completed(self) -> int:
        """Bytes that are there."""
        return self._completed

    @property
    def total(self) -> int | None:
        """Bytes of all layers that have been named; None while no size is known."""
        return self._total or None

    @property
    def bytes_per_s(self) -> float | None:
        """How fast it goes; None while that cannot be said."""
        return self._pace.bytes_per_s

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this speed; None while that cannot be said."""
        return self._pace.seconds_left(self._total - self._completed)

    def add(self, progress: PullProgress) -> None:
        """Take one line."""
        if self._is_over:
            self._start_over()
        self.status = progress.status
        self.has_leapt = False
        self._is_over = progress.status == "success"
        if self._is_over and self._total:
            self.fraction = 1.0
        key = _part_of(progress)
        if key is None or (key not in self._layers and len(self._layers) >= MAX_LAYERS):
            return
        known = self._layers.get(key)
        before = known or (0, 0)
        completed = max(before[0], progress.completed or 0)
        total = max(before[1], progress.total or 0)
        total = max(total, completed) if total else 0
        self._layers[key] = completed, total
        self._completed += completed - before[0]
        self._total += total - before[1]
        self._note(is_new=known is None or (before[0] == 0 and completed > 0))
        if self._total:
            share = min(1.0, self._completed / self._total)
            self.fraction = max(self.fraction or 0.0, share)

    def _start_over(self) -> None:
        self._layers.clear()
        self._pace.clear()
        self._completed = self._total = 0
        self.fraction = None

    def _note(self, *, is_new: bool) -> None:
        """Keep what was there in the last seconds; what a new layer begins with was not fetched."""
        self.has_leapt = is_new
        if is_new:
            self._pace.clear()
        self._pace.note(self._clock(), self._completed)


def _part_of(progress: PullProgress) -> str | None:
    """Name the part that sizes are about; some servers tell those of the whole."""
    if progress.digest is None and (progress.completed is not None or progress.total is not None):
        return ""
    return progress.digest


GOES_ON: Final = "the server may continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Puller:
    """A provider that fetches models."""

    name: str
    """The provider's own, whatever alias it was asked by."""
    pulling: Callable[[str], AbstractAsyncContextManager[AsyncIterator[PullProgress]]]
    """Has a model fetched; leaving the block, by any road, has stopped looking on."""
    goes_on: bool
    """Whether the server goes on when nobody looks."""


PullerFor: TypeAlias = Callable[[str], Awaitable[Puller]]
"""Gives what fetches for a provider; raises an AIError where nothing does."""


class PullDownload:
    """Work for `ProviderPull`; the server keeps what has come, and nothing is removed there."""

    def __init__(
        self, origin: ProviderPull, puller_for: PullerFor, clock: Callable[[], float]
    ) -> None:
        self._origin = origin
        self._puller_for = puller_for
        self._clock = clock
        self.parting = ""

    async def title(self) -> str:
        """Give the model's name at its provider.

        Raises:
            AIError: there is no such provider, or it cannot pull.
        """
        await self._puller_for(self._origin.provider)
        return self._origin.model

    async def run(self, report: Report) -> str | None:
        """Look on until the server has it; it goes on where an earlier pull stopped."""
        puller = await self._puller_for(self._origin.provider)
        self.parting = GOES_ON if puller.goes_on else ""
        whole = PullSum(self._clock)
        async with puller.pulling(self._origin.model) as steps:
            async for step in steps:
                whole.add(step)
                report(
                    Progress(
                        completed=whole.completed,
                        total=whole.total,
                        note=step.status,
                        has_leapt=whole.has_leapt,
                    )
                )
        return str(ModelRef(puller.name, self._origin.model))

    async def discard(self) -> None:
        """Nothing: what has come is the server's."""

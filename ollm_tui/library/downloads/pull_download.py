"""A model that a provider's server fetches itself."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias

from ollm_tui.library.downloads.downloader import Progress, Report
from ollm_tui.library.downloads.job import ProviderPull
from ollm_tui.library.downloads.pull_sum import PullSum
from ollm_tui.protocol.model import ModelRef, PullProgress

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

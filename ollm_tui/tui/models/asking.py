"""Asks all providers for their models, what is in memory, and what fits this machine."""

from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.models.capabilities import is_described
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.capabilities import KnowsMachine, KnowsOtherFolders, ManagesModels
from ollm_tui.tui.models.entry import ModelEntry
from ollm_tui.tui.models.fit_check import judge_for
from ollm_tui.tui.models.list_cache import ModelListCache
from ollm_tui.tui.services import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from ollm_tui.protocol.model import ModelRef

PATIENCE_S: Final = 5.0
"""How long a provider may take to list its models."""
GLANCE_S: Final = 0.2
"""Who has moved on sooner has not looked at a model."""


class ModelAsking:
    """Fills a shelf as the answers come, and tells each time; the old lists stay meanwhile."""

    def __init__(
        self,
        runtime: Runtime,
        shelf: ModelListCache,
        changed: "Callable[[], None]",
        gone: "Callable[[ModelRef, str], None]",
    ) -> None:
        self._runtime = runtime
        self._shelf = shelf
        self._changed = changed
        self._gone = gone
        self.is_asking = False
        self._described: set[ModelRef] = set()
        self.beside = ""
        """What other programs have, in a sentence."""
        for listing in runtime.catalog.cached():
            shelf.put(listing)

    async def lists(self, *, anew: bool = False) -> None:
        """Ask for the models; `anew` also for who is there at all."""
        if anew:
            self._runtime.catalog.forget()
        self.is_asking = True
        self._changed()
        answered = []
        try:
            async with self._runtime.catalog.listings(within_s=PATIENCE_S) as answers:
                async for listing in answers:
                    answered.append(listing.provider)
                    for ref in self._shelf.put(listing):
                        self._gone(ref, listing.label)
                    self._changed()
            in_order = [listing.provider for listing in self._runtime.catalog.cached()]
            kept = [name for name in in_order if name in answered]
            self._shelf.keep(dict.fromkeys([*kept, *answered]))
        finally:
            self.is_asking = False
        self._changed()

    async def describe(self, entry: ModelEntry) -> None:
        """Learn what a model that is looked at can do, where its list does not say it; once."""
        if is_described(entry.info) or entry.ref in self._described:
            return
        await anyio.sleep(GLANCE_S)
        self._described.add(entry.ref)
        await self._runtime.catalog.describe(entry.ref)
        for listing in self._runtime.catalog.cached():
            if listing.provider == entry.ref.provider:
                self._shelf.put(listing)
        self._changed()

    async def machine(self) -> None:
        """Look at this machine, so that what fits it can be told."""
        if isinstance(self._runtime, KnowsMachine):
            machine = await self._runtime.machine()
            if machine.ram_free is not None or machine.gpus:
                self._shelf.put_judge(judge_for(machine, self._place))
                self._changed()

    def _place(self, ref: "ModelRef") -> str | None:
        if not isinstance(self._runtime, ManagesModels):
            return None
        try:
            return self._runtime.manager.place(ref)
        except AIError:  # its provider has gone from the settings
            return None

    async def folders(self) -> None:
        """Look what other programs have, where there is no model to show."""
        if isinstance(self._runtime, KnowsOtherFolders) and not self._shelf.entries():
            self.beside = (await self._runtime.other_folders()).words
            self._changed()

    async def memory(self) -> None:
        """Ask what is in memory."""
        if isinstance(self._runtime, ManagesModels):
            self._shelf.put_running(dict(await self._runtime.manager.running()))
            self._changed()

"""The life of adapters: initialized once before the first use, and disposed of at the end."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from ollm_tui.config.foreign import Redact, fault_of
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose, SupportsInitialize
from ollm_tui.providers.operations import translated
from ollm_tui.tasks import task_group

INITIALIZE_S = 30.0
DISPOSE_S = 2.0
logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Life:
    adapter: ProviderAdapter
    is_begun: bool = False
    ended: anyio.Event = field(default_factory=anyio.Event)
    problem: AIError | None = None


class AdapterLifecycle:
    """Initializes and disposes of the adapters of one runtime; made by `adapter_lifecycle`."""

    def __init__(self, group: TaskGroup, redact: Redact = str) -> None:
        self._group = group
        self._redact = redact
        self._lives: dict[int, _Life] = {}

    def add(self, adapter: ProviderAdapter) -> None:
        """Dispose of an adapter at the end."""
        self._lives.setdefault(id(adapter), _Life(adapter))

    async def initialize(self, adapter: ProviderAdapter) -> None:
        """Wait until an adapter is initialized; a caller that stops waiting does not stop it.

        Raises:
            AIError: It could not be initialized, now or before.
        """
        if not isinstance(adapter, SupportsInitialize):
            return
        self.add(adapter)
        life = self._lives[id(adapter)]
        if not life.is_begun:
            life.is_begun = True
            self._group.start_soon(self._initialize, life, adapter)
        await life.ended.wait()
        if life.problem is not None:
            raise life.problem.with_traceback(None)

    async def _initialize(self, life: _Life, adapter: SupportsInitialize) -> None:
        try:
            with (
                translated(life.adapter, "be initialized", self._redact),
                anyio.fail_after(INITIALIZE_S) as scope,
            ):
                await adapter.initialize()
        except AIError as error:
            error.provider = error.provider or life.adapter.name
            life.problem = error
            if scope.cancelled_caught:
                words = f"{life.adapter.label} was not ready within {INITIALIZE_S:g} s."
                life.problem = AIError(ErrorCode.TIMEOUT, words, provider=life.adapter.name)
        finally:
            life.ended.set()

    async def dispose(self) -> None:
        """Dispose of all adapters at once, within two seconds; no failure stops the others.

        A cancelled `initialize` has half of that time to end, so that the two never overlap.
        """
        with anyio.move_on_after(DISPOSE_S, shield=True):
            async with anyio.create_task_group() as group:
                for life in self._lives.values():
                    if isinstance(life.adapter, SupportsDispose):
                        group.start_soon(self._dispose, life, life.adapter)
        self._lives.clear()

    async def _dispose(self, life: _Life, adapter: SupportsDispose) -> None:
        if life.is_begun:
            with anyio.move_on_after(DISPOSE_S / 2):
                await life.ended.wait()
        try:
            await adapter.dispose()
        except BaseException as error:  # nobody can help it, and the others have to close too
            fault = fault_of(error)
            if fault is None:
                raise
            is_usual = isinstance(fault, AIError | OSError)
            reason = self._redact(str(fault)) if is_usual else type(fault).__name__
            words = "The provider %s could not be closed: %s"
            logger.warning(words, life.adapter.name, reason, exc_info=not is_usual)


@asynccontextmanager
async def adapter_lifecycle(redact: Redact = str) -> AsyncIterator[AdapterLifecycle]:
    """Yield a lifecycle, and dispose of its adapters; `redact` hides secrets in their errors."""
    async with task_group() as group:
        lifecycle = AdapterLifecycle(group, redact)
        try:
            yield lifecycle
        finally:
            group.cancel_scope.cancel()
            await lifecycle.dispose()

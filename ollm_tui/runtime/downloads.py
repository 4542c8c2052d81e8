"""The hub, the registry of models and the download queue, each made on first use.

Importing this module is cheap. The queue is closed before the providers are.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ollm_tui.config.regular_file import is_folder
from ollm_tui.protocol.errors import AIError
from ollm_tui.tasks import single_error

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ollm_tui.config.paths import AppPaths
    from ollm_tui.config.schema import AppConfig
    from ollm_tui.library.downloads.job import Job
    from ollm_tui.library.downloads.queue import DownloadQueue
    from ollm_tui.library.hub.repo import Hub
    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.providers.catalog import ModelCatalog
    from ollm_tui.providers.fetcher import HttpFetcher
    from ollm_tui.providers.registry import ProviderRegistry
    from ollm_tui.providers.router import Router

FOLDER: Final = "downloads"
GO_ON_AFTER_S: Final = 1.0
"""Downloads of an earlier run are resumed when the first screen is complete."""

_HUB: Final = "ollm_tui.runtime.hub"
_LOADED_LATE: Final = (
    "ollm_tui.library.downloads.queue",
    "ollm_tui.providers.fetcher",
    _HUB,
    "ollm_tui.runtime.download_factory",
)

logger = logging.getLogger(__name__)


async def load_registry() -> None:
    """Import what the model registry needs, in a thread: it takes some ten milliseconds."""
    await anyio.to_thread.run_sync(import_module, _HUB)


class DownloadService:
    """The hub, the model registry and the queue of one runtime; use `open_downloads`."""

    def __init__(
        self,
        group: "TaskGroup",
        config: "AppConfig",
        paths: "AppPaths",
        registry: "ProviderRegistry",
        catalog: "ModelCatalog",
        router: "Router",
    ) -> None:
        self._group = group
        self._config = config
        self._paths = paths
        self._registry = registry
        self._catalog = catalog
        self._router = router
        self._is_going_on = False

    @cached_property
    def hub(self) -> "Hub":
        """The hub that the settings name; no request is sent until it is used."""
        # imported only when models are searched
        from ollm_tui.runtime.hub import make_hub

        return make_hub(self._config.hub, self._fetcher)

    @cached_property
    def queue(self) -> "DownloadQueue":
        """The downloads; their files are read before the first action."""
        # imported only when models are downloaded
        from ollm_tui.library.downloads.queue import DownloadQueue
        from ollm_tui.runtime.download_factory import DownloadFactory

        factory = DownloadFactory(
            root=self._paths.models_dir,
            fetcher=self._fetcher,
            hub=self.hub,
            registry=self._registry,
            router=self._router,
            providers=self._config.providers,
        )
        queue = DownloadQueue(
            self._paths.state_dir / FOLDER,
            factory,
            at_once=self._config.downloads.at_once,
            on_done=self._arrived,
        )
        self._group.start_soon(self._hold, queue)
        return queue

    @cached_property
    def model_registry(self) -> "ModelRegistry":
        """The models that are known, installed or not; nothing is read until it is used."""
        # as above
        from ollm_tui.runtime.hub import make_registry

        return make_registry(self._paths, self.hub)

    async def load(self) -> None:
        """Import what downloads models, in a thread: it takes some hundred milliseconds."""
        await anyio.to_thread.run_sync(_load)

    async def forget(self, address: str) -> None:
        """Remove the finished download of a model that was deleted; a no-op if there is none."""
        if not await self.has_downloads():
            return
        await self.load()
        for job in await self.queue.loaded_jobs():
            if job.state == "done" and job.model == address:
                with suppress(AIError):  # another program is changing it
                    await self.queue.dismiss(job.id)

    async def has_downloads(self) -> bool:
        """Return whether there is a queue, or an earlier run has left downloads."""
        if "queue" in self.__dict__:
            return True
        return await anyio.to_thread.run_sync(_has_jobs, self._paths.state_dir / FOLDER)

    def go_on(self) -> None:
        """Resume the downloads of an earlier run after a delay; a second call is a no-op."""
        if not self._is_going_on:
            self._is_going_on = True
            self._group.start_soon(self._go_on)

    async def close(self) -> None:
        """Close the connections; the queue has ended."""
        if "_fetcher" in self.__dict__:
            await self._fetcher.aclose()

    @cached_property
    def _fetcher(self) -> "HttpFetcher":
        # as above
        from ollm_tui.providers.fetcher import HttpFetcher

        return HttpFetcher()

    def _arrived(self, job: "Job") -> None:
        """Drop the provider's cached list, so that the model can be used at once."""
        if job.model is not None:
            self._catalog.forget(job.model.partition("://")[0])

    async def _hold(self, queue: "DownloadQueue") -> None:
        try:
            async with queue:
                await anyio.sleep_forever()
        except Exception:
            logger.exception("The downloads ended unexpectedly")

    async def _go_on(self) -> None:
        try:
            await anyio.sleep(GO_ON_AFTER_S)
            if await anyio.to_thread.run_sync(_has_jobs, self._paths.state_dir / FOLDER):
                await anyio.to_thread.run_sync(_load)
                await self.queue.take_over()
        except Exception:
            logger.exception("Earlier downloads could not be resumed")


def _has_jobs(folder: Path) -> bool:
    return is_folder(folder) and any(path.suffix == ".json" for path in folder.iterdir())


def _load() -> None:
    """Import what downloads models; runs in a thread, because the screen is in use by now."""
    for name in _LOADED_LATE:
        import_module(name)


@asynccontextmanager
async def open_downloads(
    config: "AppConfig",
    paths: "AppPaths",
    registry: "ProviderRegistry",
    catalog: "ModelCatalog",
    router: "Router",
) -> AsyncIterator[DownloadService]:
    """Open the download service; leaving the block stops it so that the next run can resume."""
    with single_error():
        async with AsyncExitStack() as stack, anyio.create_task_group() as group:
            service = DownloadService(group, config, paths, registry, catalog, router)
            stack.push_async_callback(service.close)
            try:
                yield service
            finally:
                group.cancel_scope.cancel()

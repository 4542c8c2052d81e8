"""What fetches models for a runtime: the hub and the queue, each made when it is first wanted.

Importing this module costs next to nothing. The queue is opened by a child task of the runtime, so
that it runs on whatever the screen shows, and is closed before the providers are.
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
from ollm_tui.providers.single_error import single_error

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ollm_tui.config.paths import AppPaths
    from ollm_tui.config.schema import AppConfig
    from ollm_tui.library.downloads.downloader import DownloaderFor
    from ollm_tui.library.downloads.job import Job
    from ollm_tui.library.downloads.queue import DownloadQueue
    from ollm_tui.library.hub.repo import Hub
    from ollm_tui.library.machine import Machine
    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.providers.catalog import ModelCatalog
    from ollm_tui.providers.fetcher import HttpFetcher
    from ollm_tui.providers.registry import ProviderRegistry
    from ollm_tui.providers.router import Router
    from ollm_tui.runtime.other_models import OtherFolders

FOLDER: Final = "downloads"
GO_ON_AFTER_S: Final = 1.0
"""What an earlier run left is taken up when the first screen has what it needs."""

_LOADED_LATE: Final = (
    "ollm_tui.library.downloads.queue",
    "ollm_tui.providers.fetcher",
    "ollm_tui.runtime.hub",
    "ollm_tui.runtime.model_registry",
    "ollm_tui.runtime.download_factory",
)

logger = logging.getLogger(__name__)


class FetchesModels:
    """The face of a runtime for those who look for models and fetch them."""

    config: "AppConfig"
    paths: "AppPaths"
    fetching: "Fetching"

    @property
    def downloads(self) -> "DownloadQueue":
        """The queue of downloads."""
        return self.fetching.queue

    async def has_downloads(self) -> bool:
        """Whether any are known; the queue is not made for it."""
        return await self.fetching.has_downloads()

    async def forget_download(self, address: str) -> None:
        """Take a model that was deleted off the list of what was fetched."""
        if not await self.has_downloads():
            return
        await self.load_fetching()
        for job in await self.downloads.loaded_jobs():
            if job.state == "done" and job.model == address:
                with suppress(AIError):  # another program has it in hand
                    await self.downloads.dismiss(job.id)

    async def load_fetching(self) -> None:
        """Load what finds and fetches models, in a thread: some hundred milliseconds."""
        await anyio.to_thread.run_sync(_load)

    @property
    def hub(self) -> "Hub":
        """The hub that the settings name; making it asks nobody."""
        return self.fetching.hub

    @cached_property
    def model_registry(self) -> "ModelRegistry":
        """The models that are known, here or not; nothing is read before it is asked."""
        # loaded when it is asked: a first screen does not need it
        from ollm_tui.runtime.model_registry import make_registry

        return make_registry(self.paths, self.hub)

    async def machine(self) -> "Machine":
        """Look what this machine has to run models with."""
        # loaded by those who judge whether a model fits
        from ollm_tui.library.machine_probe import find_machine

        return await find_machine()

    async def other_folders(self) -> "OtherFolders":
        """Look which folders of other programs hold models."""
        # loaded by those who have no model to show
        from ollm_tui.runtime.other_models import look_for_folders

        return await look_for_folders(self.config.embedded.other_folders)


class Fetching:
    """The hub and the queue of one runtime; use `open_fetching` to have one."""

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
        """The hub that the settings name; making it asks nobody."""
        # loaded by those who look for models
        from ollm_tui.runtime.hub import make_hub

        return make_hub(self._config.hub, self._fetcher)

    @cached_property
    def queue(self) -> "DownloadQueue":
        """The downloads; their files are read by the time of the first deed."""
        # loaded by those who fetch models
        from ollm_tui.library.downloads.queue import DownloadQueue

        queue = DownloadQueue(
            self._paths.state_dir / FOLDER,
            self._work_for(),
            at_once=self._config.downloads.at_once,
            on_done=self._arrived,
        )
        self._group.start_soon(self._hold, queue)
        return queue

    async def has_downloads(self) -> bool:
        """Whether there is a queue, or an earlier run has left downloads."""
        if "queue" in self.__dict__:
            return True
        return await anyio.to_thread.run_sync(_has_jobs, self._paths.state_dir / FOLDER)

    def go_on(self) -> None:
        """Take up, a little later, what an earlier run left; a second call does nothing."""
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

    def _work_for(self) -> "DownloaderFor":
        # as above
        from ollm_tui.runtime.download_factory import DownloadFactory

        return DownloadFactory(
            root=self._paths.models_dir,
            fetcher=self._fetcher,
            hub=self.hub,
            registry=self._registry,
            router=self._router,
            providers=self._config.providers,
        )

    def _arrived(self, job: "Job") -> None:
        """Have the provider listed anew, so that the model can be chatted with at once."""
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
            logger.exception("Earlier downloads could not be taken up")


def _has_jobs(folder: Path) -> bool:
    return is_folder(folder) and any(path.suffix == ".json" for path in folder.iterdir())


def _load() -> None:
    """Import what fetches, in a thread: the screen is in use by now."""
    for name in _LOADED_LATE:
        import_module(name)


@asynccontextmanager
async def open_fetching(
    config: "AppConfig",
    paths: "AppPaths",
    registry: "ProviderRegistry",
    catalog: "ModelCatalog",
    router: "Router",
) -> AsyncIterator[Fetching]:
    """Give what fetches; leaving the block stops it so that the next run can go on."""
    with single_error():
        async with AsyncExitStack() as stack, anyio.create_task_group() as group:
            fetching = Fetching(group, config, paths, registry, catalog, router)
            stack.push_async_callback(fetching.close)
            try:
                yield fetching
            finally:
                group.cancel_scope.cancel()

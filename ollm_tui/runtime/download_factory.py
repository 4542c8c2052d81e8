"""The downloader for each kind of origin."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ollm_tui.config.provider_settings import ProviderSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.library.downloads.downloader import Downloader
from ollm_tui.library.downloads.job import (
    HubFiles,
    LocalFiles,
    Origin,
    ProviderPull,
    StarterPackage,
    UrlFile,
)
from ollm_tui.library.downloads.local_copy import LocalCopy
from ollm_tui.library.downloads.pull_download import PullDownload, Puller
from ollm_tui.library.downloads.starter_download import StarterDownload
from ollm_tui.library.downloads.web_download import HubDownload, UrlDownload
from ollm_tui.library.hub.repo import Hub
from ollm_tui.protocol.fetch import Fetcher
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.operations import puller, pulling
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import EMBEDDED, Router

STOPS_WHEN_LEFT = "ollama"
"""The kind of server that stops downloading when the client disconnects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadFactory:
    """Returns the downloader of an origin."""

    root: Path
    """The folder of model files."""
    fetcher: Fetcher
    hub: Hub
    registry: ProviderRegistry
    router: Router
    providers: Mapping[str, ProviderSettings]

    def __call__(self, origin: Origin) -> Downloader:
        """Return the downloader of one origin."""
        match origin:
            case HubFiles():
                return HubDownload(origin, self.hub, self.fetcher, self.root, self._address_of)
            case UrlFile():
                return UrlDownload(origin, self.hub, self.fetcher, self.root, self._address_of)
            case LocalFiles():
                return LocalCopy(origin, self.root, self._address_of)
            case StarterPackage():
                return StarterDownload(origin, self.root, self._address_of)
            case ProviderPull():
                return PullDownload(origin, self._puller_for, time.monotonic)

    async def _address_of(self, first_file: Path) -> str | None:
        adapter = self.registry.get(EMBEDDED)
        if not isinstance(adapter, EmbeddedProvider):
            return None
        name = await adapter.name_of(first_file)
        return str(ModelRef(adapter.name, name)) if name else None

    async def _puller_for(self, provider: str) -> Puller:
        adapter = await self.router.provider(provider)
        puller(adapter)
        settings = self.providers.get(adapter.name)
        return Puller(
            name=adapter.name,
            pulling=partial(pulling, adapter),
            continues_alone=settings is None or settings.kind != STOPS_WHEN_LEFT,
        )

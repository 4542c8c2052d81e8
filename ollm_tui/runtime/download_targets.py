"""Where a model can be downloaded to: the library of this machine, and servers that pull."""

from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from ollm_tui.config.schema import AppConfig
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.ports import SupportsPull
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry

TIMEOUT_S = 1.5
"""How long servers may take to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadTarget:
    """One target; the library of this machine has no provider."""

    label: str
    provider: str | None = None
    folder: Path | None = None
    """Where files land, where that is this machine's and known."""
    free: int | None = None
    """Free bytes there."""
    takes_hub: bool = False
    """Whether it also pulls `hf.co/owner/name:QUANT`."""


class DownloadTargets:
    """Finds where models can be downloaded to, anew in every call."""

    def __init__(
        self, registry: ProviderRegistry, catalog: ModelCatalog, config: AppConfig, folder: Path
    ) -> None:
        """Look among these providers; `folder` is that of the library."""
        self._registry = registry
        self._catalog = catalog
        self._config = config
        self._folder = folder

    async def __call__(self) -> Sequence[DownloadTarget]:
        """Return the library, then the servers that answer and can pull, in order of priority."""
        free = await anyio.to_thread.run_sync(room_in, self._folder)
        targets = [DownloadTarget(label="this machine", folder=self._folder, free=free)]
        for listing in await self._catalog.refresh(within_s=TIMEOUT_S, services=False):
            adapter = self._registry.get(listing.provider)
            if listing.problem is None and not listing.absent and isinstance(adapter, SupportsPull):
                targets.append(
                    DownloadTarget(
                        label=listing.label,
                        provider=listing.provider,
                        takes_hub=self._is_ollama(listing.provider),
                    )
                )
        return targets

    def _is_ollama(self, provider: str) -> bool:
        settings = self._config.providers.get(provider)
        if settings is not None:
            return settings.kind == "ollama"
        # an engine that is not configured; its adapter is imported only where it was found
        from ollm_tui.providers.ollama import OllamaProvider

        return isinstance(self._registry.get(provider), OllamaProvider)


def room_in(folder: Path) -> int | None:
    """Return what is free where a folder is, or will be; None where that cannot be found out."""
    # Loaded only for downloads.
    from ollm_tui.library.downloads.file_io import free_bytes

    for place in (folder, *folder.parents):
        try:
            return free_bytes(place)
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None

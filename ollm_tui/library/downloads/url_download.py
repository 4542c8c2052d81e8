"""One file at an address, downloaded to the models' folder under its own name."""

import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import anyio.to_thread

from ollm_tui.library.downloads.downloader import AddressOf, Report
from ollm_tui.library.downloads.job import UrlFile
from ollm_tui.library.downloads.part_file import matches_record, remove_record
from ollm_tui.library.downloads.safe_paths import checked_path
from ollm_tui.library.downloads.transfer import remove_files, transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.library.file_names import is_gguf
from ollm_tui.library.gguf import gguf_problem
from ollm_tui.library.hub.repo import Hub
from ollm_tui.library.provenance import Provenance, write_provenance
from ollm_tui.library.urls import split_web, without_secrets
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher


@dataclass(frozen=True, slots=True)
class UrlDownload:
    """Downloads a `UrlFile`; `hub` provides the token for addresses of its own."""

    origin: UrlFile
    hub: Hub
    fetcher: Fetcher
    root: Path
    address_of: AddressOf
    pause_note = ""

    async def title(self) -> str:
        """Return the file's name.

        Raises:
            AIError: it is no address of a file, or the name is refused.
        """
        return (await anyio.to_thread.run_sync(self._target)).name

    async def run(self, report: Report) -> str | None:
        """Download the file; one that is named like a GGUF file and is none is deleted."""
        target = await anyio.to_thread.run_sync(self._target)
        url = self.origin.url
        source = FileSource(url=url, sha256=self.origin.sha256, token=self.hub.token_for(url))
        await transfer(self.fetcher, source, target, report=report, keeps_record=True)
        await anyio.to_thread.run_sync(self._accept, target)
        return await self.address_of(target) if is_gguf(target) else None

    async def discard(self) -> None:
        """Delete what arrived; a file of that name from elsewhere stays."""
        await remove_files([await anyio.to_thread.run_sync(self._target)], self.root)

    def _target(self) -> Path:
        parts = split_web(self.origin.url)
        name = "" if parts is None else unquote(parts.path.rpartition("/")[2])
        if not name:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "This is not the address of a file.",
                hint="Write it like https://example.com/model.gguf.",
            )
        if "/" in name:
            raise AIError(ErrorCode.BAD_REQUEST, "The name at the end of the address is refused.")
        return checked_path(self.root, name)

    def _accept(self, target: Path) -> None:
        problem = gguf_problem(target)
        if problem is not None:
            if matches_record(target):  # else it is not the downloaded one
                target.unlink(missing_ok=True)
            remove_record(target)
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"What came is not a usable GGUF file: {problem}.",
                hint="Look whether the address is that of the file itself, and not of a page.",
            )
        place = without_secrets(self.origin.url)
        provenance = Provenance(place=place, files=(target.name,), fetched_at=time.time())
        write_provenance(target, provenance)
        remove_record(target)

"""Files from the web: those of a variant in a hub's repository, or one at any address.

Those of a repository go to `owner--name` below the models' folder, under the paths they have there;
a single file goes to the models' folder under its own name.
"""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import anyio.to_thread

from ollm_tui.config.paths import private_folder
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.downloader import AddressOf, Progress, Report
from ollm_tui.library.downloads.file_io import Environment, FileIO
from ollm_tui.library.downloads.job import HubFiles, UrlFile
from ollm_tui.library.downloads.part_file import matches_record, remove_record, resumable_bytes
from ollm_tui.library.downloads.safe_paths import checked_path, refuse_collisions
from ollm_tui.library.downloads.transfer import remove_files, transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.library.file_names import has_picture_suffix, is_gguf
from ollm_tui.library.gguf import gguf_problem
from ollm_tui.library.hub.faults import file_refused
from ollm_tui.library.hub.repo import Hub, HubFile
from ollm_tui.library.provenance import Provenance, write_provenance
from ollm_tui.library.urls import split_web, without_secrets
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher

MAX_FILES: Final = 1000
_CLOSED: Final = frozenset({401, 403})
"""Status codes of a file that must not be read without permission."""


@dataclass(frozen=True, slots=True)
class HubDownload:
    """Downloads `HubFiles`."""

    origin: HubFiles
    hub: Hub
    fetcher: Fetcher
    root: Path
    address_of: AddressOf
    environment: Environment = field(default_factory=Environment)
    pause_note = ""

    async def title(self) -> str:
        """Return the variant's name."""
        await anyio.to_thread.run_sync(self._targets)
        return self.origin.name

    async def run(self, report: Report) -> str | None:
        """Download one file after the other, each from where it stopped."""
        targets = await anyio.to_thread.run_sync(self._targets)
        present = await anyio.to_thread.run_sync(_present, self.origin.files, targets)
        await self._require_space(targets[0], present)
        total = _TotalProgress([file.size for file in self.origin.files], present, report)
        for number, (file, target) in enumerate(zip(self.origin.files, targets, strict=True)):
            url = self.hub.file_url(self.origin.repo, self.origin.revision, file.path)
            source = FileSource(
                url=url, size=file.size, sha256=file.sha256, token=self.hub.token_for(url)
            )
            take = partial(total.take, number)
            try:
                await transfer(self.fetcher, source, target, report=take, keeps_record=True)
            except AIError as error:
                if error.status not in _CLOSED:
                    raise
                raise file_refused(
                    self.hub.address, self.origin.repo, error, source.token
                ) from error
        await anyio.to_thread.run_sync(self._finish, targets)
        is_known = is_gguf(targets[0]) or has_picture_suffix(targets[0])
        is_model = self.origin.kind in ("model", "drawing") and is_known
        return await self.address_of(targets[0]) if is_model else None

    async def _require_space(self, first: Path, present: Sequence[int]) -> None:
        """Require space for all files of known size, so that no part is downloaded in vain."""
        sizes = [file.size or 0 for file in self.origin.files]
        missing = sum(max(0, size - done) for size, done in zip(sizes, present, strict=True))
        disk = FileIO(first, self.environment)
        await disk.run(private_folder, first.parent)
        await disk.require_space(missing)

    async def discard(self) -> None:
        """Delete what arrived."""
        targets = await anyio.to_thread.run_sync(self._targets)
        await remove_files(targets, self.root)

    def _finish(self, targets: Sequence[Path]) -> None:
        missing = next((target for target in targets if not target.is_file()), None)
        if missing is not None:
            raise AIError(
                ErrorCode.CONFLICT,
                f"{clean_name(missing.name)} was removed while the rest was being downloaded.",
                hint="Resume to download it again, or cancel it.",
            )
        provenance = Provenance(
            place=self.origin.repo,
            revision=self.origin.revision,
            licence=self.origin.licence,
            kind=self.origin.kind,
            files=tuple(target.name for target in targets),
            fetched_at=time.time(),
        )
        write_provenance(targets[0], provenance)
        for target in targets:
            remove_record(target)

    def _targets(self) -> list[Path]:
        owner, slash, name = self.origin.repo.partition("/")
        files = self.origin.files
        if not (slash and files) or len(files) > MAX_FILES:
            raise AIError(ErrorCode.BAD_REQUEST, "There is nothing to download.")
        refuse_collisions(file.path for file in files)
        return [checked_path(self.root, f"{owner}--{name}/{file.path}") for file in files]


@dataclass(frozen=True, slots=True)
class _TotalProgress:
    """The progress of all files together."""

    sizes: list[int | None]
    present: list[int]
    report: Report

    def take(self, at: int, step: Progress) -> None:
        """Report the progress of one file as part of the whole."""
        self.present[at] = step.completed
        self.sizes[at] = self.sizes[at] if self.sizes[at] is not None else step.total
        sizes = [size for size in self.sizes if size is not None]
        is_known = len(sizes) == len(self.sizes)
        # A file begins with a jump, but a later one of which nothing was there just goes on.
        goes_on = at > 0 and not step.completed and not step.note
        position = f"file {at + 1} of {len(self.sizes)}" if len(self.sizes) > 1 else ""
        self.report(
            Progress(
                completed=sum(self.present),
                total=sum(sizes) if is_known else None,
                note=", ".join(part for part in (step.note, position) if part),
                is_jump=step.is_jump and not goes_on,
            )
        )


def _present(files: Sequence[HubFile], targets: Sequence[Path]) -> list[int]:
    sizes = []
    for file, target in zip(files, targets, strict=True):
        is_whole = target.is_file() and target.stat().st_size == file.size
        sizes.append(file.size or 0 if is_whole else resumable_bytes(target))
    return sizes


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
        """Return the file's name."""
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
                f"The downloaded file is not a usable GGUF file: {problem}.",
                hint="Check that the address is that of the file itself, not of a page.",
            )
        place = without_secrets(self.origin.url)
        provenance = Provenance(place=place, files=(target.name,), fetched_at=time.time())
        write_provenance(target, provenance)
        remove_record(target)

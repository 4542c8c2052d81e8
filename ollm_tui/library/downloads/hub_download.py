"""All files of a variant in a hub's repository, as one download.

They go to `owner--name` below the models' folder, under the paths they have in the repository.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio.to_thread

from ollm_tui.config.paths import private_folder
from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.downloader import AddressOf, Progress, Report
from ollm_tui.library.downloads.file_io import Environment, FileIO
from ollm_tui.library.downloads.job import HubFiles
from ollm_tui.library.downloads.part_file import remove_record, resumable_bytes
from ollm_tui.library.downloads.safe_paths import checked_path, refuse_collisions
from ollm_tui.library.downloads.transfer import remove_files, transfer
from ollm_tui.library.downloads.transfer_run import FileSource, TransferProgress
from ollm_tui.library.file_names import is_gguf
from ollm_tui.library.hub.faults import file_refused
from ollm_tui.library.hub.repo import Hub, HubFile
from ollm_tui.library.provenance import Provenance, write_provenance
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher

MAX_FILES: Final = 1000
_CLOSED: Final = frozenset({401, 403})
"""Status codes of a file that must not be read without permission."""


class HubDownload:
    """Downloads `HubFiles`."""

    pause_note = ""

    def __init__(
        self,
        origin: HubFiles,
        hub: Hub,
        fetcher: Fetcher,
        root: Path,
        address_of: AddressOf,
        environment: Environment | None = None,
    ) -> None:
        self._origin = origin
        self._hub = hub
        self._fetcher = fetcher
        self._root = root
        self._address_of = address_of
        self._environment = environment or Environment()

    async def title(self) -> str:
        """Return the variant's name.

        Raises:
            AIError: a name is refused.
        """
        await anyio.to_thread.run_sync(self._targets)
        return self._origin.name

    async def run(self, report: Report) -> str | None:
        """Download one file after the other, each from where it stopped."""
        targets = await anyio.to_thread.run_sync(self._targets)
        present = await anyio.to_thread.run_sync(_present, self._origin.files, targets)
        await self._require_space(targets[0], present)
        total = _TotalProgress(self._origin.files, present, report)
        for number, (file, target) in enumerate(zip(self._origin.files, targets, strict=True)):
            url = self._hub.file_url(self._origin.repo, self._origin.revision, file.path)
            source = FileSource(
                url=url, size=file.size, sha256=file.sha256, token=self._hub.token_for(url)
            )
            total.begin(number)
            try:
                await transfer(self._fetcher, source, target, report=total.take, keeps_record=True)
            except AIError as error:
                if error.status not in _CLOSED:
                    raise
                raise file_refused(
                    self._hub.address, self._origin.repo, error, source.token
                ) from error
        await anyio.to_thread.run_sync(self._finish, targets)
        is_model = self._origin.kind == "model" and is_gguf(targets[0])
        return await self._address_of(targets[0]) if is_model else None

    async def _require_space(self, first: Path, present: Sequence[int]) -> None:
        """Require space for all files, so that no part is downloaded in vain.

        Raises:
            AIError: there is not enough; files of unknown size are checked when their turn comes.
        """
        sizes = [file.size or 0 for file in self._origin.files]
        missing = sum(max(0, size - done) for size, done in zip(sizes, present, strict=True))
        disk = FileIO(first, self._environment)
        await disk.run(private_folder, first.parent)
        await disk.require_space(missing)

    async def discard(self) -> None:
        """Delete what arrived."""
        targets = await anyio.to_thread.run_sync(self._targets)
        await remove_files(targets, self._root)

    def _finish(self, targets: Sequence[Path]) -> None:
        """Write down where the files are from.

        Raises:
            AIError: a file was removed while the others were downloaded.
        """
        missing = next((target for target in targets if not target.is_file()), None)
        if missing is not None:
            raise AIError(
                ErrorCode.CONFLICT,
                f"{clean_name(missing.name)} was removed while the rest came.",
                hint="Resume to download it again, or cancel it.",
            )
        write_provenance(targets[0], self._provenance(targets))
        for target in targets:
            remove_record(target)

    def _targets(self) -> list[Path]:
        owner, slash, name = self._origin.repo.partition("/")
        files = self._origin.files
        if not (slash and files) or len(files) > MAX_FILES:
            raise AIError(ErrorCode.BAD_REQUEST, "There is nothing to download.")
        refuse_collisions(file.path for file in files)
        return [checked_path(self._root, f"{owner}--{name}/{file.path}") for file in files]

    def _provenance(self, targets: Sequence[Path]) -> Provenance:
        return Provenance(
            place=self._origin.repo,
            revision=self._origin.revision,
            licence=self._origin.licence,
            kind=self._origin.kind,
            files=tuple(target.name for target in targets),
            fetched_at=time.time(),
        )


class _TotalProgress:
    """The progress of all files together."""

    def __init__(self, files: Sequence[HubFile], present: list[int], report: Report) -> None:
        self._sizes = [file.size for file in files]
        self._present = present
        self._report = report
        self._current = 0
        self._has_begun = False

    def begin(self, number: int) -> None:
        """Continue with the file of that number, from 0."""
        self._current, self._has_begun = number, False

    def take(self, step: TransferProgress) -> None:
        """Report the progress of that file as part of the whole."""
        at = self._current
        self._present[at] = step.completed
        self._sizes[at] = self._sizes[at] if self._sizes[at] is not None else step.total
        sizes = [size for size in self._sizes if size is not None]
        is_known = len(sizes) == len(self._sizes)
        position = f"file {at + 1} of {len(self._sizes)}" if len(self._sizes) > 1 else ""
        self._report(
            Progress(
                completed=sum(self._present),
                total=sum(sizes) if is_known else None,
                note=", ".join(part for part in (step.note, position) if part),
                is_jump=not self._has_begun or step.is_waiting,
            )
        )
        self._has_begun = True


def _present(files: Sequence[HubFile], targets: Sequence[Path]) -> list[int]:
    """Return the bytes of each file that are present already."""
    sizes = []
    for file, target in zip(files, targets, strict=True):
        is_whole = target.is_file() and target.stat().st_size == file.size
        sizes.append(file.size or 0 if is_whole else resumable_bytes(target))
    return sizes

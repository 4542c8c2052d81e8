"""A fetcher, a folder and a diary for the tests of transfers."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.file_io import Environment
from ollm_tui.library.downloads.transfer import transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.fetcher import FetchClocks, HttpFetcher
from tests.library.downloads.file_host import FileHost
from tests.support.http_server import Server, serve

QUICK = FetchClocks(connect_s=5, first_byte_s=5, idle_s=5)
IMPATIENT = FetchClocks(connect_s=5, first_byte_s=5, idle_s=0.05)


@dataclass
class Bench:
    """One server with one file, and a place for it."""

    host: FileHost
    server: Server
    fetcher: HttpFetcher
    target: Path
    steps: list[Progress] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What was told, each once in a row."""
        notes = [step.note for step in self.steps]
        return [note for at, note in enumerate(notes) if not at or notes[at - 1] != note]

    def source(self, **more: object) -> FileSource:
        known = {"url": f"{self.server.url}/m.gguf", "sha256": self.host.sum} | more
        return FileSource(**known)  # type: ignore[arg-type]

    def around(self, **more: object) -> Environment:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        return Environment(**({"sleep": sleep} | more))  # type: ignore[arg-type]

    async def fetch(self, source: FileSource | None = None, **around: object) -> Path:
        return await transfer(
            self.fetcher,
            source or self.source(),
            self.target,
            report=self.steps.append,
            environment=self.around(**around),
        )

    async def trouble(self, source: FileSource | None = None, **around: object) -> AIError:
        try:
            await self.fetch(source, **around)
        except AIError as error:
            return error
        raise AssertionError("it came")

    def left(self) -> set[str]:
        """Give the names of all that lies in the folder."""
        folder = self.target.parent
        return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


@asynccontextmanager
async def bench(folder: Path, host: FileHost, clocks: FetchClocks = QUICK) -> AsyncIterator[Bench]:
    async with serve(host) as server, aclosing(HttpFetcher(clocks)) as fetcher:
        yield Bench(host, server, fetcher, folder / "models" / "m.gguf")

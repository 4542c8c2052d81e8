"""Downloads whose every step a test decides."""

from dataclasses import dataclass, field

import anyio

from ollm_tui.library.downloads.downloader import Progress, Report
from ollm_tui.library.downloads.job import Origin, ProviderPull
from ollm_tui.protocol.errors import AIError


@dataclass
class Puppet:
    """What happens with one origin, over all its runs."""

    name: str
    runs: int = 0
    running: int = 0
    discarded: int = 0
    refusal: AIError | None = None
    pause_note: str = ""
    closing: anyio.Event | None = None
    """Leaving waits for this."""
    started: anyio.Event = field(default_factory=anyio.Event)
    report: Report | None = None
    _endings: list[str | Exception | None] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    async def title(self) -> str:
        if self.refusal is not None:
            raise self.refusal
        return f"the {self.name}"

    async def run(self, report: Report) -> str | None:
        assert self.running == 0, "two run at once at one place"
        self.running, self.runs = 1, self.runs + 1
        self.report = report
        self.started.set()
        try:
            while not self._endings:
                self._news = anyio.Event()
                await self._news.wait()
            ending = self._endings.pop(0)
        finally:
            if self.closing is not None:
                with anyio.CancelScope(shield=True):
                    await self.closing.wait()
            self.running = 0
            self.started = anyio.Event()
        if isinstance(ending, Exception):
            raise ending
        return ending

    async def discard(self) -> None:
        assert self.running == 0
        self.discarded += 1

    @property
    def has_orders(self) -> bool:
        """Whether an ending was ordered that has not come yet."""
        return bool(self._endings)

    def tell(
        self, completed: int, total: int | None = None, note: str = "", *, is_jump: bool = False
    ) -> None:
        assert self.report is not None
        self.report(Progress(completed=completed, total=total, note=note, is_jump=is_jump))

    def end(self, ending: str | Exception | None = None) -> None:
        self._endings.append(ending)
        self._news.set()


class Puppets:
    """The works of a queue, by the model of their pulls."""

    def __init__(self) -> None:
        self.all: dict[str, Puppet] = {}

    def __getitem__(self, name: str) -> Puppet:
        return self.all.setdefault(name, Puppet(name))

    def __call__(self, origin: Origin) -> Puppet:
        assert isinstance(origin, ProviderPull)
        return self[origin.model]

    @property
    def running(self) -> list[str]:
        return [name for name, puppet in self.all.items() if puppet.running]


def pull(name: str) -> ProviderPull:
    return ProviderPull(provider="local", model=name)

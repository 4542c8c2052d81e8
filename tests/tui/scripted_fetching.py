"""A hub, a registry and a queue of downloads that a test moves by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
from pydantic import TypeAdapter

from ollm_tui.library.downloads.job import Job, Origin, ProviderPull, UrlFile
from ollm_tui.library.downloads.job_folder import JobFolder
from ollm_tui.library.downloads.job_index import JobIndex
from ollm_tui.library.downloads.queue import DownloadQueue
from ollm_tui.library.hub.repo import HubFile, HubModel, HubRepo
from ollm_tui.library.hub.variants import variants_of
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import UserRecords
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.download_targets import DownloadTarget
from tests.support.stored import stored

GB = 1_000_000_000
MACHINE = Machine(
    ram_total=32 * GB, ram_free=24 * GB, gpus=(Gpu(name="GPU", total=8 * GB, free=7_600_000_000),)
)
LIBRARY = DownloadTarget(label="this machine", folder=Path("/models"), free=212 * GB)
OLLAMA = DownloadTarget(label="Ollama", provider="local", takes_hub=True)

_STORED = stored("models.json")
_READ = TypeAdapter(tuple[RegistryEntry, ...]).validate_python
BUILT_IN, OF_HUB = _READ(_STORED["built_in"]), _READ(_STORED["of_hub"])
QWEN = BUILT_IN[0]
REPOS = tuple(
    HubRepo(
        model=HubModel(**one["model"]),
        revision=one["revision"],
        variants=variants_of(
            [
                HubFile(path=f"{name}.gguf", size=size, sha256="0" * 64)
                for name, size in one["sizes"].items()
            ]
        ),
    )
    for one in _STORED["repos"]
)
QWEN_REPO = REPOS[0]
HUB_DOWN = AIError(
    ErrorCode.SERVICE_UNAVAILABLE,
    "huggingface.co does not answer.",
    hint="Look at the network, or set HF_ENDPOINT.",
)


@dataclass
class ScriptedHub:
    """Answers with these repositories; `gate` holds its answers back."""

    repos: Sequence[HubRepo] = REPOS
    address: str = "huggingface.co"
    problem: AIError | None = None
    gate: anyio.Event | None = None
    asked: list[str] = field(default_factory=list)

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        return [repo.model for repo in self.repos]

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        self.asked.append(repo)
        if self.gate is not None:
            await self.gate.wait()
        if self.problem is not None:
            raise self.problem
        known = {one.model.repo: one for one in self.repos}
        if repo in known:
            return known[repo]
        raise AIError(ErrorCode.MODEL_NOT_FOUND, f"huggingface.co has no {repo}.")

    def file_url(self, repo: str, revision: str, path: str) -> str:
        return f"https://huggingface.co/{repo}/resolve/{revision}/{path}"

    def token_for(self, url: str) -> str | None:
        return None


@dataclass(eq=False)
class ScriptedRegistry(ModelRegistry):
    """Knows these models; what the hub says beside comes when its gate is open."""

    entries: Sequence[RegistryEntry] = BUILT_IN
    of_hub: Sequence[RegistryEntry] = OF_HUB
    problem: AIError | None = None
    gates: dict[str, anyio.Event] = field(default_factory=dict)
    """By the words asked for."""
    asked: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(opinions_file=Path(), hub_file=Path())
        self._take((self.entries, {}, UserRecords()))

    async def search_hub(self, text: str, *, limit: int = 30) -> Sequence[RegistryEntry]:
        self.asked.append(text)
        if text in self.gates:
            await self.gates[text].wait()
        self.answered.append(text)
        if self.problem is not None:
            raise self.problem
        return [*self.search(text), *self.of_hub]

    async def rate(self, entry_id: str, stars: int | None) -> RegistryEntry:
        rated = next(entry for entry in self.entries if entry.id == entry_id)
        if self.problem is not None:
            raise self.problem
        new = replace(rated, rating=stars)
        self.entries = [new if entry is rated else entry for entry in self.entries]
        self._take((self.entries, {}, UserRecords()))
        return new

    async def note_use(self, ref: ModelRef) -> None:
        self.uses.append(str(ref))


class ScriptedDownloads(DownloadQueue):
    """The queue, in which nothing happens but what a test does."""

    def __init__(self, *jobs: Job) -> None:
        self._index = JobIndex(JobFolder(Path()), lambda _job: None)
        self._is_open = anyio.Event()
        self.done: list[tuple[str, str]] = []
        self.refuses: AIError | None = None
        for job in jobs:
            self.put(job)

    @property
    def origins(self) -> list[Origin]:
        return [job.origin for job in self.jobs()]

    async def loaded_jobs(self) -> Sequence[Job]:
        return self.jobs()

    async def add(self, origin: Origin) -> Job:
        if self.refuses is not None:
            raise self.refuses
        job = Job(id=f"job-{len(self.jobs()) + 1}", origin=origin, title=title_of(origin))
        self.put(job)
        return job

    def put(self, job: Job) -> None:
        """Let a job be there, or be as given, and tell it."""
        if (entry := self._index.get(job.id)) is not None:
            self._index.update(entry, job)
        else:
            self._index.add(job)

    async def pause(self, job_id: str) -> None:
        self._turn("pause", job_id, state="paused")

    async def resume(self, job_id: str) -> None:
        self._turn("resume", job_id, state="queued", error=None)

    async def cancel(self, job_id: str) -> None:
        self._turn("cancel", job_id, state="cancelled")

    async def dismiss(self, job_id: str) -> None:
        self.done.append(("dismiss", job_id))
        self._index._entries.pop(job_id)

    def _turn(self, action: str, job_id: str, **changes: object) -> None:
        self.done.append((action, job_id))
        if self.refuses is not None:
            raise self.refuses
        (job,) = (job for job in self.jobs() if job.id == job_id)
        self.put(replace(job, **changes))  # type: ignore[arg-type]  # by field names

    @property
    def readers(self) -> int:
        return len(self._index.watchers._all)


def title_of(origin: Origin) -> str:
    match origin:
        case ProviderPull():
            return origin.model
        case UrlFile():
            return origin.url
        case _:
            return getattr(origin, "name", "something")


async def no_pause(_seconds: float) -> None:
    await anyio.sleep(0)


class Pauses:
    """Lets every pause last until it is ended."""

    def __init__(self) -> None:
        self._end = anyio.Event()
        self.begun: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.begun.append(seconds)
        await self._end.wait()

    def end(self) -> None:
        """End those that have begun."""
        self._end.set()
        self._end = anyio.Event()

"""Finding models and downloading them: the search, the files, the downloads, as numbered lists."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.download_news import (
    MAX_LENGTH,
    DownloadNews,
    done_words,
    failed_words,
    progress_words,
    title_of,
)
from ollm_tui.frontend.model_offers import Chosen, Offer, VariantRow, origins_of, remark_on, rows_of
from ollm_tui.frontend.model_search import (
    EntryRow,
    FindRow,
    ModelFits,
    ModelSearch,
    OriginRow,
    purposes_text,
)
from ollm_tui.library.address import format_address
from ollm_tui.library.downloads.job import ENDED, Job, Origin, ProviderPull
from ollm_tui.library.fit import Verdict
from ollm_tui.library.hub.variants import projector_of
from ollm_tui.linear.chat import LinearChat
from ollm_tui.protocol.model import ModelRef

if TYPE_CHECKING:
    from ollm_tui.library.downloads.queue import DownloadQueue
    from ollm_tui.library.hub.repo import HubRepo
    from ollm_tui.runtime.download_targets import DownloadTarget

STEP: Final = 25
"""Percent from one sentence about a running download to the next."""
_FIND: Final = "Find a model"
_FITS: Final[Mapping[Verdict, str]] = {
    "gpu": "fits the graphics card",
    "partly": "partly on the graphics card",
    "cpu": "runs on the CPU",
    "no": "too large for this machine",
    "unknown": "",
}


class Downloads:
    """What `/pull` does; downloads go on while the chat does, and after a restart."""

    def __init__(self, chat: LinearChat) -> None:
        self._chat = chat
        self._news = DownloadNews()
        self._steps: dict[str, int] = {}
        """The last step that was mentioned of each running download."""
        self._is_watching = False

    async def show(self, text: str = "") -> None:
        """List the downloads, or find what a text names."""
        if text.strip():
            await self._find(text.strip())
        elif await self._chat.runtime.has_downloads():
            await self._list()
        else:
            typed = await self._chat.questions.line("No downloads yet. Model to find: ")
            if typed and typed.strip():
                await self._find(typed.strip())

    # The downloads

    async def _queue(self) -> "DownloadQueue":
        await self._chat.runtime.load_fetching()
        return self._chat.runtime.downloads

    async def _list(self) -> None:
        queue = await self._queue()
        jobs, name = list(await queue.loaded_jobs()), self._chat.runtime.catalog.shown_name
        rows = [f"{title_of(one, name)}, {progress_words(one)}" for one in jobs]
        at = await self._chat.questions.choose("Downloads", [*rows, _FIND])
        if at is None:
            return
        if at == len(jobs):
            typed = await self._chat.questions.line("Model to find: ")
            if typed and typed.strip():
                await self._find(typed.strip())
            return
        job = jobs[at]
        if job.error is not None:
            words, advice = failed_words(job, name)
            self._chat.say(words, "error", advice or None)
        acts = _acts(job)
        chosen = await self._chat.questions.choose(
            f"What to do with {title_of(job, name)}", list(acts)
        )
        if chosen is not None:
            await self._act(queue, job, acts[list(acts)[chosen]])

    async def _act(self, queue: "DownloadQueue", job: Job, act: str) -> None:
        if act == "chat":
            await self._chat.use_model(job.model or "")
            return
        sure = "Cancel it? The part downloaded so far is deleted; stopping keeps it."
        if act == "cancel" and job.completed and not await self._chat.questions.is_sure(sure):
            self._chat.say("It goes on.")
            return
        done: dict[str, tuple[Callable[[], Awaitable[object]], str]] = {
            "pause": (lambda: queue.pause(job.id), "Stopped. /pull continues it."),
            "resume": (lambda: queue.resume(job.id), "It continues."),
            "retry": (lambda: queue.add(job.origin), "It begins again."),
            "cancel": (lambda: queue.cancel(job.id), "Cancelled."),
            "dismiss": (lambda: queue.dismiss(job.id), "Removed from the list."),
        }
        change, words = done[act]
        await change()
        self._chat.say(words)
        self.watch()

    def watch(self) -> None:
        """Follow the downloads in the background for as long as one is queued or running."""
        if not self._is_watching:
            self._is_watching = True
            self._chat.begin(self._watch())

    async def follow_earlier(self) -> None:
        """Follow what an earlier run has left queued or running."""
        if await self._chat.runtime.has_downloads():
            self.watch()

    async def _watch(self) -> None:
        try:
            queue = await self._queue()
            jobs = await queue.loaded_jobs()
            async with queue.changes() as changes:
                await self._tell(jobs)
                while any(job.state in {"queued", "running"} for job in jobs):
                    if await anext(changes, None) is None:
                        return  # the chat ends
                    jobs = queue.jobs()
                    await self._tell(jobs)
        finally:
            self._is_watching = False

    async def _tell(self, jobs: Sequence[Job]) -> None:
        name = self._chat.runtime.catalog.shown_name
        for job in self._news.take(jobs):
            if job.state == "done":
                await self._tell_done(job)
            elif job.state == "failed":
                words, advice = failed_words(job, name)
                self._chat.say(words, "error", f"{advice} /pull lists the downloads.".strip())
        for job in jobs:
            step = int(100 * (job.fraction or 0)) // STEP
            if job.state == "running" and 0 < step < 100 // STEP and not job.is_elsewhere:
                if self._steps.get(job.id, 0) < step:
                    self._chat.say(f"{title_of(job, name)}, {progress_words(job)}.")
                self._steps[job.id] = step

    async def _tell_done(self, job: Job) -> None:
        runtime, ref = self._chat.runtime, ModelRef.parse(job.model or "")
        hint = None
        if ref is not None:
            await runtime.model_info(ref)
            address = runtime.catalog.shown_address(ref)
            hint = f"/model {clean_name(address[:MAX_LENGTH])} to chat with it."
        self._chat.say(done_words(job, runtime.catalog.shown_name), hint=hint)

    # Finding

    async def _find(self, text: str) -> None:
        runtime = self._chat.runtime
        self._chat.say("Searching.")
        await runtime.load_fetching()
        await runtime.model_registry.prepare()
        search = ModelSearch(runtime.model_registry, runtime.hub.address)
        search.type(text)
        search.fits = ModelFits(await runtime.machine())
        search.targets = await runtime.download_targets()
        if search.refusal:
            self._chat.say(search.refusal, "error")
            return
        if search.hub_words:
            await search.ask_hub()
        if search.hub_error is not None:
            self._chat.say(
                str(search.hub_error), "warning", "Only what is known without the hub follows."
            )
        rows = [row for group in search.groups() for row in group.rows]
        if not rows:
            self._chat.say("No models match.")
            return
        at = await self._chat.questions.choose("Models to download", [*map(_row, rows)])
        if at is not None:
            await self._take(rows[at], search)

    async def _take(self, row: FindRow, search: ModelSearch) -> None:
        """Download what a row stands for, after the choice of a file if it has several."""
        targets = tuple(search.targets)
        if isinstance(row, OriginRow):
            await self._download((row.origin,))
        elif isinstance(row, EntryRow):
            await self._take_entry(row, targets, search.fits)
        else:
            address = row.address
            offer = Offer(
                repo=address.repo,
                revision=address.revision,
                quantization=address.quantization,
                path=address.path,
                targets=targets,
            )
            await self._choose_file(offer, search.fits)

    async def _take_entry(
        self, row: EntryRow, targets: "tuple[DownloadTarget, ...]", fits: ModelFits
    ) -> None:
        entry = row.entry
        repo, ollama = entry.origins.get("huggingface"), entry.origins.get("ollama")
        servers = [target.provider for target in targets if target.takes_hub and target.provider]
        if repo is not None:
            await self._choose_file(Offer(repo=repo, entry=entry, targets=targets), fits)
        elif ollama is not None and servers:
            await self._download((ProviderPull(provider=servers[0], model=ollama),))
        elif entry.installed:
            await self._chat.use_model(str(entry.installed[0]))
        else:
            self._chat.say("No source of it can be used here.", "error")

    async def _choose_file(self, offer: Offer, fits: ModelFits) -> None:
        """Ask which file of a repository, and where to, then download it."""
        hub = self._chat.runtime.hub
        repo = await hub.repo(offer.repo, revision=offer.revision)
        places = [one for one in offer.targets if one.provider is None]
        rows = [one for one in rows_of(offer, repo, replace(fits)) if _can_be_had(one)]
        if not rows or not places:
            self._chat.say(f"{clean_name(offer.repo)} contains no model files.", "error")
            return
        named = [
            one
            for one in rows
            if (offer.path is not None and one.has(offer.path))
            or (offer.quantization or "").lower() == (one.quantization or "-").lower()
        ]
        if len(named or rows) > 1:
            listed = named or rows
            at = await self._chat.questions.choose(
                f"Files of {clean_name(offer.repo)}", [*map(_file_row, listed)]
            )
            if at is None:
                return
            row = listed[at]
        else:
            row = (named or rows)[0]
        projector = projector_of(repo) if row.variant and row.variant.kind == "model" else None
        chosen = Chosen(row=row, target=places[0], projector=projector)
        self._say_terms(repo)
        await self._download(origins_of(offer, repo, chosen))

    def _say_terms(self, repo: "HubRepo") -> None:
        if repo.model.licence is not None:
            self._chat.say(f"Its licence is {clean_line(repo.model.licence)}.")

    async def _download(self, origins: Sequence[Origin]) -> None:
        queue = await self._queue()
        name = self._chat.runtime.catalog.shown_name
        for origin in origins:
            job = await queue.add(origin)
            self._steps.pop(job.id, None)
            self._chat.say(
                f"Downloading {title_of(job, name)}.", hint="/pull lists, stops and continues."
            )
        self.watch()


def _acts(job: Job) -> dict[str, str]:
    """Return what can be done with a download, in words."""
    if job.is_elsewhere:
        return {}
    acts = {
        "Chat with it": "chat" if job.state == "done" and job.model else "",
        "Stop it, and keep what arrived": "pause" if job.state in {"queued", "running"} else "",
        "Continue it": "resume" if job.state in {"paused", "failed"} else "",
        "Begin again": "retry" if job.state == "cancelled" else "",
        "Cancel it": "cancel" if job.state not in {"done", "cancelled"} else "",
        "Remove it from this list": "dismiss" if job.state in ENDED else "",
    }
    return {words: act for words, act in acts.items() if act}


def _row(row: FindRow) -> str:
    if isinstance(row, OriginRow):
        return f"{clean_name(row.title[:MAX_LENGTH])}, {clean_line(row.about[:MAX_LENGTH])}"
    if not isinstance(row, EntryRow):
        return f"{clean_name(format_address(row.address))}, choose a file of it"
    entry, best = row.entry, row.best
    facts = (
        clean_name(entry.name[:MAX_LENGTH]),
        "installed" if entry.installed else "",
        f"about {size_text(best.size)}" if best is not None else "",
        _FITS[row.fit.verdict] if row.fit is not None else "",
        f"good for {purposes_text(entry)}" if entry.purposes else "",
    )
    return ", ".join(filter(None, facts))


def _can_be_had(row: VariantRow) -> bool:
    return row.variant is not None and row.variant.problem is None


def _file_row(row: VariantRow) -> str:
    facts = (
        clean_name(row.label[:MAX_LENGTH]),
        size_text(row.size) if row.size else "",
        _FITS[row.fit.verdict] if row.fit is not None else "",
        remark_on(row),
    )
    return ", ".join(filter(None, facts))

"""Pulls by a provider's server: its lines are the progress, its words the failure."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.job import ProviderPull
from ollm_tui.library.downloads.pull_download import MAY_CONTINUE, PullDownload, Puller
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import PullProgress

WORDS = "pull model manifest: file does not exist"


class Server:
    """What a server says of one pull."""

    def __init__(self, *lines: PullProgress | AIError, goes_on: bool = False) -> None:
        self._lines = lines
        self.goes_on = goes_on
        self.open = 0
        self.reached_end = anyio.Event()

    @asynccontextmanager
    async def pulling(self, model: str) -> AsyncIterator[AsyncIterator[PullProgress]]:
        assert model == "tiny"
        self.open += 1
        try:
            yield self._progress()
        finally:
            self.open -= 1

    async def _progress(self) -> AsyncIterator[PullProgress]:
        for line in self._lines:
            if isinstance(line, AIError):
                raise line
            yield line
        self.reached_end.set()
        if self._lines[-1] != PullProgress(status="success"):
            await anyio.sleep_forever()

    def work(self) -> PullDownload:
        async def puller_for(provider: str) -> Puller:
            if provider != "ollama":
                raise AIError(ErrorCode.UNSUPPORTED_FEATURE, "vLLM cannot pull models.")
            return Puller(name="local", pulling=self.pulling, continues_alone=self.goes_on)

        return PullDownload(ProviderPull(provider="ollama", model="tiny"), puller_for, lambda: 0.0)


def layer(digest: str, completed: int, total: int) -> PullProgress:
    return PullProgress(status=f"pulling {digest}", digest=digest, completed=completed, total=total)


async def test_layers_are_one_sum_and_the_model_is_where_the_provider_is() -> None:
    server = Server(
        PullProgress(status="pulling manifest"),
        layer("a", 60, 100),
        layer("a", 100, 100),
        layer("b", 10, 50),
        layer("b", 50, 50),
        PullProgress(status="success"),
    )
    steps = list[Progress]()
    work = server.work()
    assert await work.title() == "tiny"
    assert await work.run(steps.append) == "local://tiny"
    assert [(step.completed, step.total) for step in steps] == [
        (0, None), (60, 100), (100, 100), (110, 150), (150, 150), (150, 150),
    ]  # fmt: skip
    assert [step.is_jump for step in steps] == [False, True, False, True, False, False]
    assert steps[0].note == "pulling manifest"
    assert (server.open, work.pause_note) == (0, "")


async def test_an_error_line_is_reported_in_the_server_s_own_words() -> None:
    server = Server(
        PullProgress(status="pulling manifest"), AIError(ErrorCode.MODEL_NOT_FOUND, WORDS)
    )
    with pytest.raises(AIError, match=WORDS):
        await server.work().run(lambda _step: None)
    assert server.open == 0


@pytest.mark.parametrize(("goes_on", "pause_note"), [(True, MAY_CONTINUE), (False, "")])
async def test_a_pull_that_is_left_says_whether_its_server_goes_on(
    goes_on: bool, pause_note: str
) -> None:
    server = Server(layer("a", 60, 100), goes_on=goes_on)
    work = server.work()
    async with anyio.create_task_group() as group:
        group.start_soon(work.run, lambda _step: None)
        await server.reached_end.wait()
        group.cancel_scope.cancel()
    assert (server.open, work.pause_note) == (0, pause_note)
    await work.discard()


async def test_a_provider_that_cannot_pull_is_refused_at_once() -> None:
    async def no_puller(_provider: str) -> Puller:
        raise AIError(ErrorCode.UNSUPPORTED_FEATURE, "vLLM cannot pull models.")

    work = PullDownload(ProviderPull(provider="vllm", model="tiny"), no_puller, lambda: 0.0)
    with pytest.raises(AIError, match="vLLM cannot pull models"):
        await work.title()

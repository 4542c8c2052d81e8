"""The real app on a scripted runtime, driven by Textual's pilot."""

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
from textual.pilot import Pilot

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.runtime.compose import Runtime, load_runtime
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.chat import screen as chat_module
from ollm_tui.tui.chat.controller import ChatController
from ollm_tui.tui.chat.screen import ChatScreen
from ollm_tui.tui.services import Services
from tests.tui.scripted import ScriptedClient, ScriptedRuntime


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail after that time, and tell what every task and thread was waiting for."""
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        stack = StringIO()
        for task in asyncio.all_tasks():
            task.print_stack(file=stack)
        for frame in sys._current_frames().values():
            stack.writelines(traceback.format_stack(frame, 12))
            stack.write("\n")
        error.add_note(stack.getvalue())
        raise


class RecordingOpener(SystemOpener):
    """Opens nothing: keeps what it was asked to open."""

    def __init__(self, problem: str | None = None) -> None:
        super().__init__()
        self.problem = problem
        self.opened: list[str] = []

    async def open(self, address: str) -> str | None:
        self.opened.append(address)
        return self.problem


def is_ready(screen: ChatScreen) -> bool:
    controller = screen.controller
    return isinstance(controller, ChatController) and not controller.queue.is_busy


@dataclass
class AppStage:
    app: OllmApp
    pilot: Pilot[None]

    @property
    def chat(self) -> ChatScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    @property
    def controller(self) -> ChatController:
        """What stands behind the chat, which has opened."""
        controller = self.chat.controller
        assert isinstance(controller, ChatController)
        return controller

    @property
    def screen_text(self) -> str:
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(line.text.rstrip() for line in lines)

    async def send(self, words: str) -> None:
        """Send a prompt; it is put into the input at once, since each key of a pilot waits."""
        self.chat.composer.insert(words)
        await self.pilot.press("enter")


@dataclass
class Stage(AppStage):
    """The app on a scripted runtime."""

    runtime: ScriptedRuntime
    opener: RecordingOpener

    @property
    def client(self) -> ScriptedClient:
        return self.runtime.clients[-1]

    async def settle(self) -> None:
        """Let everything that was set going come to rest: keys, workers, the next painting."""
        for _turn in range(3):
            await self.pilot.pause()
        view = self.chat.transcript
        with within(30):
            while view.busy:
                await anyio.sleep(0.002)
        await self.pilot.pause()

    async def type(self, words: str) -> None:
        await self.pilot.press(*words)

    async def ask(self, words: str) -> None:
        await self.send(words)
        await self.settle()

    @property
    def shown(self) -> str:
        """The transcript as text, each block as it was given."""
        return "\n".join(block.source.text for block in self.chat.transcript.block_list.blocks)


@dataclass
class RealStage(AppStage):
    """The app on a real runtime."""

    runtime: Runtime

    async def until(
        self, *texts: str, test: Callable[[], bool] = lambda: True, within_s: float = 60.0
    ) -> None:
        with anyio.move_on_after(within_s):
            while not (test() and all(text in self.screen_text for text in texts)):
                await self.pilot.pause(0.002)
            return
        raise AssertionError(f"{texts} is not in\n{self.screen_text}")

    @property
    def last_result(self) -> str:
        """What the model was told of its last call; there before the answer to it begins."""
        messages = self.controller.session.client.conversation.messages
        return [message.text for message in messages if message.role == "tool"][-1]


def services(
    runtime: ScriptedRuntime,
    config_file: Path,
    opened: anyio.Event | None = None,
    *,
    opener: RecordingOpener | None = None,
    **more: Any,
) -> Services:
    async def give() -> Runtime:
        if opened is not None:
            await opened.wait()
        if runtime.refuses is not None:
            raise runtime.refuses
        return runtime

    return Services(give, config_file, opener=opener or RecordingOpener(), **more)


@asynccontextmanager
async def staged(
    config_file: Path,
    runtime: ScriptedRuntime | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    theme: str = "dusk",
    opened: anyio.Event | None = None,
    opener: RecordingOpener | None = None,
    history: Path | None = None,
    **more: Any,
) -> AsyncIterator[Stage]:
    """Run the app on a scripted runtime; `more` are fields of `Services`."""
    runtime, opener = runtime or ScriptedRuntime(), opener or RecordingOpener()
    served = services(runtime, config_file, opened, opener=opener, history_file=history, **more)
    app = OllmApp(served, theme)
    # what a person would see of the first frame while the rest is loaded nobody sees here
    at_once = patch.object(chat_module, "SECOND_FRAME_S", 0.001)
    with at_once:
        async with app.run_test(size=size) as pilot:
            stage = Stage(app, pilot, runtime, opener)
            if opened is None:
                with within(30):
                    while not is_ready(stage.chat):
                        await anyio.sleep(0.002)
                # no picture is to show how fast this machine is
                stage.controller.presenter._pace.clock = lambda: 0.0
            await stage.settle()
            yield stage


@asynccontextmanager
async def staged_for_real(
    folder: Path,
    environ: Mapping[str, str],
    flags: Flags | None = None,
    *,
    size: tuple[int, int] = (100, 30),
    titles: bool = False,
) -> AsyncIterator[RealStage]:
    """Run the app on the runtime that these settings make, with its files in a folder.

    Titles are made only if they are wanted: each is a request of its own.
    """
    paths = AppPaths(*(folder / kind for kind in ("config", "data", "state", "cache")))
    async with load_runtime(flags or Flags(), environ, paths)() as runtime:
        runtime.titles._is_on = titles

        async def give() -> Runtime:
            return runtime

        private = flags is not None and flags.private
        served = Services(give, paths.config_file, is_private=private)
        runtime.ask_before_tools(served.approver)
        app = OllmApp(served, "dusk")
        async with app.run_test(size=size) as pilot:
            stage = RealStage(app, pilot, runtime)
            await stage.until(test=lambda: is_ready(stage.chat))
            yield stage

"""The app on a real runtime, driven by Textual's pilot."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.runtime.compose import Runtime as RealRuntime
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.services import Runtime, Services
from tests.support.screens import AppStage


class RealStage(AppStage):
    def __init__(self, app: OllmApp, pilot: Pilot[None], runtime: RealRuntime) -> None:
        super().__init__(app, pilot)
        self.runtime = runtime


@asynccontextmanager
async def real_app(
    folder: Path, environ: Mapping[str, str], size: tuple[int, int], flags: Flags | None = None
) -> AsyncIterator[tuple[OllmApp, Pilot[None], RealRuntime]]:
    paths = AppPaths(*(folder / part for part in ("config", "data", "state", "cache")))
    async with load_runtime(flags or Flags(), environ, paths)() as runtime:

        async def give() -> Runtime:
            return runtime

        app = OllmApp(Services(give, paths.config_file), "dusk")
        async with app.run_test(size=size) as pilot:
            yield app, pilot, runtime

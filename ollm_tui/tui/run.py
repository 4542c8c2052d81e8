"""From the command line's choices to a running app, and to the exit code."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ollm_tui.config.early import EarlySettings, early_settings
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import config_path, default_paths
from ollm_tui.decode.redact import environment_secrets, redactor
from ollm_tui.runtime.opening import RuntimeOpener, opening
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.crash import run_reported
from ollm_tui.tui.graphics import protocol_for
from ollm_tui.tui.memory import resume_collection
from ollm_tui.tui.services import Services
from ollm_tui.tui.terminal import KeptPicture, driver_class, exit_signals, prompt_threads
from ollm_tui.tui.theming import ThemeCatalog, bundled_folder
from ollm_tui.tui.transcript import Reading

if TYPE_CHECKING:
    from ollm_tui.frontend.first_frame import FirstFrame
    from ollm_tui.runtime.compose import Runtime


def run(
    flags: Flags,
    keep_secret: Callable[[Iterable[str]], None],
    first_frame: "FirstFrame | None" = None,
) -> int:
    """Run the app in an event loop of its own; `keep_secret` gets the keys in the settings."""
    started = _Start(flags, keep_secret, first_frame)
    return run_reported(started.app, started.live)


class _Start:
    """The app, and what must be closed in order when it ends."""

    def __init__(
        self,
        flags: Flags,
        keep_secret: Callable[[Iterable[str]], None],
        first_frame: "FirstFrame | None",
    ) -> None:
        self._flags = flags
        self._first_frame = first_frame
        self._keep_secret = keep_secret
        self._paths = default_paths()
        self._early = early_settings(self._paths, os.environ, flags)
        self._opened: RuntimeOpener | None = None
        self._services = self._make_services()
        self.app = OllmApp(
            self._services,
            self._early.theme,
            driver_class=driver_class(first_frame),
            kept_picture=self._kept_picture(),
            crash_directory=self._paths.state_dir / "crashes",
            is_animated=self._early.animations,
        )
        self.app.redact = self._redact

    async def live(self) -> None:
        """Run the app to its end."""
        before = None if self._first_frame is None else self._first_frame.before
        # around everything that must be closed when a signal ends the app
        signals = exit_signals(self.app, before=before)
        with prompt_threads(), signals, self._closing_first_frame():
            async with opening(self._flags) as self._opened:
                await self.app.run_async(mouse=self._early.mouse)

    @contextmanager
    def _closing_first_frame(self) -> Iterator[None]:
        """Give the terminal back if the app fails before it has taken it."""
        try:
            yield
        finally:
            if self._first_frame is not None:
                self._first_frame.close()

    def _kept_picture(self) -> KeptPicture | None:
        frame = self._first_frame
        if frame is None or frame.known is None or self._flags.private:
            return None
        return KeptPicture(self._paths.state_dir, frame.known)

    def _make_services(self) -> Services:
        flags, early, paths = self._flags, self._early, self._paths
        return Services(
            self._runtime,
            config_file=config_path(paths, os.environ, flags.config_path),
            themes=ThemeCatalog((bundled_folder(), paths.themes_dir)),
            keymap=early.keymap,
            history_file=None if flags.private else paths.state_dir / "prompts.jsonl",
            is_private=flags.private,
            snippets_dir=paths.snippets_dir,
            drafts_dir=paths.state_dir / "drafts",
            sessions_dir=paths.sessions_dir,
            copies_dir=paths.data_dir / "copies",
            opened_files_dir=paths.opened_dir,
            show_thinking=early.show_thinking,
            reading=_reading(early),
            schema=flags.schema,
            schema_file=flags.schema_file,
        )

    async def _runtime(self) -> "Runtime":
        if self._opened is None:
            raise RuntimeError("the app asked for the runtime before it ran")
        try:
            ready = await self._opened.runtime()
        finally:
            resume_collection()
            self._keep_secret(self._opened.secrets())
        # loads what the first frame does not wait for
        from ollm_tui.frontend.grants import folder_grants

        self._services.approver.permissions.folder = folder_grants(ready)
        ready.ask_before_tools(self._services.approver)
        ready.download_service.go_on()
        if ready.copies is not None:
            ready.copies.start()
        return ready

    def _redact(self, text: str) -> str:
        read = () if self._opened is None else self._opened.secrets()
        known = (*read, *environment_secrets(os.environ), self._flags.api_key)
        return redactor(known)(text)


def _reading(early: EarlySettings) -> Reading:
    return Reading(
        maths=early.maths,
        times=early.times,
        stats=early.show_stats,
        pictures=protocol_for(early.pictures),
    )

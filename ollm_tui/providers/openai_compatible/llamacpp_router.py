"""llama.cpp's server in router mode: many models, each in a process of its own."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from urllib.parse import quote

import anyio

from ollm_tui.decode.json_fields import as_object, integer, objects, string
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import ModelInfo, PullProgress
from ollm_tui.providers.openai_compatible.llamacpp import LlamaCppProvider
from ollm_tui.providers.openai_compatible.llamacpp_models import (
    FAILED,
    exit_code,
    read_router,
    read_statuses,
    why_kept,
)
from ollm_tui.providers.openai_compatible.model_errors import (
    no_such_model,
    not_loaded,
    not_pulled,
    not_removable,
    too_old,
)
from ollm_tui.providers.openai_compatible.paced import followed, paced
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.statuses import NO_SUCH_PATH

_IN_MEMORY = frozenset({"loaded", "loading", "sleeping"})
_COMING = frozenset({"downloading", "loading"})
_TURNS_TO_APPEAR = 6
"""A download is in the list a moment after it was asked for."""


class LlamaCppRouterProvider(LlamaCppProvider):
    """A llama.cpp server that was started without a model and manages many."""

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(replace(spec, backend="llamacpp"))  # which speaks the same dialect

    async def show_model(self, name: str) -> ModelInfo:
        """Give what is known of one model, with its window if it is in memory.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        return await self._one_listed(name)

    async def list_running(self) -> Sequence[ModelInfo]:
        """Give the models that have a process, also those that are loading or asleep.

        Raises:
            AIError: any failure.
        """
        return [info for info in await self._listed() if info.details.get("status") in _IN_MEMORY]

    async def load_model(self, name: str) -> None:
        """Load a model and wait until it is ready.

        Raises:
            AIError: any failure; MODEL_NOT_LOADED when its process ended; TIMEOUT.
        """
        before = await self._status(name)
        if before == "loaded":
            return
        if before != "loading":
            await self._at_root("POST", "/models/load", {"model": name})
        patience = self._transport.spec.first_byte_timeout_s
        with anyio.move_on_after(patience):
            async for _ in paced():
                reply = await self._at_root("GET", "/models")
                status = read_statuses(reply).get(name)
                if status in ("loaded", "sleeping"):
                    return
                if status not in _COMING:
                    raise not_loaded(self._transport.place, name, _reason(reply, name, status))
        raise not_loaded(self._transport.place, name, f"it took more than {patience:g} s")

    async def unload_model(self, name: str) -> None:
        """End a model's process; without one there is nothing to do.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        if await self._status(name) in _IN_MEMORY | _COMING:
            await self._at_root("POST", "/models/unload", {"model": name})

    async def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Have the server fetch a model of Hugging Face, as `user/repository:quantization`.

        The download is the server's: it goes on when nobody looks any more; unloading the model
        stops it.

        Raises:
            AIError: any failure, also of the download; UNSUPPORTED_FEATURE from an older build.
        """
        place = self._transport.place
        if read_statuses(await self._at_root("GET", "/models")).get(name) != "downloading":
            try:
                await self._at_root("POST", "/models", {"model": name})
            except AIError as error:
                if error.status in NO_SUCH_PATH:
                    raise too_old(place, "fetch models", "builds of 2026") from error
                raise
        shown: list[PullProgress] = []
        turns = 0
        async for reply in followed(lambda: self._at_root("GET", "/models")):
            status = read_statuses(reply).get(name)
            turns += 1
            if status is None and not shown and turns < _TURNS_TO_APPEAR:
                continue
            if status is None or status == FAILED:  # a download that failed leaves the list
                raise not_pulled(place, name, None)
            if status != "downloading":
                yield PullProgress(status="success")
                return
            steps = _steps(reply, name)
            for step in steps:
                if step not in shown:
                    yield step
            shown = steps

    async def delete_model(self, name: str) -> None:
        """Remove a model that the server fetched; one of its own folders stays.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND; UNSUPPORTED_FEATURE where it did not fetch it.
        """
        reply = await self._at_root("GET", "/models")
        statuses = read_statuses(reply)
        if name not in statuses:
            raise no_such_model(self._transport.place, name, statuses)
        if reason := why_kept(reply).get(name):
            raise not_removable(self._transport.place, name, reason)
        await self._at_root("DELETE", f"/models?model={quote(name, safe='')}")

    async def _listed(self) -> Sequence[ModelInfo]:
        """Ask for the list, then for the properties of what is loaded, all at once."""
        reply = await self._transport.json("GET", "/models")
        statuses = read_statuses(reply)
        if not statuses:
            return await super()._listed()
        props: dict[str, JsonValue] = {}
        await self._props()  # tells a wrong key; the list itself is open

        async def ask(name: str) -> None:
            told = await self._aside(f"/props?model={quote(name, safe='')}&autoload=false")
            if told is not None:
                props[name] = told

        with single_error():
            async with anyio.create_task_group() as group:
                for name in (name for name, status in statuses.items() if status == "loaded"):
                    group.start_soon(ask, name)
        return read_router(reply, props)

    async def _status(self, name: str) -> str:
        statuses = read_statuses(await self._at_root("GET", "/models"))
        if name not in statuses:
            raise no_such_model(self._transport.place, name, statuses)
        return statuses[name]


def _reason(reply: JsonValue, name: str, status: str | None) -> str | None:
    code = exit_code(reply, name)
    if status == FAILED and code is not None:
        return f"its process ended with {code}"
    return None if status in (None, FAILED) else f"it is {status}"


def _steps(reply: JsonValue, name: str) -> list[PullProgress]:
    """Give how far each file of a download is: they come side by side."""
    entries = objects(as_object(reply).get("data"))
    entry = next((entry for entry in entries if string(entry, "id") == name), {})
    files = as_object(as_object(entry.get("status")).get("progress"))
    if not files:
        return [PullProgress(status="downloading")]
    return [
        PullProgress(
            status="downloading",
            digest=file,
            completed=integer(as_object(told), "done"),
            total=integer(as_object(told), "total"),
        )
        for file, told in files.items()
    ]

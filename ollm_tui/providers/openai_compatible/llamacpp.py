"""llama.cpp's server of one model: it counts with the template, and says when it is loading."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

import anyio

from ollm_tui.decode.json_fields import as_object, integer, objects, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo, PullProgress
from ollm_tui.protocol.request import Request
from ollm_tui.providers.base_url import join, server_root
from ollm_tui.providers.openai_compatible.llamacpp_models import (
    FAILED,
    exit_code,
    read_router,
    read_statuses,
    why_kept,
    with_props,
)
from ollm_tui.providers.openai_compatible.models import read_models
from ollm_tui.providers.openai_compatible.operations import (
    count_tokens_in,
    no_such_model,
    no_token_count,
    not_loaded,
    not_pulled,
    not_removable,
    poll,
    poll_ticks,
    read_token_count,
    too_old,
)
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.refusals import NO_SUCH_PATH
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import COUNT_S, Transport

_OF_THE_ANSWER = frozenset({"stream", "stream_options", "max_tokens", "max_completion_tokens"})


class LlamaCppProvider(OpenAICompatibleProvider):
    """A llama.cpp server; one that manages many models is a `LlamaCppRouterProvider`."""

    _counts_at_once = True

    async def count_tokens(self, request: Request) -> int:
        """Count at `/chat/completions/input_tokens`; older builds by `/apply-template`.

        Raises:
            AIError: any failure.
        """
        asked = self._body(self._with_defaults(request))
        body = {k: v for k, v in asked.items() if k not in _OF_THE_ANSWER}
        if self._counts_at_once:
            try:
                path = "/chat/completions/input_tokens"
                reply = await self._transport.json("POST", path, body, within_s=COUNT_S)
                return read_token_count(reply, "input_tokens")
            except AIError as error:
                if error.status not in NO_SUCH_PATH:
                    raise
                self._counts_at_once = False
        return await self._count_in_two_steps(body)

    async def is_responding(self, within_s: float) -> bool:
        """Whether the server says anything in time; one that cannot be reached counts as such."""
        try:
            await self._at_root("GET", "/health", within_s=within_s)
        except AIError as error:
            return error.status is not None or error.code != ErrorCode.TIMEOUT
        return True

    async def _count_in_two_steps(self, body: JsonObject) -> int:
        reply = await self._at_root("POST", "/apply-template", body, within_s=COUNT_S)
        prompt = string(as_object(reply), "prompt")
        if prompt is None:
            raise no_token_count()
        text: JsonObject = {"content": prompt, "add_special": True, "parse_special": True}
        reply = await self._at_root("POST", "/tokenize", text, within_s=COUNT_S)
        return count_tokens_in(reply, "tokens")

    async def _listed(self) -> Sequence[ModelInfo]:
        reply = await self._transport.json("GET", "/models")
        if read_statuses(reply):
            await self._props()  # tells a wrong key
            return read_router(reply, {})
        models = read_models(reply)
        try:
            return with_props(models, await self._at_root("GET", "/props"))
        except AIError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise  # the list is open to everybody, the chat is not
            if not is_loading(error):
                return models
            return [replace(info, loaded=False) for info in models]

    async def _wait_until_ready(self, error: AIError) -> bool:
        return await wait_until_loaded(error, self._transport)


UNAVAILABLE = "unavailable_error"


def is_loading(error: AIError) -> bool:
    """Whether the server only needs more time."""
    return (
        error.status == HTTPStatus.SERVICE_UNAVAILABLE
        and error.details.get("server_type") == UNAVAILABLE
    )


async def wait_until_loaded(error: AIError, transport: Transport) -> bool:
    """Wait until the model is loaded, if that is what the error is about; tell whether it is."""
    if not is_loading(error):
        return False
    health = join(server_root(transport.url), "/health")
    async for _ in poll_ticks():
        try:
            await transport.json("GET", health)
        except AIError as still:
            if not is_loading(still):
                return False
        else:
            return True
    return False


_IN_MEMORY = frozenset({"loaded", "loading", "sleeping"})
_COMING = frozenset({"downloading", "loading"})
_TURNS_TO_APPEAR = 6
"""A download is in the list a moment after it was asked for."""
ROUTER = "llamacpp-router"


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
            async for _ in poll_ticks():
                reply = await self._at_root("GET", "/models")
                status = read_statuses(reply).get(name)
                if status in ("loaded", "sleeping"):
                    return
                if status not in _COMING:
                    raise not_loaded(self._transport.endpoint, name, _reason(reply, name, status))
        raise not_loaded(self._transport.endpoint, name, f"it took more than {patience:g} s")

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
        endpoint = self._transport.endpoint
        if read_statuses(await self._at_root("GET", "/models")).get(name) != "downloading":
            try:
                await self._at_root("POST", "/models", {"model": name})
            except AIError as error:
                if error.status in NO_SUCH_PATH:
                    raise too_old(endpoint, "fetch models", "builds of 2026") from error
                raise
        shown: list[PullProgress] = []
        turns = 0
        async for reply in poll(lambda: self._at_root("GET", "/models")):
            status = read_statuses(reply).get(name)
            turns += 1
            if status is None and not shown and turns < _TURNS_TO_APPEAR:
                continue
            if status is None or status == FAILED:  # a download that failed leaves the list
                raise not_pulled(endpoint, name, None)
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
            raise no_such_model(self._transport.endpoint, name, statuses)
        if reason := why_kept(reply).get(name):
            raise not_removable(self._transport.endpoint, name, reason)
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
            raise no_such_model(self._transport.endpoint, name, statuses)
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

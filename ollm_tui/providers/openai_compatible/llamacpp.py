"""llama.cpp's server: of one model, or as a router of many, each in a process of its own."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

import anyio

from ollm_tui.decode.json_fields import as_object, integer, objects, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo, PullProgress
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.request import PromptText, Request
from ollm_tui.providers.base_url import join, server_root
from ollm_tui.providers.body.unsupported import OnLeftOut
from ollm_tui.providers.http_provider import count_tokens_in, no_token_count, read_token_count
from ollm_tui.providers.openai_compatible.llamacpp_models import (
    FAILED,
    exit_code,
    read_pieces,
    read_router,
    read_statuses,
    read_variables,
    undeletable_models,
    with_props,
)
from ollm_tui.providers.openai_compatible.models import read_models
from ollm_tui.providers.openai_compatible.operations import (
    no_such_model,
    not_loaded,
    not_pulled,
    not_removable,
    poll,
    poll_ticks,
    too_old,
)
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.refusals import NO_SUCH_PATH
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import COUNT_S, Transport
from ollm_tui.tasks import task_group

_ANSWER_KEYS = frozenset({"stream", "stream_options", "max_tokens", "max_completion_tokens"})
_IN_MEMORY = frozenset({"loaded", "loading", "sleeping"})
_IN_PROGRESS = frozenset({"downloading", "loading"})
_POLLS_TO_APPEAR = 6
"""A download appears in the list a moment after its request."""


class LlamaCppProvider(OpenAICompatibleProvider):
    """A llama.cpp server; one that manages many models is a `LlamaCppRouterProvider`."""

    _has_count_path = True

    async def count_tokens(self, request: Request) -> int:
        """Count tokens at `/chat/completions/input_tokens`, or of older builds at `/tokenize`.

        Raises:
            AIError: any failure.
        """
        chat = self._body(self._with_defaults(request))
        body = {key: value for key, value in chat.items() if key not in _ANSWER_KEYS}
        if self._has_count_path:
            try:
                path = "/chat/completions/input_tokens"
                reply = await self._transport.json("POST", path, body, within_s=COUNT_S)
                return read_token_count(reply, "input_tokens")
            except AIError as error:
                if error.status not in NO_SUCH_PATH:
                    raise
                self._has_count_path = False
        return await self._count_by_template(body)

    async def prompt_text(self, request: Request) -> PromptText:
        """Return the prompt with its tokens, from `/apply-template` and `/tokenize`.

        Raises:
            AIError: any failure.
        """
        chat = self._body(self._with_defaults(request))
        body = {key: value for key, value in chat.items() if key not in _ANSWER_KEYS}
        prompt = await self._rendered(body)
        # a router needs the model's name
        reply = await self._tokenized(prompt, with_pieces=True, model=request.model)
        props = await self._optional_json(f"/props?model={quote(request.model, safe='')}")
        return PromptText(prompt, read_pieces(reply), read_variables(props))

    def infill(self, request: Request) -> ProviderStream:
        """Stream the text between the input and its suffix by `/infill`."""
        # Loaded only for a gap.
        from ollm_tui.providers.openai_compatible.infill import fill_gap

        return fill_gap(self._transport, self._with_defaults(request), self._wait_until_ready)

    async def is_responding(self, within_s: float) -> bool:
        """Whether the server replies in time; one that cannot be reached counts as responding."""
        try:
            await self._root_json("GET", "/health", within_s=within_s)
        except AIError as error:
            return error.status is not None or error.code != ErrorCode.TIMEOUT
        return True

    async def save_slot(self, file_name: str, within_s: float) -> int:
        """Write what the first slot has read into the server's folder; return its tokens.

        Raises:
            AIError: any failure.
        """
        reply = await self._slot_file("save", file_name, within_s)
        return integer(as_object(reply), "n_saved") or 0

    async def restore_slot(self, file_name: str, within_s: float) -> None:
        """Give the first slot what `save_slot` wrote.

        Raises:
            AIError: any failure.
        """
        await self._slot_file("restore", file_name, within_s)

    async def _slot_file(self, action: str, file_name: str, within_s: float) -> JsonValue:
        path, body = f"/slots/0?action={action}", {"filename": file_name}
        return await self._root_json("POST", path, body, within_s=within_s)

    async def _count_by_template(self, body: JsonObject) -> int:
        prompt = await self._rendered(body)
        reply = await self._tokenized(prompt)
        return count_tokens_in(reply, "tokens")

    async def _rendered(self, body: JsonObject) -> str:
        reply = await self._root_json("POST", "/apply-template", body, within_s=COUNT_S)
        prompt = string(as_object(reply), "prompt")
        if prompt is None:
            raise no_token_count()
        return prompt

    async def _tokenized(self, prompt: str, **more: JsonValue) -> JsonValue:
        text: JsonObject = {"content": prompt, "add_special": True, "parse_special": True, **more}
        return await self._root_json("POST", "/tokenize", text, within_s=COUNT_S)

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        reply = await self._transport.json("GET", "/models")
        if read_statuses(reply):
            await self._props()  # fails for a wrong key
            return read_router(reply, {})
        models = read_models(reply)
        try:
            return with_props(models, await self._root_json("GET", "/props"))
        except AIError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise  # the list is readable without a key, the chat is not
            if not is_loading(error):
                return models
            return [replace(info, loaded=False) for info in models]

    def _streamed_body(self, request: Request, on_left_out: OnLeftOut) -> JsonObject:
        return {"return_progress": True} | self._body(request, on_left_out)

    async def _wait_until_ready(self, error: AIError) -> bool:
        return await wait_until_loaded(error, self._transport)


def is_loading(error: AIError) -> bool:
    """Whether an error means that the server is loading its model."""
    return (
        error.status == HTTPStatus.SERVICE_UNAVAILABLE
        and error.details.get("server_type") == "unavailable_error"
    )


async def wait_until_loaded(error: AIError, transport: Transport) -> bool:
    """Wait if the error means that the model is loading; return whether it is loaded now."""
    if not is_loading(error):
        return False
    health = join(server_root(transport.url), "/health")
    async for _ in poll_ticks():
        try:
            await transport.json("GET", health)
        except AIError as health_error:
            if not is_loading(health_error):
                return False
        else:
            return True
    return False


class LlamaCppRouterProvider(LlamaCppProvider):
    """A llama.cpp server that was started without a model and manages many."""

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(replace(spec, backend="llamacpp"))  # the same dialect

    async def show_model(self, name: str) -> ModelInfo:
        """Return what is known of one model, with its window if it is in memory.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        return await self._fetch_model(name)

    async def list_running(self) -> Sequence[ModelInfo]:
        """Return the models that have a process, including those loading or asleep.

        Raises:
            AIError: any failure.
        """
        return [
            info for info in await self._fetch_models() if info.details.get("status") in _IN_MEMORY
        ]

    async def load_model(self, name: str) -> None:
        """Load a model and wait until it is ready.

        Raises:
            AIError: any failure; MODEL_NOT_LOADED when its process ended; TIMEOUT.
        """
        before = read_statuses(await self._list_with(name))[name]
        if before == "loaded":
            return
        if before != "loading":
            await self._root_json("POST", "/models/load", {"model": name})
        time_limit_s = self._transport.spec.first_byte_timeout_s
        with anyio.move_on_after(time_limit_s):
            async for _ in poll_ticks():
                reply = await self._root_json("GET", "/models")
                status = read_statuses(reply).get(name)
                if status in ("loaded", "sleeping"):
                    return
                if status not in _IN_PROGRESS:
                    raise not_loaded(self._transport.endpoint, name, _reason(reply, name, status))
        raise not_loaded(self._transport.endpoint, name, f"it took more than {time_limit_s:g} s")

    async def unload_model(self, name: str) -> None:
        """End a model's process. A no-op if it has none.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        status = read_statuses(await self._list_with(name))[name]
        if status in _IN_MEMORY | _IN_PROGRESS:
            await self._root_json("POST", "/models/unload", {"model": name})

    async def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Have the server download a model of Hugging Face, `user/repository:quantization`.

        The download is a job of the server: it continues when the iterator is closed. Unloading
        the model stops it.

        Raises:
            AIError: any failure, including that of the download; UNSUPPORTED_FEATURE from an
                older build.
        """
        endpoint = self._transport.endpoint
        if read_statuses(await self._root_json("GET", "/models")).get(name) != "downloading":
            try:
                await self._root_json("POST", "/models", {"model": name})
            except AIError as error:
                if error.status in NO_SUCH_PATH:
                    raise too_old(endpoint, "fetch models", "builds of 2026") from error
                raise
        shown: list[PullProgress] = []
        polls = 0
        async for reply in poll(lambda: self._root_json("GET", "/models")):
            status = read_statuses(reply).get(name)
            polls += 1
            if status is None and not shown and polls < _POLLS_TO_APPEAR:
                continue
            if status is None or status == FAILED:  # a failed download leaves the list
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
        """Delete a model that the server downloaded; it keeps those of its own folder.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND; UNSUPPORTED_FEATURE if it did not download it.
        """
        reply = await self._list_with(name)
        if reason := undeletable_models(reply).get(name):
            raise not_removable(self._transport.endpoint, name, reason)
        await self._root_json("DELETE", f"/models?model={quote(name, safe='')}")

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        """Return the models, with the properties of those that are loaded, fetched concurrently."""
        reply = await self._transport.json("GET", "/models")
        statuses = read_statuses(reply)
        if not statuses:
            return await super()._fetch_models()
        props: dict[str, JsonValue] = {}
        await self._props()  # fails for a wrong key, the list does not

        async def fetch_props(name: str) -> None:
            model_props = await self._optional_json(
                f"/props?model={quote(name, safe='')}&autoload=false"
            )
            if model_props is not None:
                props[name] = model_props

        async with task_group() as group:
            for name in (name for name, status in statuses.items() if status == "loaded"):
                group.start_soon(fetch_props, name)
        return read_router(reply, props)

    async def _list_with(self, name: str) -> JsonValue:
        reply = await self._root_json("GET", "/models")
        statuses = read_statuses(reply)
        if name not in statuses:
            raise no_such_model(self._transport.endpoint, name, statuses)
        return reply


def _reason(reply: JsonValue, name: str, status: str | None) -> str | None:
    code = exit_code(reply, name)
    if status == FAILED and code is not None:
        return f"its process ended with {code}"
    return None if status in (None, FAILED) else f"it is {status}"


def _steps(reply: JsonValue, name: str) -> list[PullProgress]:
    """Return the progress of each file of a download, which are downloaded concurrently."""
    entries = objects(as_object(reply).get("data"))
    entry = next((entry for entry in entries if string(entry, "id") == name), {})
    files = as_object(as_object(entry.get("status")).get("progress"))
    if not files:
        return [PullProgress(status="downloading")]
    return [
        PullProgress(
            status="downloading",
            digest=file,
            completed=integer(as_object(progress), "done"),
            total=integer(as_object(progress), "total"),
        )
        for file, progress in files.items()
    ]

"""LocalAI: models of many kinds, which it installs from galleries."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import quote

from ollm_tui.decode.json_fields import as_object, number, objects, positive, string, strings
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.providers.openai_compatible.models import CHAT_FEATURES, TEXT
from ollm_tui.providers.openai_compatible.operations import (
    followed,
    no_such_model,
    not_pulled,
    paced,
    tokens_listed,
)
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.transport import COUNT_S

LONGEST_STATUS = 200


class LocalAIProvider(OpenAICompatibleProvider):
    """A LocalAI server; a model that is not in memory is loaded by its first request."""

    async def count_text_tokens(self, model: str, text: str) -> int:
        """Count at `/tokenize`.

        Raises:
            AIError: any failure.
        """
        if not text:
            return 0
        body = {"model": model, "content": text}
        reply = await self._transport.json("POST", "/tokenize", body, within_s=COUNT_S)
        return tokens_listed(reply, "tokens")

    async def list_running(self) -> Sequence[ModelInfo]:
        """Give the models in memory.

        Raises:
            AIError: any failure; PERMISSION_DENIED where the key is not an administrator's.
        """
        loaded = await self._at_root("GET", "/system")
        return [info for info in with_loaded(await self._models(), loaded) if info.loaded]

    async def unload_model(self, name: str) -> None:
        """Shut down the process of a model.

        Raises:
            AIError: any failure.
        """
        await self._at_root("POST", "/backend/shutdown", {"model": name})

    async def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Have the server install a model of its galleries, or of the address of a configuration.

        The job is the server's: it goes on when nobody looks any more.

        Raises:
            AIError: any failure, also of the job; MODEL_NOT_FOUND when no gallery has the model.
        """
        place = self._transport.place
        job = await self._install(name)
        shown = None
        path = f"/models/jobs/{quote(job, safe='')}"
        async for reply in followed(lambda: self._at_root("GET", path)):
            told = read_job(reply, job)
            progress = replace(told, status=place.redacted(told.status)[:LONGEST_STATUS])
            if progress != shown:
                yield progress
                shown = progress
            if failed := failure_of(reply):
                raise not_pulled(place, name, failed)
            if as_object(reply).get("processed") is True:
                yield PullProgress(status="success")
                return

    async def delete_model(self, name: str) -> None:
        """Remove a model and its files.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        models = {info.name for info in await self._models()}
        if name not in models:
            raise no_such_model(self._transport.place, name, models)
        await self._at_root("POST", f"/models/delete/{quote(name, safe='')}")

    async def _install(self, name: str) -> str:
        """Start a job, and give its id."""
        body = {"url": name} if "://" in name else {"id": await self._in_gallery(name)}
        job = string(as_object(await self._at_root("POST", "/models/apply", body)), "uuid")
        if job is None:
            raise not_pulled(self._transport.place, name, "it gave the job no name")
        return job

    async def _in_gallery(self, name: str) -> str:
        within_s = self._transport.spec.first_byte_timeout_s  # galleries are fetched first
        there = read_gallery(await self._at_root("GET", "/models/available", within_s=within_s))
        if there and name not in there:
            raise no_such_model(self._transport.place, name, there)
        return name

    async def _listed(self) -> Sequence[ModelInfo]:
        return with_loaded(await self._models(), await self._aside("/system"))

    async def _models(self) -> Sequence[ModelInfo]:
        """Give the models, with what they can do where the version tells."""
        described = read_described(await self._aside("/v1/models/capabilities"))
        return await super()._listed() if described is None else described

    async def _is_ready_after(self, error: AIError) -> bool:
        """Wait until the server has started, if that is what the error is about."""
        if error.status != HTTPStatus.SERVICE_UNAVAILABLE or await self._is_ready():
            return False
        async for _ in paced():
            if await self._is_ready():
                return True
        return False

    async def _is_ready(self) -> bool:
        """Whether the server has started; one that cannot be asked counts as started."""
        try:
            await self._at_root("GET", "/readyz")
        except AIError as error:
            return error.status != HTTPStatus.SERVICE_UNAVAILABLE
        return True


_CHATS = frozenset({"chat", "completion", "edit"})
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT]?)i?B")
_POWERS: Mapping[str, int] = MappingProxyType({"": 0, "K": 1, "M": 2, "G": 3, "T": 4})


def read_described(reply: JsonValue) -> list[ModelInfo] | None:
    """Read `/v1/models/capabilities`, without the models that do other things than chat.

    None when the server is older and has no such list.
    """
    entries = as_object(reply).get("data")
    if not isinstance(entries, list):
        return None
    found = []
    for entry in objects(entries):
        name, uses = string(entry, "id"), strings(entry.get("capabilities"))
        if name is None or (uses and not _CHATS.intersection(uses)):
            continue
        found.append(
            ModelInfo(
                name=name,
                capability=_capability(entry, uses) if uses else None,
                context=positive(entry, "context_size"),
            )
        )
    return found


def with_loaded(models: Sequence[ModelInfo], reply: JsonValue) -> list[ModelInfo]:
    """Add what `/system` tells: which models are in memory; unknown where it does not answer."""
    loaded = as_object(reply).get("loaded_models")
    if not isinstance(loaded, list):
        return [*models]
    names = {string(entry, "id") for entry in objects(loaded)}
    return [replace(info, loaded=info.name in names) for info in models]


def read_gallery(reply: JsonValue) -> set[str]:
    """Give the names under which `/models/available` has models, with and without the gallery."""
    names = set()
    for entry in objects(reply):
        if name := string(entry, "name"):
            names.add(name)
            if gallery := string(as_object(entry.get("gallery")), "name"):
                names.add(f"{gallery}@{name}")
    return names


def read_job(reply: JsonValue, name: str) -> PullProgress:
    """Give how far a job of `/models/jobs` is; sizes come as text and are as rough as it."""
    job = as_object(reply)
    total, part = _size(job, "file_size"), number(job, "progress")
    completed = _size(job, "downloaded_size")
    if completed is None and total is not None and part is not None:
        completed = round(total * min(100.0, max(0.0, part)) / 100)
    status = string(job, "message") or "waiting"
    if job.get("processed") is True and total is not None:
        completed = total
    if total is None:
        return PullProgress(status=status)
    return PullProgress(status=status, digest=name, completed=completed, total=total)


def failure_of(reply: JsonValue) -> str | None:
    """Give why a job failed; None for one that did not. Older versions leave the error empty."""
    job = as_object(reply)
    if job.get("cancelled") is True:
        return "it was cancelled"
    error = job.get("error")
    if error is None or error == "":
        return None
    return error if isinstance(error, str) else string(job, "message") or "no reason was given"


def _capability(entry: JsonObject, uses: Sequence[str]) -> ModelCapability:
    inputs = {"image", "audio", "video"}.intersection(strings(entry.get("input_modalities")))
    inputs |= {"image"} if "vision" in uses else set()
    # Tools are parsed from the text of any model, so that nothing is known of a model's own.
    features = CHAT_FEATURES | {"tool_use", "json_mode", "thinking"}
    return ModelCapability(TEXT | inputs, TEXT, features)


def _size(job: JsonObject, key: str) -> int | None:
    found = _SIZE.fullmatch((string(job, key) or "").strip())
    return round(float(found[1]) * 1024 ** _POWERS[found[2]]) if found else None

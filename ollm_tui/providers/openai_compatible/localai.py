"""LocalAI: models of many kinds, which the server installs from galleries."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

from ollm_tui.decode.json_fields import as_object, number, objects, positive, string, strings
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.protocol.ports import ProviderStream, ReportDrawing
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.http_provider import count_tokens_in
from ollm_tui.providers.media.refusals import not_offered
from ollm_tui.providers.openai_compatible.models import (
    CHAT_FEATURES,
    COMPOSES,
    DRAWS,
    EMBEDS,
    FILMS,
    RANKS,
    SPEAKS,
    TEXT,
    TRANSCRIBES,
)
from ollm_tui.providers.openai_compatible.operations import (
    no_such_model,
    not_pulled,
    poll,
    poll_ticks,
    shown_status,
)
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.transport import COUNT_S

_CHATS = frozenset({"chat", "completion", "edit"})
_OTHER_USES: Mapping[str, ModelCapability] = {
    "image": DRAWS,
    "video": FILMS,
    "embeddings": EMBEDS,
    "rerank": RANKS,
    "transcript": TRANSCRIBES,
    "tts": SPEAKS,
    "sound_generation": COMPOSES,
}
_SIZE = lazy_re(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT]?)i?B")
_POWERS: Mapping[str, int] = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class LocalAIProvider(OpenAICompatibleProvider):
    """A LocalAI server; a request to a model that is not loaded loads it."""

    async def count_text_tokens(self, model: str, text: str) -> int:
        """Count a text's tokens at `/tokenize`.

        Raises:
            AIError: any failure.
        """
        if not text:
            return 0
        body = {"model": model, "content": text}
        reply = await self._transport.json("POST", "/tokenize", body, within_s=COUNT_S)
        return count_tokens_in(reply, "tokens")

    async def make_video(self, request: Request, _report: ReportDrawing | None = None) -> Response:
        """Return the videos of the input's text by `/video`, which cannot be cancelled.

        Raises:
            AIError: any failure.
        """
        # Loaded only for a video.
        from ollm_tui.providers.openai_compatible.localai_media import make_video

        return await make_video(self._transport, self._root_json, request)

    def make_music(self, request: Request) -> ProviderStream:
        """Stream the sound that the input's text describes, by `/sound-generation`."""
        # Loaded only for music.
        from ollm_tui.providers.openai_compatible.localai_media import make_music

        return make_music(self._transport, request)

    def infill(self, request: Request) -> ProviderStream:
        """Refuse: its completions leave out the text after the gap without a word.

        Raises:
            AIError: UNSUPPORTED_FEATURE.
        """
        raise not_offered(self.label, "infill")

    async def list_running(self) -> Sequence[ModelInfo]:
        """Return the models in memory.

        Raises:
            AIError: any failure; PERMISSION_DENIED when the key is not an administrator's.
        """
        loaded = await self._root_json("GET", "/system")
        return [info for info in with_loaded(await self._models(), loaded) if info.loaded]

    async def unload_model(self, name: str) -> None:
        """Shut down the process of a model.

        Raises:
            AIError: any failure.
        """
        await self._root_json("POST", "/backend/shutdown", {"model": name})

    async def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Have the server install a model of its galleries, or by the URL of a configuration.

        The job is the server's: it continues when the iterator is closed.

        Raises:
            AIError: any failure, including that of the job; MODEL_NOT_FOUND when no gallery has
                the model.
        """
        endpoint = self._transport.endpoint
        job = await self._install(name)
        shown = None
        path = f"/models/jobs/{quote(job, safe='')}"
        async for reply in poll(lambda: self._root_json("GET", path)):
            progress = read_job(reply, job)
            progress = replace(progress, status=shown_status(endpoint, progress.status))
            if progress != shown:
                yield progress
                shown = progress
            if failure := job_failure(reply):
                raise not_pulled(endpoint, name, failure)
            if as_object(reply).get("processed") is True:
                yield PullProgress(status="success")
                return

    async def delete_model(self, name: str) -> None:
        """Delete a model and its files.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        models = {info.name for info in await self._models()}
        if name not in models:
            raise no_such_model(self._transport.endpoint, name, models)
        await self._root_json("POST", f"/models/delete/{quote(name, safe='')}")

    async def _install(self, name: str) -> str:
        body = {"url": name} if "://" in name else {"id": await self._in_gallery(name)}
        job = string(as_object(await self._root_json("POST", "/models/apply", body)), "uuid")
        if job is None:
            raise not_pulled(self._transport.endpoint, name, "it gave the job no name")
        return job

    async def _in_gallery(self, name: str) -> str:
        within_s = self._transport.spec.first_byte_timeout_s  # it downloads its galleries first
        available = read_gallery(
            await self._root_json("GET", "/models/available", within_s=within_s)
        )
        if available and name not in available:
            raise no_such_model(self._transport.endpoint, name, available)
        return name

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        return with_loaded(await self._models(), await self._optional_json("/system"))

    async def _models(self) -> Sequence[ModelInfo]:
        models = read_capabilities(await self._optional_json("/v1/models/capabilities"))
        return await super()._fetch_models() if models is None else models

    async def _wait_until_ready(self, error: AIError) -> bool:
        if error.status != HTTPStatus.SERVICE_UNAVAILABLE or await self._is_ready():
            return False
        async for _ in poll_ticks():
            if await self._is_ready():
                return True
        return False

    async def _is_ready(self) -> bool:
        """Whether the server has started; one that cannot be reached counts as started."""
        try:
            await self._root_json("GET", "/readyz")
        except AIError as error:
            return error.status != HTTPStatus.SERVICE_UNAVAILABLE
        return True


def read_capabilities(reply: JsonValue) -> list[ModelInfo] | None:
    """Read `/v1/models/capabilities`; None if there is none.

    Models that neither chat nor make anything that can be asked for are left out.
    """
    entries = as_object(reply).get("data")
    if not isinstance(entries, list):
        return None
    models = []
    for entry in objects(entries):
        name, uses = string(entry, "id"), strings(entry.get("capabilities"))
        capability = _capability(entry, uses)
        if name is None or (uses and capability is None):
            continue
        models.append(
            ModelInfo(
                name=name,
                capability=capability,
                context=positive(entry, "context_size"),
            )
        )
    return models


def with_loaded(models: Sequence[ModelInfo], reply: JsonValue) -> list[ModelInfo]:
    """Add which models are in memory, by the reply of `/system`; unknown without one."""
    loaded = as_object(reply).get("loaded_models")
    if not isinstance(loaded, list):
        return [*models]
    names = {string(entry, "id") for entry in objects(loaded)}
    return [replace(info, loaded=info.name in names) for info in models]


def read_gallery(reply: JsonValue) -> set[str]:
    """Return the names in `/models/available`, with and without the gallery's name."""
    names = set()
    for entry in objects(reply):
        if name := string(entry, "name"):
            names.add(name)
            if gallery := string(as_object(entry.get("gallery")), "name"):
                names.add(f"{gallery}@{name}")
    return names


def read_job(reply: JsonValue, name: str) -> PullProgress:
    """Return the progress of a job of `/models/jobs`; sizes are text there, and rounded."""
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


def job_failure(reply: JsonValue) -> str | None:
    """Return why a job failed, or None if it has not. Older versions send an empty error."""
    job = as_object(reply)
    if job.get("cancelled") is True:
        return "it was cancelled"
    error = job.get("error")
    if error is None or error == "":
        return None
    return error if isinstance(error, str) else string(job, "message") or "no reason was given"


def _capability(entry: JsonObject, uses: Sequence[str]) -> ModelCapability | None:
    if not _CHATS.intersection(uses):
        return next((_OTHER_USES[use] for use in uses if use in _OTHER_USES), None)
    inputs = {"image", "audio", "video"}.intersection(strings(entry.get("input_modalities")))
    inputs |= {"image"} if "vision" in uses else set()
    # The server parses tool calls from the text of any model, and says nothing about one.
    features = CHAT_FEATURES | {"tool_use", "json_mode", "thinking"}
    return ModelCapability(TEXT | inputs, TEXT, features)


def _size(job: JsonObject, key: str) -> int | None:
    size = _SIZE.fullmatch((string(job, key) or "").strip())
    return round(float(size[1]) * 1024 ** _POWERS[size[2]]) if size else None

"""LocalAI: models of many kinds, which it installs from galleries."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelInfo, PullProgress
from ollm_tui.providers.openai_compatible.localai_models import (
    failure_of,
    read_described,
    read_gallery,
    read_job,
    with_loaded,
)
from ollm_tui.providers.openai_compatible.model_errors import no_such_model, not_pulled
from ollm_tui.providers.openai_compatible.paced import followed, paced
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.openai_compatible.token_reply import tokens_listed
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

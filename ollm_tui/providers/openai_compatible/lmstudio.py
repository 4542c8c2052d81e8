"""LM Studio: its own API lists, loads, unloads and downloads models beside the common one."""

from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import quote

from ollm_tui.decode.json_fields import as_object, integer, objects, positive, string, strings
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.openai_compatible.models import CHAT_FEATURES, TEXT
from ollm_tui.providers.openai_compatible.operations import (
    followed,
    no_such_model,
    not_pulled,
    too_old,
)
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec

_FIRST_WITH_MODELS = "0.4.0"
_UNREACHED = (ErrorCode.TIMEOUT, ErrorCode.SERVICE_UNAVAILABLE)
LONGEST_STATUS = 200
_DONE = frozenset({"completed", "already_downloaded"})


class LMStudioProvider(OpenAICompatibleProvider):
    """An LM Studio server; a model that is not in memory is loaded by its first request."""

    async def show_model(self, name: str) -> ModelInfo:
        """Give what the server's list says of one model.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        return await self._one_listed(name)

    async def list_running(self) -> Sequence[ModelInfo]:
        """Give the models in memory.

        Raises:
            AIError: any failure.
        """
        return [info for info in await self._listed() if info.loaded]

    async def load_model(self, name: str) -> None:
        """Load a model; the server answers when it is ready, which may take minutes.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE from a version before 0.4.0.
        """
        within_s = self._transport.spec.first_byte_timeout_s
        await self._own("POST", "load", {"model": name}, "load models", within_s)

    async def unload_model(self, name: str) -> None:
        """Drop every loaded instance of a model; without one there is nothing to do.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        instances = read_instances(await self._own("GET", "", None, "unload models"), name)
        if instances is None:
            raise no_such_model(self._transport.place, name)
        for instance in instances:
            await self._own("POST", "unload", {"instance_id": instance}, "unload models")

    async def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Have the server fetch a model of its catalog, or of a Hugging Face address.

        The download is the server's: it goes on when nobody looks any more, and pauses and resumes
        there. A repeated call joins it.

        Raises:
            AIError: any failure, also of the download.
        """
        job = as_object(await self._own("POST", "download", {"model": name}, "download models"))
        place = self._transport.place
        shown = None
        async for told in self._told(job):
            progress, status = _progress(told, place), string(told, "status")
            if progress != shown:
                yield progress
                shown = progress
            if status in _DONE:
                yield PullProgress(status="success")
                return
            if status == "failed" or not told.get("job_id"):
                raise not_pulled(place, name, None)

    async def _told(self, job: JsonObject) -> AsyncIterator[JsonObject]:
        """Give a job as it began, and then what the server says of it."""
        yield job
        path = f"download/status/{quote(string(job, 'job_id') or '', safe='')}"
        async for told in followed(lambda: self._own("GET", path, None, "download models")):
            yield {"job_id": job.get("job_id"), **told}

    def _keys(self, spec: ProviderSpec) -> Mapping[str, str]:
        """Give the key in the header that the server reads, and in the one that gateways do."""
        keys = dict(super()._keys(spec))
        return keys | ({"x-api-key": spec.api_key} if spec.api_key else {})

    async def _listed(self) -> Sequence[ModelInfo]:
        for path in ("/api/v1/models", "/api/v0/models"):
            try:
                models = read_lmstudio(await self._at_root("GET", path))
            except AIError as error:
                if error.status is None and error.code in _UNREACHED:
                    raise  # nor would it answer elsewhere
            else:
                if models:
                    return models
        return await super()._listed()

    async def _own(
        self,
        method: str,
        path: str,
        body: JsonMapping | None,
        action: str,
        within_s: float | None = None,
    ) -> JsonObject:
        """Ask LM Studio's own API; versions without it answer 404, or 200 with an error."""
        url = "/api/v1/models" + (f"/{path}" if path else "")
        place = self._transport.place
        try:
            reply = as_object(await self._at_root(method, url, body, within_s=within_s))
        except AIError as error:
            if error.status == HTTPStatus.NOT_FOUND and "endpoint" in error.message:
                raise too_old(place, action, _FIRST_WITH_MODELS) from error
            raise
        if is_error(reply):
            failure = stream_error(reply, place)
            if "endpoint" in failure.message:
                raise too_old(place, action, _FIRST_WITH_MODELS)
            raise failure
        return reply


def _progress(job: JsonObject, place: Endpoint) -> PullProgress:
    """Give how far a job is; one that stands still says so in place of its bytes."""
    words = place.redacted(string(job, "status") or "downloading")
    status = words.replace("_", " ")[:LONGEST_STATUS]
    total = integer(job, "total_size_bytes")
    if total is None or string(job, "status") not in (None, "downloading", "completed"):
        return PullProgress(status=status)
    completed = integer(job, "downloaded_bytes")
    return PullProgress(
        status=status, digest=string(job, "job_id"), completed=completed, total=total
    )


_OURS = MappingProxyType({"context_length": "num_ctx"})


def read_lmstudio(reply: JsonValue) -> list[ModelInfo]:
    """Read either list; embedding models are left out."""
    data = as_object(reply)
    if isinstance(data.get("models"), list):
        entries = [e for e in objects(data.get("models")) if string(e, "type") != "embedding"]
        return [_newer(entry) for entry in entries if string(entry, "key")]
    entries = [e for e in objects(data.get("data")) if string(e, "type") != "embeddings"]
    return [_older(entry) for entry in entries if string(entry, "id")]


def read_instances(reply: JsonValue, name: str) -> list[str] | None:
    """Give the ids of a model's loaded instances; None when there is no such model.

    The name may also be the id of an instance.
    """
    for entry in objects(as_object(reply).get("models")):
        ids = [i for one in objects(entry.get("loaded_instances")) if (i := string(one, "id"))]
        if string(entry, "key") == name:
            return ids
        if name in ids:
            return [name]
    return None


def _newer(entry: JsonObject) -> ModelInfo:
    instances = objects(entry.get("loaded_instances"))
    name = string(entry, "key") or ""
    # Asked by its key, a model answers through the instance that has the key for an id.
    used = next((one for one in instances if string(one, "id") == name), None)
    used = used or (instances[0] if instances else {})
    quantization = string(as_object(entry.get("quantization")), "name")
    details = _details(entry, architecture="family", params_string="parameter_size")
    config = as_object(used.get("config"))
    if config:
        details["load_config"] = {_OURS.get(key, key): value for key, value in config.items()}
    return ModelInfo(
        name=name,
        label=string(entry, "display_name"),
        description=string(entry, "description"),
        size_bytes=integer(entry, "size_bytes"),
        capability=_capability(as_object(entry.get("capabilities"))),
        context=positive(config, "context_length"),
        loaded=bool(instances),
        details=details | ({"quantization": quantization} if quantization else {}),
    )


def _capability(told: JsonObject) -> ModelCapability:
    features = set(CHAT_FEATURES) if told else set()
    features |= {"tool_use"} if told.get("trained_for_tool_use") is True else set()
    features |= {"thinking"} if told.get("reasoning") else set()
    inputs = TEXT | ({"image"} if told.get("vision") is True else set())
    return ModelCapability(inputs, TEXT, frozenset(features))


def _older(entry: JsonObject) -> ModelInfo:
    inputs = TEXT | ({"image"} if string(entry, "type") == "vlm" else set())
    features: frozenset[str] = frozenset()
    if isinstance(entry.get("capabilities"), list):  # versions before it leave tools unknown
        told = strings(entry.get("capabilities"))
        features = CHAT_FEATURES | ({"tool_use"} if "tool_use" in told else set())
    return ModelInfo(
        name=string(entry, "id") or "",
        capability=ModelCapability(inputs, TEXT, features),
        context=positive(entry, "loaded_context_length"),
        loaded=string(entry, "state") == "loaded",
        details=_details(entry, arch="family", quantization="quantization"),
    )


def _details(entry: JsonObject, **names: str) -> JsonObject:
    names |= {"publisher": "publisher", "format": "format", "compatibility_type": "format"}
    found = {ours: said for theirs, ours in names.items() if (said := string(entry, theirs))}
    longest = positive(entry, "max_context_length")
    return {**found, **({} if longest is None else {"context_trained": longest})}

"""LM Studio: chat at the common API; models are listed, loaded and downloaded at its own."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import quote

from ollm_tui.decode.json_fields import (
    as_object,
    integer,
    objects,
    positive,
    present,
    string,
    strings,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.openai_compatible.models import CHAT_FEATURES, EMBEDS, TEXT
from ollm_tui.providers.openai_compatible.operations import (
    no_such_model,
    not_pulled,
    poll,
    shown_status,
    too_old,
)
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec

_FIRST_WITH_MODELS = "0.4.0"
_UNREACHABLE = (ErrorCode.TIMEOUT, ErrorCode.SERVICE_UNAVAILABLE)
_DONE = frozenset({"completed", "already_downloaded"})
_OURS = MappingProxyType({"context_length": "num_ctx"})


class LMStudioProvider(OpenAICompatibleProvider):
    """An LM Studio server; a request to a model that is not loaded loads it."""

    async def show_model(self, name: str) -> ModelInfo:
        """Return the entry of one model in the server's list.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        return await self._fetch_model(name)

    async def list_running(self) -> Sequence[ModelInfo]:
        """Return the models in memory.

        Raises:
            AIError: any failure.
        """
        return [info for info in await self._fetch_models() if info.loaded]

    async def load_model(self, name: str) -> None:
        """Load a model; the server replies when it is ready, which may take minutes.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE from a version before 0.4.0.
        """
        within_s = self._transport.spec.first_byte_timeout_s
        await self._native_json("POST", "load", {"model": name}, "load models", within_s)

    async def unload_model(self, name: str) -> None:
        """Unload every loaded instance of a model. A no-op if there is none.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND.
        """
        instances = read_instances(await self._native_json("GET", "", None, "unload models"), name)
        if instances is None:
            raise no_such_model(self._transport.endpoint, name)
        for instance in instances:
            await self._native_json("POST", "unload", {"instance_id": instance}, "unload models")

    async def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        """Have the server download a model of its catalog, or of a Hugging Face address.

        The download is a job of the server: it continues when the iterator is closed, and is
        paused and resumed there. Repeating the call joins it.

        Raises:
            AIError: any failure, including that of the download.
        """
        job = await self._native_json("POST", "download", {"model": name}, "download models")
        endpoint = self._transport.endpoint
        shown = None
        async for state in self._job_states(job):
            progress, status = _progress(state, endpoint), string(state, "status")
            if progress != shown:
                yield progress
                shown = progress
            if status in _DONE:
                yield PullProgress(status="success")
                return
            if status == "failed" or not state.get("job_id"):
                raise not_pulled(endpoint, name, None)

    async def _job_states(self, job: JsonObject) -> AsyncIterator[JsonObject]:
        yield job
        path = f"download/status/{quote(string(job, 'job_id') or '', safe='')}"
        async for state in poll(lambda: self._native_json("GET", path, None, "download models")):
            yield {"job_id": job.get("job_id"), **state}

    def _auth_headers(self, spec: ProviderSpec) -> Mapping[str, str]:
        """Return the key in the header that the server reads, and in the one for gateways."""
        headers = dict(super()._auth_headers(spec))
        return headers | ({"x-api-key": spec.api_key} if spec.api_key else {})

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        for path in ("/api/v1/models", "/api/v0/models"):
            try:
                models = read_lmstudio(await self._root_json("GET", path))
            except AIError as error:
                if error.status is None and error.code in _UNREACHABLE:
                    raise  # nor would it answer at the other path
            else:
                if models:
                    return models
        return await super()._fetch_models()

    async def _native_json(
        self,
        method: str,
        path: str,
        body: JsonMapping | None,
        action: str,
        within_s: float | None = None,
    ) -> JsonObject:
        """Send a request to LM Studio's own API; older versions reply 404, or an error at 200."""
        url = "/api/v1/models" + (f"/{path}" if path else "")
        endpoint = self._transport.endpoint
        try:
            reply = as_object(await self._root_json(method, url, body, within_s=within_s))
        except AIError as error:
            if error.status == HTTPStatus.NOT_FOUND and "endpoint" in error.message:
                raise too_old(endpoint, action, _FIRST_WITH_MODELS) from error
            raise
        if is_error(reply):
            failure = stream_error(reply, endpoint)
            if "endpoint" in failure.message:
                raise too_old(endpoint, action, _FIRST_WITH_MODELS)
            raise failure
        return reply


def _progress(job: JsonObject, endpoint: Endpoint) -> PullProgress:
    """Return a job's progress; one that is paused has a status in place of its bytes."""
    status = shown_status(endpoint, string(job, "status") or "downloading").replace("_", " ")
    total = integer(job, "total_size_bytes")
    if total is None or string(job, "status") not in (None, "downloading", "completed"):
        return PullProgress(status=status)
    completed = integer(job, "downloaded_bytes")
    return PullProgress(
        status=status, digest=string(job, "job_id"), completed=completed, total=total
    )


def read_lmstudio(reply: JsonValue) -> list[ModelInfo]:
    """Read the list of either version."""
    data = as_object(reply)
    if isinstance(data.get("models"), list):
        entries = objects(data.get("models"))
        models = [_current_model(entry) for entry in entries if string(entry, "key")]
    else:
        entries = objects(data.get("data"))
        models = [_v0_model(entry) for entry in entries if string(entry, "id")]
    embedding = {
        string(entry, "key") or string(entry, "id")
        for entry in entries
        if string(entry, "type") in ("embedding", "embeddings")
    }
    return [replace(info, capability=EMBEDS) if info.name in embedding else info for info in models]


def read_instances(reply: JsonValue, name: str) -> list[str] | None:
    """Return the ids of a model's loaded instances, or None if there is no such model.

    `name` may also be the id of an instance.
    """
    for entry in objects(as_object(reply).get("models")):
        ids = [i for one in objects(entry.get("loaded_instances")) if (i := string(one, "id"))]
        if string(entry, "key") == name:
            return ids
        if name in ids:
            return [name]
    return None


def _current_model(entry: JsonObject) -> ModelInfo:
    instances = objects(entry.get("loaded_instances"))
    name = string(entry, "key") or ""
    # A request by the model's key is answered by the instance whose id is that key.
    used = next((one for one in instances if string(one, "id") == name), None)
    used = used or (instances[0] if instances else {})
    quantization = string(as_object(entry.get("quantization")), "name")
    details = _details(entry, architecture="family", params_string="parameter_size")
    config = as_object(used.get("config"))
    load_config = {_OURS.get(key, key): value for key, value in config.items()}
    return ModelInfo(
        name=name,
        label=string(entry, "display_name"),
        description=string(entry, "description"),
        size_bytes=integer(entry, "size_bytes"),
        capability=_capability(as_object(entry.get("capabilities"))),
        context=positive(config, "context_length"),
        loaded=bool(instances),
        details=present(
            {**details, "load_config": load_config or None, "quantization": quantization}
        ),
    )


def _capability(declared: JsonObject) -> ModelCapability:
    features = set(CHAT_FEATURES) if declared else set()
    features |= {"tool_use"} if declared.get("trained_for_tool_use") is True else set()
    features |= {"thinking"} if declared.get("reasoning") else set()
    inputs = TEXT | ({"image"} if declared.get("vision") is True else set())
    return ModelCapability(inputs, TEXT, frozenset(features))


def _v0_model(entry: JsonObject) -> ModelInfo:
    inputs = TEXT | ({"image"} if string(entry, "type") == "vlm" else set())
    features: frozenset[str] = frozenset()
    if isinstance(entry.get("capabilities"), list):  # older versions leave tools unknown
        declared = strings(entry.get("capabilities"))
        features = CHAT_FEATURES | ({"tool_use"} if "tool_use" in declared else set())
    return ModelInfo(
        name=string(entry, "id") or "",
        capability=ModelCapability(inputs, TEXT, features),
        context=positive(entry, "loaded_context_length"),
        loaded=string(entry, "state") == "loaded",
        details=_details(entry, arch="family", quantization="quantization"),
    )


def _details(entry: JsonObject, **names: str) -> JsonObject:
    names |= {"publisher": "publisher", "format": "format", "compatibility_type": "format"}
    details = {ours: text for theirs, ours in names.items() if (text := string(entry, theirs))}
    return present({**details, "context_trained": positive(entry, "max_context_length")})

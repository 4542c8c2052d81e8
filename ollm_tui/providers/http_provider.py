"""What the adapters over HTTP share: the connection, whole answers, default keys, token counts."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ollm_tui.decode.json_fields import as_object, positive
from ollm_tui.models.thinking_switch import TEMPLATE_ARGUMENTS, USUAL_VARIABLE, variable_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.request import Request, Response, plan_of
from ollm_tui.providers.http_faults import MODEL_HINT, Endpoint
from ollm_tui.providers.media.answer import answer
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import Transport

_CAPABILITY = ModelCapability(
    frozenset({"text", "image"}),
    frozenset({"text"}),
    frozenset({"stream", "multi_turn", "system_prompt", "tool_use", "thinking", "json_mode"}),
)
_OPTION_NAMES: Mapping[str, str] = {
    "max_completion_tokens": "max_tokens",
    "repetition_penalty": "repeat_penalty",
    "rep_pen": "repeat_penalty",
    "stop_sequences": "stop",
}
"""Keys of request bodies that are options under another name."""
_THINKING_KEYS = frozenset({"reasoning_effort", "thinking", "output_config"})


class HttpProvider(ABC):
    """One server; a subclass speaks its protocol.

    The hints are what to do if no server listens at `url`, and if it does not have a model.
    """

    streaming_format: StreamingFormat

    def __init__(
        self, spec: ProviderSpec, url: str, start_hint: str, model_hint: str = MODEL_HINT
    ) -> None:
        self.name = spec.name
        self.label = spec.label or spec.name
        endpoint = Endpoint(self.name, self.label, "", start_hint, model_hint)
        self._transport = Transport(spec, url, endpoint, self._auth_headers(spec))

    @abstractmethod
    def chat_stream(self, request: Request) -> ProviderStream:
        """Send a chat request and stream its answer."""

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Return the whole answer, or its stream if `request.stream` is set.

        Raises:
            AIError: any failure; ABORTED by the request's signal.
        """
        return await answer(self, request)

    def capabilities(self) -> Sequence[ModelCapability]:
        """Return what the server can do with a model that is made for it."""
        return (_CAPABILITY,)

    async def dispose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _auth_headers(self, spec: ProviderSpec) -> Mapping[str, str]:
        return {"authorization": f"Bearer {spec.api_key}"} if spec.api_key else {}

    def _with_defaults(self, request: Request) -> Request:
        return with_default_keys(request, self._transport.spec.extra_body)


def with_default_keys(request: Request, keys: JsonMapping) -> Request:
    """Return the request with a provider's keys for bodies; its own take precedence."""
    if not keys:
        return request
    own = request.options.extra_body or {}
    added = {key: value for key, value in keys.items() if not _is_set(request, key)}
    merged: JsonObject = {**added, **own}
    if TEMPLATE_ARGUMENTS in added and isinstance(own.get(TEMPLATE_ARGUMENTS), Mapping):
        merged[TEMPLATE_ARGUMENTS] = _merge(added[TEMPLATE_ARGUMENTS], own[TEMPLATE_ARGUMENTS])
    plan = plan_of(request)
    if plan.is_on is not None and isinstance(added.get(TEMPLATE_ARGUMENTS), Mapping):
        switches = {USUAL_VARIABLE, variable_of(plan)}
        given = as_object(own.get(TEMPLATE_ARGUMENTS))
        merged[TEMPLATE_ARGUMENTS] = _without(
            switches.difference(given), merged[TEMPLATE_ARGUMENTS]
        )
    return replace(request, options=replace(request.options, extra_body=merged))


def _is_set(request: Request, key: str) -> bool:
    if key in _THINKING_KEYS and plan_of(request).is_on is not None:
        return True
    option = _OPTION_NAMES.get(key, key)
    return option != "extra_body" and getattr(request.options, option, None) is not None


def _merge(ours: JsonValue, theirs: JsonValue) -> JsonValue:
    return ours | theirs if isinstance(ours, dict) and isinstance(theirs, dict) else theirs


def _without(names: Collection[str | None], arguments: JsonValue) -> JsonValue:
    """Leave the variables that switch thinking to the request's plan."""
    if not isinstance(arguments, dict):
        return arguments
    return {key: value for key, value in arguments.items() if key not in names}


def read_token_count(reply: JsonValue, key: str) -> int:
    """Return the number under `key`.

    Raises:
        AIError: ENGINE_ERROR if there is none.
    """
    count = positive(as_object(reply), key)
    if count is None:
        raise no_token_count()
    return count


def count_tokens_in(reply: JsonValue, key: str) -> int:
    """Return the length of the list under `key`.

    Raises:
        AIError: ENGINE_ERROR if there is none, or if it is empty.
    """
    tokens = as_object(reply).get(key)
    if not isinstance(tokens, list) or not tokens:
        raise no_token_count()
    return len(tokens)


def no_token_count() -> AIError:
    """The server replied without a count."""
    return AIError(ErrorCode.ENGINE_ERROR, "The server's reply has no token count.")

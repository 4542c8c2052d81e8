"""Which engine a server is, by its replies to a few requests; pure.

Engines imitate each other: the table of backends has the order in which predicates are tried.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from ollm_tui.config.backends import BACKENDS, Backend
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.json_fields import as_object, objects, string
from ollm_tui.lazy import import_name
from ollm_tui.protocol.json_types import JsonObject, JsonValue

KOBOLD_VERSION = "/api/extra/version"
LLAMACPP_PROPS = "/props"
LMSTUDIO_MODELS = "/api/v1/models"
OLD_LMSTUDIO_MODELS = "/api/v0/models"
LOCALAI_CARD = "/.well-known/localai.json"
LOCALAI_READY = "/readyz"
VERSION = "/version"
OPENAI_MODELS = "/v1/models"
OLLAMA_VERSION = "/api/version"
OLLAMA_TAGS = "/api/tags"
PATHS = (
    KOBOLD_VERSION, LLAMACPP_PROPS, LMSTUDIO_MODELS, OLD_LMSTUDIO_MODELS, LOCALAI_CARD,
    LOCALAI_READY, VERSION, OPENAI_MODELS, OLLAMA_VERSION, OLLAMA_TAGS,
)  # fmt: skip
"""The paths below a server's root that are requested, without a key, to identify it."""
_OTHERS: Mapping[str, str] = {
    "sglang": "SGLang",
    "tabbyapi": "TabbyAPI",
    "pygmalionai": "Aphrodite",
}
"""Labels of servers without a row in the table, by the `owned_by` of their models."""
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
MAX_VERSION_LENGTH = 40


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """A server's reply to one request."""

    status: int
    body: JsonValue = None
    """The parsed JSON; None if it was not JSON, too long or not complete in time."""
    server: str = ""
    """Its `Server` header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The identified engine."""

    backend: str | None = None
    """A name of the table of backends; None for any other server."""
    label: str
    version: str | None = None
    """As the server reports it, cleaned."""
    speaks_openai: bool = False
    """Whether it lists models as OpenAI does, or may do so with a key."""
    wants_key: bool = False
    """Whether it refuses requests without a key."""


Replies = Mapping[str, ProbeReply]
"""What a server replied, by path."""
_SIGNATURES = sorted(
    ((signature, row) for row in BACKENDS for signature in row.signatures),
    key=lambda pair: pair[0].order,
)


def identify(replies: Replies) -> Engine | None:
    """Identify the engine from its replies to `PATHS`; None if there are no replies."""
    if not replies:
        return None
    listing = replies.get(OPENAI_MODELS, ProbeReply(0))
    wants_key = listing.status in _REFUSED or (
        # llama.cpp lists its models without a key, but does not chat without one.
        is_llamacpp(replies) and replies.get(LLAMACPP_PROPS, ProbeReply(0)).status in _REFUSED
    )
    if row := _matching_row(replies):
        return Engine(
            backend=row.name,
            label=row.label,
            version=_version(replies, row),
            speaks_openai=True,
            wants_key=wants_key,
        )
    lists = _owners(listing) is not None or _fails_to_list(replies)
    return Engine(
        label=_other(listing) if lists else "a server of another kind",
        speaks_openai=lists or wants_key,
        wants_key=wants_key,
    )


def _matching_row(replies: Replies) -> Backend | None:
    is_complete = replies.keys() >= set(PATHS)
    for signature, row in _SIGNATURES:
        if is_complete or not signature.needs_all_replies:
            matches: Callable[[Replies], bool] = import_name(signature.test)
            if matches(replies):
                return row
    return None


def _fails_to_list(replies: Replies) -> bool:
    """Whether the server has a list of models but fails to send it, and not every path fails."""
    listing = replies.get(OPENAI_MODELS, ProbeReply(0))
    is_path_known = any(reply.status == HTTPStatus.NOT_FOUND for reply in replies.values())
    return listing.status == HTTPStatus.INTERNAL_SERVER_ERROR and is_path_known


def _other(listing: ProbeReply) -> str:
    owners = _owners(listing) or frozenset()
    known = (_OTHERS[owner] for owner in sorted(owners) if owner in _OTHERS)
    return next(known, "OpenAI-compatible server")


def is_kobold(replies: Replies) -> bool:
    """Whether this is KoboldCpp."""
    return string(_object(replies, KOBOLD_VERSION), "result") == "KoboldCpp"


def is_llamacpp_router(replies: Replies) -> bool:
    """Whether this is a llama.cpp server that was started without a model."""
    if not is_llamacpp(replies):
        return False
    # Without the key it hides its role, but its list of models is open and has states.
    entries = objects(_object(replies, OPENAI_MODELS).get("data"))
    return _object(replies, LLAMACPP_PROPS).get("role") == "router" or any(
        string(as_object(entry.get("status")), "value") for entry in entries
    )


def is_llamacpp(replies: Replies) -> bool:
    """Whether this is a llama.cpp server."""
    # The header is on every reply, also while the model loads or if a key is missing.
    return (
        any(reply.server == "llama.cpp" for reply in replies.values())
        or "default_generation_settings" in _object(replies, LLAMACPP_PROPS)
        or "llamacpp" in (_owners(replies.get(OPENAI_MODELS)) or ())
    )


def is_lmstudio(replies: Replies) -> bool:
    """Whether this is LM Studio."""
    new = objects(_object(replies, LMSTUDIO_MODELS).get("models"))
    old = objects(_object(replies, OLD_LMSTUDIO_MODELS).get("data"))
    return any("key" in entry for entry in new) or any(
        "state" in entry or "compatibility_type" in entry for entry in old
    )


def is_empty_lmstudio(replies: Replies) -> bool:
    """Whether this is LM Studio without any model."""
    return _object(replies, LMSTUDIO_MODELS).get("models") == [] and not is_ollama(replies)


def is_localai(replies: Replies) -> bool:
    """Whether this is LocalAI."""
    if "endpoints" in _object(replies, LOCALAI_CARD):
        return True
    ready = replies.get(LOCALAI_READY, ProbeReply(0))
    return (
        ready.status == HTTPStatus.OK
        and string(_object(replies, VERSION), "version") is not None
        and _owners(replies.get(OPENAI_MODELS)) is not None
    )


def is_vllm(replies: Replies) -> bool:
    """Whether this is vLLM."""
    if string(_object(replies, VERSION), "version") is None:
        return False
    listing = replies.get(OPENAI_MODELS, ProbeReply(0))
    owners = _owners(listing)
    return listing.status in _REFUSED if owners is None else owners <= {"vllm"}


def is_sdcpp(replies: Replies) -> bool:
    """Whether this is the server of stable-diffusion.cpp."""
    entries = objects(_object(replies, OPENAI_MODELS).get("data"))
    return [string(entry, "id") for entry in entries] == ["sd-cpp-local"]


def is_ollama(replies: Replies) -> bool:
    """Whether this is Ollama, or an engine that imitates it."""
    return string(_object(replies, OLLAMA_VERSION), "version") is not None and "models" in _object(
        replies, OLLAMA_TAGS
    )


def _owners(listing: ProbeReply | None) -> frozenset[str] | None:
    """Return every `owned_by` of an OpenAI-style model list; None if this is no such list."""
    if listing is None or listing.status != HTTPStatus.OK:
        return None
    body = listing.body
    entries = objects(body)  # some services send the list alone
    if not entries:
        data = as_object(body).get("data")
        if not isinstance(data, list):
            return None
        entries = objects(data)
    return frozenset(owner for entry in entries if (owner := string(entry, "owned_by")))


def _version(replies: Replies, row: Backend) -> str | None:
    path, key = row.version_at or ("", "")
    version = string(_object(replies, path), key)
    return clean_line(version[:MAX_VERSION_LENGTH]) if version else None


def _object(replies: Replies, path: str) -> JsonObject:
    reply = replies.get(path)
    return as_object(reply.body) if reply and reply.status == HTTPStatus.OK else {}

"""Which engine a server is, by what only that engine says; pure.

Engines imitate each other: KoboldCpp and llama.cpp list models as Ollama does, llama.cpp and LM
Studio answer as Anthropic does, and several tell their version in the same place. So each is known
by a sign of its own, and those that are imitated come last. These need all answers: where one is
missing, it may be the one that betrays an imitation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType

from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.json_fields import as_object, objects, string
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
ROUTER = "llamacpp-router"
"""llama.cpp that was started without a model and manages many."""
PATHS = (
    KOBOLD_VERSION,
    LLAMACPP_PROPS,
    LMSTUDIO_MODELS,
    OLD_LMSTUDIO_MODELS,
    LOCALAI_CARD,
    LOCALAI_READY,
    VERSION,
    OPENAI_MODELS,
    OLLAMA_VERSION,
    OLLAMA_TAGS,
)
"""What is asked of a server to know it, below its root and without a key."""
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "ollama": "Ollama",
        "vllm": "vLLM",
        "lmstudio": "LM Studio",
        "localai": "LocalAI",
        "kobold": "KoboldCpp",
        "llamacpp": "llama.cpp",
        ROUTER: "llama.cpp router",
    }
)
_OTHERS: Mapping[str, str] = MappingProxyType(
    {"sglang": "SGLang", "tabbyapi": "TabbyAPI", "pygmalionai": "Aphrodite"}
)
"""Servers without a backend of their own here, by the owner that their models have."""
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
LONGEST_VERSION = 40


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """What a server answered at one path."""

    status: int
    body: JsonValue = None
    """Its JSON; None when it was no JSON, too long or not sent in time."""
    server: str = ""
    """Its `Server` header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Who a server turned out to be."""

    backend: str | None = None
    """`ollama`, or one of the backends of the settings; None for any other."""
    label: str
    version: str | None = None
    """In the server's own words, cleaned."""
    speaks_openai: bool = False
    """Whether it lists models as OpenAI does, or may once it is given a key."""
    wants_key: bool = False
    """Whether it refuses a stranger: to list its models, or what is behind an open list."""


Answers = Mapping[str, ProbeReply]


def identify(answers: Answers) -> Engine | None:
    """Tell which engine gave these answers to PATHS; None when there were none."""
    if not answers:
        return None
    listing = answers.get(OPENAI_MODELS, ProbeReply(0))
    wants_key = listing.status in _REFUSED or (
        # Its list of models is open to everybody, and its chat is not.
        _is_llamacpp(answers) and answers.get(LLAMACPP_PROPS, ProbeReply(0)).status in _REFUSED
    )
    lists = _owners(listing) is not None or _fails_to_list(answers)
    signs = (*_SIGNS, *_WEAK_SIGNS) if answers.keys() >= set(PATHS) else _SIGNS
    for backend, sign in signs:
        if sign(answers):
            return Engine(
                backend=backend,
                label=LABELS[backend],
                version=_version(answers, backend),
                speaks_openai=True,
                wants_key=wants_key,
            )
    return Engine(
        label=_other(listing) if lists else "a server of another kind",
        speaks_openai=lists or wants_key,
        wants_key=wants_key,
    )


def _fails_to_list(answers: Answers) -> bool:
    """Whether there is such a list, which the server fails to give, and not every path fails."""
    listing = answers.get(OPENAI_MODELS, ProbeReply(0))
    is_path_known = any(heard.status == HTTPStatus.NOT_FOUND for heard in answers.values())
    return listing.status == HTTPStatus.INTERNAL_SERVER_ERROR and is_path_known


def _other(listing: ProbeReply) -> str:
    owners = _owners(listing) or frozenset()
    known = (_OTHERS[owner] for owner in sorted(owners) if owner in _OTHERS)
    return next(known, "OpenAI-compatible server")


def _is_kobold(answers: Answers) -> bool:
    return string(_object(answers, KOBOLD_VERSION), "result") == "KoboldCpp"


def _is_router(answers: Answers) -> bool:
    if not _is_llamacpp(answers):
        return False
    # Behind a key it does not tell its role, but the list of its models is open and has states.
    entries = objects(_object(answers, OPENAI_MODELS).get("data"))
    return _object(answers, LLAMACPP_PROPS).get("role") == "router" or any(
        string(as_object(entry.get("status")), "value") for entry in entries
    )


def _is_llamacpp(answers: Answers) -> bool:
    # The header stands on every reply, also while the model loads or a key is missing.
    return (
        any(heard.server == "llama.cpp" for heard in answers.values())
        or "default_generation_settings" in _object(answers, LLAMACPP_PROPS)
        or "llamacpp" in (_owners(answers.get(OPENAI_MODELS)) or ())
    )


def _is_lmstudio(answers: Answers) -> bool:
    new = objects(_object(answers, LMSTUDIO_MODELS).get("models"))
    old = objects(_object(answers, OLD_LMSTUDIO_MODELS).get("data"))
    return any("key" in entry for entry in new) or any(
        "state" in entry or "compatibility_type" in entry for entry in old
    )


def _is_empty_lmstudio(answers: Answers) -> bool:
    return _object(answers, LMSTUDIO_MODELS).get("models") == [] and not _is_ollama(answers)


def _is_localai(answers: Answers) -> bool:
    if "endpoints" in _object(answers, LOCALAI_CARD):
        return True
    ready = answers.get(LOCALAI_READY, ProbeReply(0))
    return (
        ready.status == HTTPStatus.OK
        and string(_object(answers, VERSION), "version") is not None
        and _owners(answers.get(OPENAI_MODELS)) is not None
    )


def _is_vllm(answers: Answers) -> bool:
    if string(_object(answers, VERSION), "version") is None:
        return False
    listing = answers.get(OPENAI_MODELS, ProbeReply(0))
    owners = _owners(listing)
    return listing.status in _REFUSED if owners is None else owners <= {"vllm"}


def _is_ollama(answers: Answers) -> bool:
    return string(_object(answers, OLLAMA_VERSION), "version") is not None and "models" in _object(
        answers, OLLAMA_TAGS
    )


_SIGNS: tuple[tuple[str, Callable[[Answers], bool]], ...] = (
    ("kobold", _is_kobold),
    (ROUTER, _is_router),
    ("llamacpp", _is_llamacpp),
    ("lmstudio", _is_lmstudio),
    ("localai", _is_localai),
)
_WEAK_SIGNS = (
    ("lmstudio", _is_empty_lmstudio),
    ("vllm", _is_vllm),
    ("ollama", _is_ollama),
)
_VERSIONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "kobold": (KOBOLD_VERSION, "version"),
        "llamacpp": (LLAMACPP_PROPS, "build_info"),
        ROUTER: (LLAMACPP_PROPS, "build_info"),
        "localai": (VERSION, "version"),
        "vllm": (VERSION, "version"),
        "ollama": (OLLAMA_VERSION, "version"),
    }
)


def _version(answers: Answers, backend: str) -> str | None:
    path, key = _VERSIONS.get(backend, ("", ""))
    said = string(_object(answers, path), key)
    return clean_line(said[:LONGEST_VERSION]) if said else None


def _owners(listing: ProbeReply | None) -> frozenset[str] | None:
    """Give who owns the models of an OpenAI-like list; None when there is no such list."""
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


def _object(answers: Answers, path: str) -> JsonObject:
    heard = answers.get(path)
    return as_object(heard.body) if heard and heard.status == HTTPStatus.OK else {}

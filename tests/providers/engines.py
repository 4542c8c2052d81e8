"""What each engine, and each imitation of one, answers at the paths by which engines are known.

In our own words after what these servers send: as much as tells them apart, and what misleads.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.providers.fingerprint import ProbeReply
from tests.support.http_server import Received, Reply

NOTHING: Mapping[str, object] = {"error": "not found"}
TAGS = {
    "models": [{"name": "m:latest", "model": "m:latest", "size": 7, "digest": "0a", "details": {}}]
}
REFUSED = {"error": {"message": "An API key is needed", "code": 401}}


def listing(*owners: str | None) -> dict[str, object]:
    """Make a list of models as OpenAI does, each with its owner or without one."""
    data = [
        {"id": f"m{number}", "object": "model"} | ({"owned_by": owner} if owner else {})
        for number, owner in enumerate(owners)
    ]
    return {"object": "list", "data": data}


@dataclass(frozen=True)
class Shape:
    """A server as a probe sees it."""

    backend: str | None
    """Which engine it is; None for one that has no backend of its own."""
    bodies: Mapping[str, object]
    version: str | None = None
    speaks_openai: bool = True
    wants_key: bool = False
    statuses: Mapping[str, int] = field(default_factory=dict)
    """Other than 200, by path."""
    otherwise: tuple[int, object] = (404, NOTHING)
    header: str = ""
    """What it calls itself in the `Server` header."""

    def reply_to(self, path: str) -> ProbeReply:
        """Give what a probe makes of one answer."""
        status, body = self.otherwise
        if path in self.bodies:
            status, body = self.statuses.get(path, 200), self.bodies[path]
        parsed = cast(JsonValue, None if isinstance(body, bytes) else body)
        return ProbeReply(status, parsed, self.header)

    async def __call__(self, request: Received, reply: Reply) -> None:
        """Answer as this server does."""
        status, body = self.otherwise
        if request.path in self.bodies:
            status, body = self.statuses.get(request.path, 200), self.bodies[request.path]
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        await reply.whole(raw, status, headers={"server": self.header})


PROPS = {
    "default_generation_settings": {"n_ctx": 4096, "params": {}},
    "total_slots": 1,
    "build_info": "b6500-0a1b2c3d",
    "modalities": {"vision": False, "audio": False},
}
LMSTUDIO_UNKNOWN = {"error": "Unexpected endpoint or method. (GET /it). Returning 200 anyway"}

SHAPES: Mapping[str, Shape] = {
    "ollama": Shape(
        "ollama",
        {
            "/api/version": {"version": "0.12.0"},
            "/api/tags": TAGS,
            "/v1/models": listing("library"),
        },
        "0.12.0",
    ),
    "ollama, empty": Shape(
        "ollama",
        {"/api/version": {"version": "0.1.9"}, "/api/tags": {"models": None}},
        "0.1.9",
    ),
    "ollama behind one that says the same to every question it does not know": Shape(
        "ollama",
        {"/api/version": {"version": "0.12.0"}, "/api/tags": TAGS},
        "0.12.0",
        otherwise=(200, {"models": []}),
    ),
    "kobold, which imitates ollama": Shape(
        "kobold",
        {
            "/api/extra/version": {"result": "KoboldCpp", "version": "1.121", "vision": False},
            "/api/version": {"version": "0.7.0"},
            "/api/tags": TAGS,
            "/v1/models": listing("koboldcpp"),
        },
        "1.121",
    ),
    "kobold with a password": Shape(
        "kobold",
        {
            "/api/extra/version": {"result": "KoboldCpp", "version": "1.90", "protected": True},
            "/v1/models": {"detail": {"error": "Unauthorized", "type": "unauthorized"}},
        },
        "1.90",
        wants_key=True,
        statuses={"/v1/models": 401},
    ),
    "llama.cpp, which imitates ollama": Shape(
        "llamacpp",
        {
            "/props": PROPS,
            "/api/tags": TAGS,
            "/api/version": {"version": "0.9.0"},
            "/v1/models": listing("llamacpp"),
        },
        "b6500-0a1b2c3d",
        header="llama.cpp",
    ),
    "llama.cpp behind a proxy that renames it": Shape(
        "llamacpp",
        {"/props": PROPS, "/v1/models": listing("llamacpp")},
        "b6500-0a1b2c3d",
        header="nginx",
    ),
    "llama.cpp that keeps its properties": Shape(
        "llamacpp",
        {
            "/props": {"error": {"code": 501, "type": "not_supported_error"}},
            "/v1/models": listing("llamacpp"),
        },
        statuses={"/props": 501},
    ),
    "llama.cpp while it loads": Shape(
        "llamacpp",
        {},
        otherwise=(503, {"error": {"code": 503, "message": "Loading model"}}),
        header="llama.cpp",
    ),
    "llama.cpp with a key": Shape(
        "llamacpp",
        {},
        wants_key=True,
        otherwise=(401, {"error": {"code": 401, "type": "authentication_error"}}),
        header="llama.cpp",
    ),
    "llama.cpp that routes": Shape(
        "llamacpp-router",
        {"/props": {"role": "router", "max_instances": 4}, "/v1/models": listing("llamacpp")},
        header="llama.cpp",
    ),
    "llama.cpp with a key and an open list": Shape(
        "llamacpp",
        {"/v1/models": listing("llamacpp")},
        wants_key=True,
        otherwise=(401, {"error": {"code": 401, "type": "authentication_error"}}),
        header="llama.cpp",
    ),
    "llama.cpp that routes behind a key": Shape(
        "llamacpp-router",
        {
            "/v1/models": {
                "data": [{"id": "m", "owned_by": "llamacpp", "status": {"value": "unloaded"}}]
            }
        },
        wants_key=True,
        otherwise=(401, {"error": {"code": 401, "type": "authentication_error"}}),
        header="llama.cpp",
    ),
    "one that fails over its list": Shape(
        None, {"/v1/models": b"Internal Server Error"}, statuses={"/v1/models": 500}
    ),
    "one that fails everywhere": Shape(
        None, {}, otherwise=(500, b"Internal Server Error"), speaks_openai=False
    ),
    "lm studio": Shape(
        "lmstudio",
        {
            "/api/v1/models": {"models": [{"type": "llm", "key": "a/m", "loaded_instances": []}]},
            "/v1/models": listing(None),
        },
        otherwise=(200, LMSTUDIO_UNKNOWN),
    ),
    "lm studio without models": Shape(
        "lmstudio",
        {"/api/v1/models": {"models": []}, "/v1/models": listing(None, None)},
        otherwise=(200, LMSTUDIO_UNKNOWN),
    ),
    "lm studio of before": Shape(
        "lmstudio",
        {
            "/api/v0/models": {"data": [{"id": "m", "type": "llm", "state": "not-loaded"}]},
            "/v1/models": listing("organization_owner"),
        },
        otherwise=(200, LMSTUDIO_UNKNOWN),
    ),
    "localai": Shape(
        "localai",
        {
            "/.well-known/localai.json": {
                "version": "v4.1 (0a)",
                "endpoints": {"models": "/v1/models"},
            },
            "/readyz": b"OK",
            "/version": {"version": "v4.1 (0a)"},
            "/v1/models": listing(None, None),
        },
        "v4.1 (0a)",
    ),
    "localai of before": Shape(
        "localai",
        {"/readyz": b"OK", "/version": {"version": "v2.9.0"}, "/v1/models": listing(None)},
        "v2.9.0",
    ),
    "localai that imitates ollama": Shape(
        "localai",
        {
            "/.well-known/localai.json": {"version": "v5", "endpoints": {}},
            "/version": {"version": "v5"},
            "/v1/models": listing(None),
            "/api/version": {"version": "0.9.0"},
            "/api/tags": TAGS,
        },
        "v5",
    ),
    "vllm": Shape(
        "vllm",
        {"/version": {"version": "0.11.0"}, "/v1/models": listing("vllm", "vllm")},
        "0.11.0",
        header="uvicorn",
    ),
    "vllm with a key": Shape(
        "vllm",
        {"/version": {"version": "0.11.0"}, "/v1/models": {"error": "Unauthorized"}},
        "0.11.0",
        wants_key=True,
        statuses={"/v1/models": 401},
    ),
    "sglang": Shape(None, {"/v1/models": listing("sglang")}),
    "aphrodite, which is like vllm": Shape(
        None, {"/version": {"version": "0.9"}, "/v1/models": listing("pygmalionai")}
    ),
    "a list without owners": Shape(None, {"/v1/models": listing(None)}),
    "a bare list": Shape(None, {"/v1/models": [{"id": "a"}]}),
    "a service with many models": Shape(
        None, {"/v1/models": listing("x"), "/api/v1/models": listing("x")}
    ),
    "a gateway with a key": Shape(None, {}, wants_key=True, otherwise=(401, REFUSED)),
    "another program that tells its version": Shape(
        None, {"/version": {"version": "1"}, "/api/version": {"version": "1"}}, speaks_openai=False
    ),
    "one that says the same everywhere": Shape(
        None, {}, otherwise=(200, {"version": "1", "status": "ok"}), speaks_openai=False
    ),
    "one that redirects": Shape(None, {}, otherwise=(302, b""), speaks_openai=False),
    "a web page": Shape(None, {}, otherwise=(200, b"<!doctype html><p>hello"), speaks_openai=False),
    "null": Shape(None, {}, otherwise=(200, None), speaks_openai=False),
    "no object": Shape(None, {}, otherwise=(200, ["ollama"]), speaks_openai=False),
    "wrong types": Shape(
        None,
        {
            "/api/extra/version": {"result": ["KoboldCpp"]},
            "/props": [1],
            "/api/v1/models": {"models": {"0": "m"}},
            "/api/v0/models": {"data": ["m", None]},
            "/version": {"version": 3},
            "/v1/models": {"data": "m"},
            "/api/version": {"version": None},
            "/api/tags": "m",
        },
        speaks_openai=False,
    ),
    "nested deeply": Shape(None, {}, otherwise=(200, b"[" * 100_000), speaks_openai=False),
    "no UTF-8": Shape(None, {}, otherwise=(200, b"\xff\xfe\xfd"), speaks_openai=False),
    "a long number": Shape(
        None, {}, otherwise=(200, b'{"version":' + b"9" * 5000 + b"}"), speaks_openai=False
    ),
    "too much of it": Shape(
        None,
        {},
        otherwise=(200, b'{"version": "' + b"x" * 1_500_000 + b'"}'),
        speaks_openai=False,
    ),
    "a version that is an attack": Shape(
        "kobold",
        {"/api/extra/version": {"result": "KoboldCpp", "version": "\x1b[2J" + "v" * 500}},
        "␛[2J" + "v" * 36,
    ),
}

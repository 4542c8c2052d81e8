"""Servers that speak chat completions as `FakeOpenAI` does, and have more beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.support.fake_drawing import SD_MODEL, sd_pictures
from tests.support.fake_openai import FakeOpenAI
from tests.support.fake_videos import llamacpp_infill, local_video, music
from tests.support.http_server import Received, Reply
from tests.support.stored import stored
from tests.support.video_bytes import mp4

Json = Mapping[str, object]
STORED = stored("servers.json")

# KoboldCpp

BUSY = {"detail": {"msg": "Server is busy; please try again later.", "type": "service_unavailable"}}
STRANGER = {
    "detail": {
        "error": "Unauthorized",
        "msg": "Authentication key is missing or invalid.",
        "type": "unauthorized",
    }
}


@dataclass
class FakeKobold(FakeOpenAI):
    full: bool = False
    window: int = 8192
    genkeys: list[str] = field(default_factory=list)
    """Those of its generations."""
    aborted: list[str] = field(default_factory=list)

    async def answer(self, request: Received, reply: Reply) -> object:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return STRANGER, 401
        match request.method, request.path:
            case "GET", "/api/extra/version":
                named = {"result": "KoboldCpp", "version": "1.121", "protected": bool(self.key)}
                return named | {"vision": True, "audio": False}
            case "GET", "/api/extra/true_max_context_length":
                return {"value": self.window}
            case "POST", "/api/extra/tokencount":
                ids = [*str(request.json()["prompt"]).encode()]
                return {"value": len(ids), "ids": ids}
            case "POST", "/api/extra/abort":
                self.aborted.append(str(request.json()["genkey"]))
                return {"success": "true", "done": "true"}
            case "GET", "/sdapi/v1/sd-models":
                return [SD_MODEL]
            case "POST", "/sdapi/v1/txt2img" | "/sdapi/v1/img2img":
                return sd_pictures(request.path, request.json())
            case "POST", "/v1/images/generations" | "/v1/images/edits" | "/v1/videos":
                return b"", 404  # as in versions that draw by the other interface alone
            case "POST", "/v1/chat/completions":
                self.genkeys.append(str(request.json().get("genkey")))
                if self.full:
                    return BUSY, 503
        return await super().answer(request, reply)


# llama.cpp

PROPS = STORED["llamacpp"]["props"]
STEPS: Mapping[str, tuple[str, ...]] = {
    "big": ("loading", "loading", "loaded"),
    "broken": ("loading", "failed"),
    "user/new:Q4": ("downloading", "downloading", "unloaded"),
}


def refusal(status: int, message: str, kind: str) -> dict[str, object]:
    return {"error": {"code": status, "message": message, "type": kind}}


LOADING = refusal(503, "Loading model", "unavailable_error")
NOT_FOUND = refusal(404, "File Not Found", "not_found_error"), 404
NO_EMBEDDINGS = "This server does not support embeddings."


@dataclass
class FakeLlamaCpp(FakeOpenAI):
    """A router has `tiny` (loaded), `big` (unloaded) and `broken`, and can fetch `user/new:Q4`."""

    busy: int = 0
    """How many requests still find the model loading."""
    router: bool = False
    older: bool = False
    """Whether it is a router that cannot fetch models."""
    statuses: dict[str, str] = field(
        default_factory=lambda: {"tiny": "loaded", "big": "unloaded", "broken": "unloaded"}
    )
    coming: dict[str, list[str]] = field(default_factory=dict)

    async def answer(self, request: Received, reply: Reply) -> object:
        path, _, query = request.path.partition("?")
        if self.busy and path != "/v1/models":
            self.busy -= 1
            return LOADING, 503
        match request.method, path:
            case "GET", "/health":
                return {"status": "ok"}
            case "GET", "/props":
                return PROPS
            case "GET", "/models" | "/v1/models":
                return {"object": "list", "data": self._entries()}
            case "POST", "/v1/chat/completions":
                return await super().answer(request, reply)
            case "POST", "/infill":
                return await llamacpp_infill(request.json(), reply)
            case "POST", "/v1/embeddings":
                return refusal(501, NO_EMBEDDINGS, "not_supported_error"), 501
        if not (self.router and path.startswith("/models")):
            return NOT_FOUND
        name = str(request.json()["model"]) if request.body else unquote(query[len("model=") :])
        match request.method, path:
            case "POST", "/models/load" | "/models" if path == "/models/load" or not self.older:
                self.coming[name] = [*STEPS.get(name, ())]
            case "POST", "/models/unload":
                self.statuses[name] = "unloaded"
            case "DELETE", "/models":
                del self.statuses[name], self.coming[name]
            case _:
                return NOT_FOUND
        return {"success": True}

    def _entries(self) -> list[Json]:
        if not self.router:
            meta = None if self.busy else {"n_ctx_train": 32768, "n_params": 1000, "size": 2000}
            return [{"id": "tiny", "object": "model", "owned_by": "llamacpp", "meta": meta}]
        for name, steps in self.coming.items():
            if steps:
                self.statuses[name] = steps.pop(0)
        return [{"id": n, "object": "model", "status": self._status(n)} for n in self.statuses]

    def _status(self, name: str) -> Json:
        match self.statuses[name]:
            case "failed":
                return {"value": "unloaded", "failed": True, "exit_code": 1}
            case "downloading":
                done = 300 - 100 * len(self.coming[name])
                files = {"a": {"done": done, "total": 500}, "b": {"done": 0, "total": 9}}
                return {"value": "downloading", "progress": files}
            case value:
                return {"value": value}


# LM Studio

DOWNLOADED: Sequence[Json] = STORED["lmstudio"]["downloaded"]


@dataclass
class FakeLMStudio(FakeOpenAI):
    """Has `tiny` (loaded), `big` (not loaded) and an embedding model, and can download `new`."""

    older: bool = False
    """A version before 0.4.0, which has another list and no more."""
    status_of_unknown: int = 404
    loaded: dict[str, list[str]] = field(default_factory=lambda: {"tiny": ["tiny"], "big": []})
    download: Sequence[Json] = tuple(DOWNLOADED)
    polls: int = 0

    async def answer(self, request: Received, reply: Reply) -> object:
        if self.older and request.path == "/api/v0/models":
            return {"object": "list", "data": [*map(self._older_entry, self.loaded)]}
        if self.older and request.path.startswith("/api/"):
            message = f"Unexpected endpoint or method. ({request.method} {request.path})"
            return {"error": message}, self.status_of_unknown
        if not request.path.startswith("/api/v1/models"):
            return await super().answer(request, reply)
        body = request.json() if request.body else {}
        match request.method, request.path.removeprefix("/api/v1/models"):
            case "GET", "":
                embedding = {"type": "embedding", "key": "vectors", "loaded_instances": []}
                return {"models": [*map(self._entry, self.loaded), embedding]}
            case "POST", "/load":
                return self._load(str(body["model"]))
            case "POST", "/unload":
                return self._unload(str(body["instance_id"]))
            case "POST", "/download" if body["model"] in self.loaded:
                return {"status": "already_downloaded"}
            case "POST", "/download":
                return {"job_id": "job/1", "status": "downloading", "downloaded_bytes": 0}
            case "GET", "/download/status/job%2F1":
                self.polls += 1
                return {"job_id": "job/1", **self.download[self.polls - 1]}
        return {"error": "Unexpected endpoint or method."}, 404

    def _load(self, name: str) -> object:
        if name not in self.loaded:
            error = {"message": f"Model {name} not found", "type": "model_not_found"}
            return {"error": error}, 404
        instances = self.loaded[name]
        instances.append(name if not instances else f"{name}:{len(instances) + 1}")
        loaded = {"type": "llm", "instance_id": instances[-1], "status": "loaded"}
        return loaded | {"load_time_seconds": 0.1}

    def _unload(self, instance: str) -> object:
        for instances in self.loaded.values():
            if instance in instances:
                instances.remove(instance)
                return {"instance_id": instance}
        error = {"message": f"No instance {instance}", "type": "invalid_request", "code": None}
        return {"error": error}, 400

    def _entry(self, name: str) -> Json:
        config = {"context_length": 4096, "flash_attention": True}
        entry = STORED["lmstudio"]["model"] | {"key": name, "display_name": name.title()}
        entry["loaded_instances"] = [{"id": i, "config": config} for i in self.loaded[name]]
        entry["capabilities"] = {"vision": name == "big", "trained_for_tool_use": True}
        return dict(entry)

    def _older_entry(self, name: str) -> Json:
        window = {"loaded_context_length": 4096} if self.loaded[name] else {}
        state = "loaded" if self.loaded[name] else "not-loaded"
        entry = {"id": name, "object": "model", "type": "llm", "arch": "llama", "state": state}
        return {**entry, "max_context_length": 32768, **window}


# LocalAI

INSTALLED: Sequence[Json] = STORED["localai"]["installed"]
BROKEN: tuple[Json, ...] = (
    {"processed": True, "progress": 0, "message": "error: no space left", "error": {}},
)


@dataclass
class FakeLocalAI(FakeOpenAI):
    """Has `tiny` (loaded) and `painter`, and can install `new` of the gallery `localai`."""

    older: bool = False
    """Whether it has no list of capabilities."""
    starting: int = 0
    """How many requests still find the server starting."""
    loaded: list[str] = field(default_factory=lambda: ["tiny"])
    deleted: list[str] = field(default_factory=list)
    job: Sequence[Json] = tuple(INSTALLED)
    applied: list[Json] = field(default_factory=list)
    polls: int = 0

    async def answer(self, request: Received, reply: Reply) -> object:
        if self.starting:
            self.starting -= 1
            return b"", 503
        match request.method, request.path:
            case "GET", "/readyz" | "/healthz":
                return b"OK", 200, "text/plain"
            case "GET", "/v1/models":
                entries = [{"id": name, "object": "model"} for name in ("tiny", "painter")]
                return {"object": "list", "data": entries}
            case "GET", "/v1/models/capabilities" if not self.older:
                return {"object": "list", "data": STORED["localai"]["models"]}
            case "POST", "/v1/tokenize":
                return {"tokens": [*range(len(str(request.json()["content"])))]}
            case "POST", (
                "/v1/chat/completions"
                | "/v1/embeddings"
                | "/v1/audio/speech"
                | "/v1/audio/transcriptions"
                | "/v1/images/generations"
                | "/v1/images/edits"
            ):
                return await super().answer(request, reply)
            case "POST", "/video":
                return local_video(request.json())
            case "POST", "/v1/sound-generation":
                return await music(request.json(), reply)
            case "GET", "/made/film.mp4":
                return mp4(), 200, "video/mp4"
            case "GET", "/system":
                loaded = [{"id": name} for name in self.loaded]
                return {"backends": ["llama-cpp"], "loaded_models": loaded}
            case "POST", "/backend/shutdown":
                self.loaded.remove(str(request.json()["model"]))
                return b""
            case "GET", "/models/available":
                return [{"name": "new", "gallery": {"name": "localai"}}]
            case "POST", "/models/apply":
                self.applied.append(request.json())
                return {"uuid": "u-1", "status": "http://127.0.0.1/models/jobs/u-1"}
            case "GET", "/models/jobs/u-1":
                self.polls += 1
                return self.job[self.polls - 1]
            case "POST", path if path.startswith("/models/delete/"):
                self.deleted.append(path.removeprefix("/models/delete/"))
                return {"uuid": "u-2"}
        return b"", 404  # with opaque errors there is nothing in it

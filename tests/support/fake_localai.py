"""LocalAI: chat completions as `fake_openai`, galleries, jobs and loaded models.

It has `tiny` (loaded), `painter` (makes pictures) and can install `new` of the gallery `localai`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.fake_openai import fake_openai
from tests.support.http_server import Received, Reply

INSTALLED: tuple[Mapping[str, object], ...] = (
    {"processed": False, "progress": 0, "message": "processing", "error": None},
    {
        "processed": False,
        "progress": 50.0,
        "message": "downloading",
        "file_size": "2.0 KiB",
        "downloaded_size": "1.0 KiB",
        "error": None,
    },
    {"processed": True, "progress": 100, "message": "completed", "file_size": "2.0 KiB"},
)
BROKEN: tuple[Mapping[str, object], ...] = (
    {"processed": True, "progress": 0, "message": "error: no space left", "error": {}},
)


@dataclass
class FakeLocalAI:
    """Answers requests; `older` has no list of capabilities."""

    older: bool = False
    starting: int = 0
    """How many requests still find the server starting."""
    loaded: list[str] = field(default_factory=lambda: ["tiny"])
    deleted: list[str] = field(default_factory=list)
    job: tuple[Mapping[str, object], ...] = INSTALLED
    applied: list[Mapping[str, object]] = field(default_factory=list)
    polls: int = 0

    async def __call__(self, request: Received, reply: Reply) -> None:
        if self.starting:
            self.starting -= 1
            await reply.whole(b"", 503)
            return
        match request.method, request.path:
            case "GET", "/readyz" | "/healthz":
                await reply.whole(b"OK", content_type="text/plain")
            case "GET", "/v1/models":
                entries = [{"id": name, "object": "model"} for name in ("tiny", "painter")]
                await reply.json({"object": "list", "data": entries})
            case "GET", "/v1/models/capabilities" if not self.older:
                await reply.json({"object": "list", "data": [TINY, PAINTER]})
            case "POST", "/v1/tokenize":
                text = str(request.json()["content"])
                await reply.json({"tokens": [*range(len(text))]})
            case "POST", "/v1/chat/completions" | "/v1/embeddings":
                await fake_openai()(request, reply)
            case _:
                await self._manage(request, reply)

    async def _manage(self, request: Received, reply: Reply) -> None:
        match request.method, request.path:
            case "GET", "/system":
                loaded = [{"id": name} for name in self.loaded]
                await reply.json({"backends": ["llama-cpp"], "loaded_models": loaded})
            case "POST", "/backend/shutdown":
                self.loaded.remove(str(request.json()["model"]))
                await reply.whole(b"")
            case "GET", "/models/available":
                await reply.json([{"name": "new", "gallery": {"name": "localai"}}])
            case "POST", "/models/apply":
                self.applied.append(request.json())
                url = "http://127.0.0.1/models/jobs/u-1"
                await reply.json({"uuid": "u-1", "status": url})
            case "GET", "/models/jobs/u-1":
                self.polls += 1
                await reply.json(self.job[self.polls - 1])
            case "POST", path if path.startswith("/models/delete/"):
                self.deleted.append(path.removeprefix("/models/delete/"))
                await reply.json({"uuid": "u-2"})
            case _:
                await reply.whole(b"", 404)  # with opaque errors there is nothing in it


TINY = {
    "id": "tiny",
    "object": "model",
    "capabilities": ["chat", "completion"],
    "input_modalities": ["text", "image"],
    "output_modalities": ["text"],
    "context_size": 8192,
}
PAINTER = {"id": "painter", "object": "model", "capabilities": ["image"]}

"""LM Studio: chat completions as `fake_openai`, and its own API for models.

It has `tiny` (loaded), `big` (not loaded) and an embedding model, and can download `new`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.fake_openai import fake_openai
from tests.support.http_server import Received, Reply

DOWNLOADED = (
    {"status": "downloading", "downloaded_bytes": 500, "total_size_bytes": 1000},
    {"status": "paused", "downloaded_bytes": 600, "total_size_bytes": 1000},
    {"status": "completed", "downloaded_bytes": 1000, "total_size_bytes": 1000},
)


@dataclass
class FakeLMStudio:
    """Answers requests; `older` is a version before 0.4.0, which has another list and no more."""

    older: bool = False
    status_of_unknown: int = 404
    loaded: dict[str, list[str]] = field(default_factory=lambda: {"tiny": ["tiny"], "big": []})
    download: tuple[Mapping[str, object], ...] = DOWNLOADED
    polls: int = 0

    async def __call__(self, request: Received, reply: Reply) -> None:
        own = "/api/v1/models"
        if self.older and request.path == "/api/v0/models":
            await reply.json({"object": "list", "data": [*map(self._older_entry, self.loaded)]})
        elif self.older and request.path.startswith("/api/"):
            message = f"Unexpected endpoint or method. ({request.method} {request.path})"
            await reply.json({"error": message}, self.status_of_unknown)
        elif request.path.startswith(own):
            await self._own(request, request.path.removeprefix(own), reply)
        else:
            await fake_openai()(request, reply)

    async def _own(self, request: Received, path: str, reply: Reply) -> None:
        match request.method, path:
            case "GET", "":
                embedding = {"type": "embedding", "key": "vectors", "loaded_instances": []}
                entries = [*map(self._entry, self.loaded), embedding]
                await reply.json({"models": entries})
            case "POST", "/load":
                await self._load(str(request.json()["model"]), reply)
            case "POST", "/unload":
                await self._unload(str(request.json()["instance_id"]), reply)
            case "POST", "/download":
                started = {"job_id": "job/1", "status": "downloading", "downloaded_bytes": 0}
                has = request.json()["model"] in self.loaded
                await reply.json({"status": "already_downloaded"} if has else started)
            case "GET", "/download/status/job%2F1":
                self.polls += 1
                await reply.json({"job_id": "job/1", **self.download[self.polls - 1]})
            case _:
                await reply.json({"error": "Unexpected endpoint or method."}, 404)

    async def _load(self, name: str, reply: Reply) -> None:
        if name not in self.loaded:
            error = {"message": f"Model {name} not found", "type": "model_not_found"}
            await reply.json({"error": error}, 404)
            return
        instances = self.loaded[name]
        instances.append(name if not instances else f"{name}:{len(instances) + 1}")
        payload = {"type": "llm", "instance_id": instances[-1], "status": "loaded"}
        await reply.json(payload | {"load_time_seconds": 0.1})

    async def _unload(self, instance: str, reply: Reply) -> None:
        for instances in self.loaded.values():
            if instance in instances:
                instances.remove(instance)
                await reply.json({"instance_id": instance})
                return
        error = {"message": f"No instance {instance}", "type": "invalid_request", "code": None}
        await reply.json({"error": error}, 400)

    def _entry(self, name: str) -> dict[str, object]:
        config = {"context_length": 4096, "flash_attention": True}
        return {
            "type": "llm",
            "publisher": "somebody",
            "key": name,
            "display_name": name.title(),
            "quantization": {"name": "Q4_K_M", "bits_per_weight": 4},
            "size_bytes": 1000,
            "params_string": "1B",
            "loaded_instances": [{"id": i, "config": config} for i in self.loaded[name]],
            "max_context_length": 32768,
            "format": "gguf",
            "capabilities": {"vision": name == "big", "trained_for_tool_use": True},
        }

    def _older_entry(self, name: str) -> dict[str, object]:
        instances = self.loaded[name]
        window = {"loaded_context_length": 4096} if instances else {}
        state = "loaded" if instances else "not-loaded"
        entry = {"id": name, "object": "model", "type": "llm", "arch": "llama", "state": state}
        return {**entry, "max_context_length": 32768, **window}

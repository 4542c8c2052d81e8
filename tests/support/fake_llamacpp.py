"""llama.cpp's server: chat completions as `fake_openai`, `/props`, and a router's models.

As a router it has `tiny` (loaded), `big` (unloaded) and `broken`, and can fetch `user/new:Q4`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.support.fake_openai import fake_openai
from tests.support.http_server import Received, Reply

PROPS = {
    "default_generation_settings": {"n_ctx": 4096},
    "total_slots": 2,
    "modalities": {"vision": True, "audio": False},
    "chat_template": "{% if enable_thinking %}<think>{% endif %}",
    "chat_template_caps": {"supports_tools": True},
    "is_sleeping": False,
}
STEPS: Mapping[str, tuple[str, ...]] = {
    "big": ("loading", "loading", "loaded"),
    "broken": ("loading", "failed"),
    "user/new:Q4": ("downloading", "downloading", "unloaded"),
}


def refusal(status: int, message: str, kind: str) -> dict[str, object]:
    return {"error": {"code": status, "message": message, "type": kind}}


LOADING = refusal(503, "Loading model", "unavailable_error")


@dataclass
class FakeLlamaCpp:
    """Answers requests; `busy` is how many of them still find the model loading."""

    busy: int = 0
    router: bool = False
    older: bool = False
    """Whether it is a router that cannot fetch models."""
    statuses: dict[str, str] = field(
        default_factory=lambda: {"tiny": "loaded", "big": "unloaded", "broken": "unloaded"}
    )
    coming: dict[str, list[str]] = field(default_factory=dict)

    async def __call__(self, request: Received, reply: Reply) -> None:
        path, _, query = request.path.partition("?")
        if self.busy and path != "/v1/models":
            self.busy -= 1
            await reply.json(LOADING, 503)
            return
        match request.method, path:
            case "GET", "/health":
                await reply.json({"status": "ok"})
            case "GET", "/props":
                await reply.json(PROPS)
            case "GET", "/models" | "/v1/models":
                await reply.json({"object": "list", "data": self._entries()})
            case "POST", "/v1/chat/completions":
                await fake_openai()(request, reply)
            case "POST", "/v1/embeddings":
                await reply.json(
                    refusal(501, "This server does not support embeddings.", "not_supported_error"),
                    501,
                )
            case _ if self.router and path.startswith("/models"):
                await self._manage(request, path, query, reply)
            case _:
                await reply.json(refusal(404, "File Not Found", "not_found_error"), 404)

    async def _manage(self, request: Received, path: str, query: str, reply: Reply) -> None:
        name = str(request.json()["model"]) if request.body else unquote(query[len("model=") :])
        match request.method, path:
            case "POST", "/models/load" | "/models" if path == "/models/load" or not self.older:
                self.coming[name] = [*STEPS.get(name, ())]
                await reply.json({"success": True})
            case "POST", "/models/unload":
                self.statuses[name] = "unloaded"
                await reply.json({"success": True})
            case "DELETE", "/models":
                del self.statuses[name], self.coming[name]
                await reply.json({"success": True})
            case _:
                await reply.json(refusal(404, "File Not Found", "not_found_error"), 404)

    def _entries(self) -> list[dict[str, object]]:
        if not self.router:
            meta = None if self.busy else {"n_ctx_train": 32768, "n_params": 1000, "size": 2000}
            return [{"id": "tiny", "object": "model", "owned_by": "llamacpp", "meta": meta}]
        for name, steps in self.coming.items():
            if steps:
                self.statuses[name] = steps.pop(0)
        return [{"id": n, "object": "model", "status": self._status(n)} for n in self.statuses]

    def _status(self, name: str) -> dict[str, object]:
        match self.statuses[name]:
            case "failed":
                return {"value": "unloaded", "failed": True, "exit_code": 1}
            case "downloading":
                left = len(self.coming[name])
                files = {
                    "a": {"done": 300 - 100 * left, "total": 500},
                    "b": {"done": 0, "total": 9},
                }
                return {"value": "downloading", "progress": files}
            case value:
                return {"value": value}

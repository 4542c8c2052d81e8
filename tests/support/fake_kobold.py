"""KoboldCpp: chat completions as `fake_openai`, its own `/api/extra`, and its ways to refuse."""

from dataclasses import dataclass, field

from tests.support.fake_openai import fake_openai
from tests.support.http_server import Received, Reply

BUSY = {"detail": {"msg": "Server is busy; please try again later.", "type": "service_unavailable"}}
STRANGER = {
    "detail": {
        "error": "Unauthorized",
        "msg": "Authentication key is missing or invalid.",
        "type": "unauthorized",
    }
}


@dataclass
class FakeKobold:
    """Answers requests; `genkeys` are those of its generations, `aborted` those that were told."""

    key: str | None = None
    full: bool = False
    window: int = 8192
    genkeys: list[str] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)

    async def __call__(self, request: Received, reply: Reply) -> None:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            await reply.json(STRANGER, 401)
            return
        match request.method, request.path:
            case "GET", "/api/extra/version":
                payload = {"result": "KoboldCpp", "version": "1.121", "protected": bool(self.key)}
                await reply.json(payload | {"vision": True, "audio": False})
            case "GET", "/api/extra/true_max_context_length":
                await reply.json({"value": self.window})
            case "POST", "/api/extra/tokencount":
                ids = [*str(request.json()["prompt"]).encode()]
                await reply.json({"value": len(ids), "ids": ids})
            case "POST", "/api/extra/abort":
                self.aborted.append(str(request.json()["genkey"]))
                await reply.json({"success": "true", "done": "true"})
            case "POST", "/v1/chat/completions":
                self.genkeys.append(str(request.json().get("genkey")))
                if self.full:
                    await reply.json(BUSY, 503)
                else:
                    await fake_openai()(request, reply)
            case _:
                await fake_openai()(request, reply)

"""A server that behaves as vLLM does where it differs from OpenAI.

It ignores fields that it does not know, listens beside `/v1` too, where no key is asked for, and
names its reasoning by version. Its base model is `tiny`, with the LoRA `tiny-sql`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.fake_openai import Wire, called, chunk
from tests.support.http_server import FakeServer, Received, Reply
from tests.support.scripts import END

PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
LATEST = "0.13.0"
NOT_FOUND = {"detail": "Not Found"}, 404


@dataclass
class FakeVllm(FakeServer):
    version: str | None = LATEST
    """None is a server without `/version`."""
    key: str | None = None
    tool_parser: bool = True
    window: int = 4096
    tokenizes: bool = True
    starting: int = 0
    """How many requests find it still loading its model."""

    @property
    def minor(self) -> int:
        return int((self.version or LATEST).split(".")[1])

    async def answer(self, request: Received, reply: Reply) -> object:
        if self.starting > 0:
            self.starting -= 1
            return {"error": {"message": "Loading model", "code": 503}}, 503
        stranger = self.key and request.headers.get("authorization") != f"Bearer {self.key}"
        if stranger and request.path.startswith("/v1/"):
            return {"error": "Unauthorized"}, 401
        match request.method, request.path:
            case "GET", "/health":
                return b""
            case "GET", "/version" if self.version:
                return {"version": self.version}
            case "POST", "/tokenize" if self.tokenizes:
                count = count_of(request.json())
                return {"count": count, "max_model_len": self.window, "tokens": [*range(count)]}
            case "GET", "/v1/models":
                cards = [_card("tiny", self.window, None), _card("tiny-sql", None, "tiny")]
                return {"object": "list", "data": cards}
            case "POST", "/v1/chat/completions":
                return await self._chat(request.json(), reply)
        return NOT_FOUND

    async def _chat(self, body: Mapping[str, object], reply: Reply) -> object:
        if refusal := self._refusal(body):
            message, status, kind = refusal
            error = {"message": message, "type": kind, "param": None, "code": status}
            return {"error": error}, status
        wire = _Wire(self.minor, body, reply)
        call = "chatcmpl-tool-1", wire.forced, '{"city": "Oslo"}'
        if only := self._constrained(body):
            await wire.play(("say", only), END)
        elif body.get("tools") and wire.forced:
            await wire.play(("call", call), END)  # that is no reason to say `tool_calls`
        else:
            await wire.play()
        return None

    def _refusal(self, body: Mapping[str, object]) -> tuple[str, int, str] | None:
        if body.get("model") not in ("tiny", "tiny-sql"):
            return f"The model `{body.get('model')}` does not exist.", 404, "NotFoundError"
        if body.get("tools") and not self.tool_parser and body.get("tool_choice", "auto") == "auto":
            return PARSER, 400, "BadRequestError"
        if (count := count_of(body)) <= self.window:
            return None
        reason = (
            f"This model's maximum context length is {self.window} tokens. However, your request"
            f" has {count} input tokens. Please reduce the length of the input messages."
        )
        return reason, 400, "BadRequestError"

    def _constrained(self, body: Mapping[str, object]) -> str | None:
        """Give the first answer that a constraint allows, if it has the name of this version."""
        outputs = body.get("structured_outputs")
        inputs = outputs if isinstance(outputs, Mapping) else {}
        choice, schema = inputs.get("choice"), inputs.get("json")
        if self.minor < 12:
            choice, schema = body.get("guided_choice"), body.get("guided_json")
        if isinstance(choice, Sequence):
            return str(choice[0])
        return (
            '{"ok": true}' if schema or isinstance(body.get("response_format"), Mapping) else None
        )


def _card(name: str, window: int | None, parent: str | None) -> dict[str, object]:
    card: dict[str, object] = {"id": name, "object": "model", "created": 1, "owned_by": "vllm"}
    return card | {"root": f"/models/{name}", "parent": parent, "max_model_len": window}


def count_of(body: Mapping[str, object]) -> int:
    """Count the words of a prompt, of its tools and of what the template is given."""
    inputs = [body.get(key) for key in ("messages", "tools", "chat_template_kwargs")]
    return len(json.dumps([part for part in inputs if part]).split())


class _Wire(Wire):
    """Reasoning under this version's name, or under both; a named tool's call comes whole."""

    def __init__(self, version: int, body: Mapping[str, object], reply: Reply) -> None:
        super().__init__(body, reply)
        both, new, old = ("reasoning", "reasoning_content"), ("reasoning",), ("reasoning_content",)
        self._names = both if version in (11, 12) else new if version > 12 else old
        choice = body.get("tool_choice")
        self.forced = str(choice["function"]["name"]) if isinstance(choice, Mapping) else ""

    def frames(self, step: str, *given: Any) -> Iterator[object]:
        if step == "think":
            yield chunk(dict.fromkeys(self._names, *given))
        elif step == "call" and self.forced:
            yield chunk({"tool_calls": [called(0, *given[0])]})
        else:
            yield from super().frames(step, *given)

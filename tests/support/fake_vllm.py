"""A server that behaves as vLLM does where it differs from OpenAI.

It ignores fields that it does not know, so what an old name asked for just does not happen; it
listens beside `/v1` too, where no key is asked for; without a tool parser it refuses tools; its
reasoning has a name by version; a window that is too small is a sentence. Its base model is `tiny`,
with the LoRA `tiny-sql`. As a program: `python -m tests.support.fake_vllm`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.support import scripts
from tests.support.fake_openai import Wire
from tests.support.http_server import Handler, Received, Reply, run_alone
from tests.support.script_wire import CallTexts

PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
LATEST = "0.13.0"
MODELS = ("tiny", "tiny-sql")
TWO_NAMES = (11, 12)
"""Versions, after the first dot, that send reasoning under both names."""


@dataclass(frozen=True)
class Vllm:
    """How one server was started."""

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


def fake_vllm(server: Vllm | None = None) -> Handler:
    """Make a handler."""
    how = server or Vllm()
    left = [how.starting]

    async def answer(request: Received, reply: Reply) -> None:
        if left[0] > 0:
            left[0] -= 1
            await reply.json({"error": {"message": "Loading model", "code": 503}}, 503)
        elif request.path.startswith("/v1/"):
            guarded = how.key and request.headers.get("authorization") != f"Bearer {how.key}"
            await (
                reply.json({"error": "Unauthorized"}, 401) if guarded else _v1(how, request, reply)
            )
        else:
            await _beside(how, request, reply)

    return answer


async def _beside(how: Vllm, request: Received, reply: Reply) -> None:
    match request.method, request.path:
        case "GET", "/health":
            await reply.whole(b"")
        case "GET", "/version" if how.version:
            await reply.json({"version": how.version})
        case "POST", "/tokenize" if how.tokenizes:
            count = count_of(request.json())
            tokens = list(range(count))
            await reply.json({"count": count, "max_model_len": how.window, "tokens": tokens})
        case _:
            await reply.json({"detail": "Not Found"}, 404)


async def _v1(how: Vllm, request: Received, reply: Reply) -> None:
    match request.method, request.path:
        case "GET", "/v1/models":
            base = _card("tiny", how.window, None)
            await reply.json({"object": "list", "data": [base, _card("tiny-sql", None, "tiny")]})
        case "POST", "/v1/chat/completions":
            await _chat(how, request.json(), reply)
        case _:
            await reply.json({"detail": "Not Found"}, 404)


def _card(name: str, window: int | None, parent: str | None) -> dict[str, object]:
    card: dict[str, object] = {"id": name, "object": "model", "created": 1, "owned_by": "vllm"}
    return card | {"root": f"/models/{name}", "parent": parent, "max_model_len": window}


def count_of(body: Mapping[str, object]) -> int:
    """Count the words of a prompt, of its tools and of what the template is given."""
    inputs = [body.get(key) for key in ("messages", "tools", "chat_template_kwargs")]
    return len(json.dumps([part for part in inputs if part]).split())


async def _chat(how: Vllm, body: Mapping[str, object], reply: Reply) -> None:
    refusal = _refusal(how, body)
    if refusal is not None:
        message, status, kind = refusal
        error = {"message": message, "type": kind, "param": None, "code": status}
        await reply.json({"error": error}, status)
        return
    wire = _Wire(how, body, reply)
    if (only := _constrained(how, body)) is not None:
        await wire.say(only)
        await wire.end("stop")
        return
    prompt = scripts.last_prompt(body.get("messages"))
    if body.get("tools") and isinstance(body.get("tool_choice"), Mapping):
        await wire.call((("chatcmpl-tool-1", wire.forced, '{"city": "Oslo"}'),))
        await wire.end("stop")  # a named tool is no reason to say `tool_calls`
        return
    await wire.play(prompt)


def _refusal(how: Vllm, body: Mapping[str, object]) -> tuple[str, int, str] | None:
    if body.get("model") not in MODELS:
        return f"The model `{body.get('model')}` does not exist.", 404, "NotFoundError"
    if body.get("tools") and not how.tool_parser and body.get("tool_choice", "auto") == "auto":
        return PARSER, 400, "BadRequestError"
    count = count_of(body)
    if count > how.window:
        reason = (
            f"This model's maximum context length is {how.window} tokens. However, your request"
            f" has {count} input tokens. Please reduce the length of the input messages."
        )
        return reason, 400, "BadRequestError"
    return None


def _constrained(how: Vllm, body: Mapping[str, object]) -> str | None:
    """Give the first answer that a constraint allows, if it has the name of this version."""
    if how.minor < 12:
        choice, schema = body.get("guided_choice"), body.get("guided_json")
    else:
        outputs = body.get("structured_outputs")
        inputs = outputs if isinstance(outputs, Mapping) else {}
        choice, schema = inputs.get("choice"), inputs.get("json")
    form = body.get("response_format")
    if isinstance(choice, Sequence):
        return str(choice[0])
    return '{"ok": true}' if schema or isinstance(form, Mapping) else None


class _Wire(Wire):
    """Reasoning under this version's name, or under both."""

    def __init__(self, how: Vllm, body: Mapping[str, object], reply: Reply) -> None:
        super().__init__(body, reply)
        self._version = how.minor
        choice = body.get("tool_choice")
        function = choice.get("function") if isinstance(choice, Mapping) else None
        self.forced = str(function.get("name")) if isinstance(function, Mapping) else ""

    async def think(self, text: str) -> None:
        self._thinking += text
        names = {"reasoning": text, "reasoning_content": text}
        if self._version in TWO_NAMES:
            await self._delta(**names)
        elif self._version < TWO_NAMES[0]:
            await self._delta(reasoning_content=text)
        else:
            await self._delta(reasoning=text)

    async def call(self, calls: CallTexts) -> None:
        """vLLM sends a call whole where the tool was named."""
        if not self.forced:
            await super().call(calls)
            return
        function = {"name": calls[0][1], "arguments": calls[0][2]}
        sent = {"index": 0, "id": calls[0][0], "type": "function", "function": function}
        self._calls = [sent]
        await self._delta(tool_calls=[sent])


if __name__ == "__main__":
    run_alone(fake_vllm())

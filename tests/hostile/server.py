"""Servers whose every field holds hostile text: Ollama's API and chat completions in one."""

import json
from collections.abc import Sequence

from tests.hostile.hub import answer_as_hub
from tests.hostile.payloads import Payload, marked
from tests.support.http_server import Handler, Received, Reply
from tests.support.scripts import last_prompt

MODEL = "tiny:latest"


def hostile_server(payloads: Sequence[Payload]) -> Handler:
    """Make a handler; the prompt chooses the door, as in `say` or `status 401`."""
    text = "\n\n".join(marked(p, place) for place, p in enumerate(payloads))
    message = "\n".join(marked(p, place) for place, p in enumerate(payloads))
    names = [f"{place:02}{p.text}" for place, p in enumerate(payloads)]

    async def answer(request: Received, reply: Reply) -> None:
        match request.method, request.path:
            case "GET", "/api/version":
                await reply.json({"version": message[:200]})
            case "GET", "/api/tags":
                await reply.json({"models": [_listed(name, message) for name in [MODEL, *names]]})
            case "GET", "/api/ps":
                await reply.json({"models": []})
            case "POST", "/api/show":
                await reply.json(_shown(message))
            case "GET", "/v1/models":
                entries = [_entry(name, message) for name in ["tiny", *names]]
                await reply.json({"object": "list", "data": entries})
            case "GET", path if path.startswith("/api/models"):
                await answer_as_hub(payloads, request, reply)
            case "POST", "/api/chat" | "/v1/chat/completions":
                conversation = request.json().get("messages")
                asked = last_prompt(conversation).rpartition("\n\n")[2]
                wire = _openai if request.path.startswith("/v1") else _ollama
                if _roles(conversation)[-1:] == ["tool"]:
                    asked = "ran"
                await _chat(asked, text, message, reply, wire)
            case _:
                await reply.whole(b"404 page not found", 404, "text/plain")

    return answer


def _roles(messages: object) -> list[object]:
    found = messages if isinstance(messages, list) else []
    return [message.get("role") for message in found if isinstance(message, dict)]


def _listed(name: str, message: str) -> dict[str, object]:
    details = dict.fromkeys(("family", "format", "parameter_size", "quantization_level"), message)
    return {"name": name, "model": name, "size": 1000, "digest": message, "details": details}


def _shown(message: str) -> dict[str, object]:
    facts = {"general.architecture": message, "general.name": message}
    return {
        "parameters": message,
        "template": message,
        "details": _listed("", message)["details"],
        "model_info": facts,
        "capabilities": ["completion", "tools", message],
    }


def _entry(name: str, message: str) -> dict[str, object]:
    return {"id": name, "object": "model", "name": message, "owned_by": message}


async def _chat(asked: str, text: str, message: str, reply: Reply, wire: "_Wire") -> None:
    word, _, rest = asked.partition(" ")
    match word:
        case "say":
            await _stream(reply, wire(text, "", None))
        case "bytewise":
            await _stream(reply, wire(text, "", None), bytewise=True)
        case "think":
            await _stream(reply, wire("Done.", text, None))
        case "call":
            await _stream(reply, wire("Calling.", "", (message, {message: message})))
        case "use":
            await _stream(reply, wire("Calling.", "", (rest, _arguments(rest, message))))
        case "ran":
            await _stream(reply, wire("It ran.", "", None))
        case "fail":
            await _stream(reply, [json.dumps({"error": _third(message, rest)})])
        case "status" | "plain" | "html" | "reason" | "redirect":
            await _refuse(word, rest, message, reply)
        case _:
            await _stream(reply, wire("Hello.", "", None))


def _arguments(tool: str, message: str) -> dict[str, object]:
    match tool:
        case "read_file":
            return {"path": "notes.txt"}
        case "list_directory":
            return {"path": "files"}
        case "search_files":
            return {"pattern": "»e"}
        case _:
            return {"expression": message}


async def _refuse(word: str, rest: str, message: str, reply: Reply) -> None:
    line = message.replace("\n", "")
    match word:
        case "status":
            status, _, part = rest.partition(" ")
            await reply.json({"error": {"message": _third(message, part)}}, int(status))
        case "plain":
            body = _third(message, rest).encode() + b"\x9b31m\xff"
            await reply.whole(body, 500, "text/plain")
        case "html":
            title = message.replace("<", "")
            body = f"<!DOCTYPE html><html><title>{title}</title></html>".encode()
            await reply.whole(body, 502, "text/html")
        case "reason":
            head = f"HTTP/1.1 400 {line[:300]}\r\ncontent-length: 0\r\n\r\n"
            await reply.raw(head.encode())
        case _:
            target = f"http://evil/{line.replace(chr(13), '')[:160]}"
            await reply.whole(b"", 302, "text/plain", {"location": target})


def _third(message: str, which: str) -> str:
    """Give a third of the message: a server's sentence is cut at 2000 characters."""
    lines = message.split("\n")
    third, part = len(lines) // 3, int(which or 0)
    return "\n".join(lines[part * third :] if part == 2 else lines[part * third :][:third])


Call = tuple[str, dict[str, object]]


class _Wire:
    """Gives the lines of an answer: text, thinking, and a call with its name and arguments."""

    def __call__(self, text: str, thinking: str, call: Call | None) -> list[str]:
        raise NotImplementedError


class _Ollama(_Wire):
    def __call__(self, text: str, thinking: str, call: Call | None) -> list[str]:
        frames: list[dict[str, object]] = []
        if thinking:
            frames.append({"content": "", "thinking": thinking})
        frames.append({"content": text})
        if call:
            function = {"name": call[0], "arguments": call[1]}
            frames.append({"content": "", "tool_calls": [{"function": function}]})
        lines = [json.dumps({"message": frame, "done": False}) for frame in frames]
        end = {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 3}
        return [f"{line}\n" for line in [*lines, json.dumps(end)]]


class _OpenAI(_Wire):
    def __call__(self, text: str, thinking: str, call: Call | None) -> list[str]:
        deltas: list[dict[str, object]] = []
        if thinking:
            deltas.append({"reasoning_content": thinking})
        deltas.append({"content": text})
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            deltas.append({"tool_calls": [{"index": 0, "id": call[0], "function": function}]})
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


_ollama, _openai = _Ollama(), _OpenAI()


async def _stream(reply: Reply, lines: Sequence[str], *, bytewise: bool = False) -> None:
    is_events = lines[0].startswith("data:")
    await reply.start(content_type="text/event-stream" if is_events else "application/x-ndjson")
    for line in lines:
        data = line.encode() if line.endswith("\n") else f"{line}\n".encode()
        size = 1 if bytewise else len(data)
        for start in range(0, len(data), size):
            await reply.write(data[start : start + size])

"""Answers of every wire format, object by object; a frame is the line or event that carries one."""

import json
from collections.abc import Callable, Mapping

from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder

ENDPOINT = Endpoint("scripted", "Server", "localhost:1", "Start it.")
DECODERS: Mapping[str, Callable[[], AnswerDecoder]] = {
    "ollama": lambda: OllamaDecoder(ENDPOINT),
    "openai-compatible": lambda: OpenAIDecoder(ENDPOINT),
    "anthropic": lambda: AnthropicDecoder(ENDPOINT, "scripted://m"),
}


def chunk(delta: JsonObject, reason: str | None = None) -> JsonObject:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def block(index: int, kind: str, **more: JsonValue) -> JsonObject:
    return {"type": f"content_block_{kind}", "index": index, **more}


def text(kind: str, words: str) -> JsonObject:
    match kind:
        case "ollama":
            return {"message": {"role": "assistant", "content": words}, "done": False}
        case "anthropic":
            return block(0, "delta", delta={"type": "text_delta", "text": words})
    return chunk({"content": words})


def arguments(kind: str, piece: str, number: int) -> JsonObject:
    """Give a piece of the arguments of a call, for formats that send them in pieces."""
    if kind == "anthropic":
        delta: JsonObject = {"type": "input_json_delta", "partial_json": piece}
        return block(number, "delta", delta=delta)
    return chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})


def call(kind: str, number: int, given: JsonObject | None, name: str = "weather") -> JsonObject:
    """Give a whole call, or without arguments the beginning of one."""
    id_ = f"call_{number}"
    match kind:
        case "ollama":
            function: JsonObject = {"name": name, "arguments": given or {}}
            sent: JsonObject = {"role": "assistant", "content": ""}
            sent["tool_calls"] = [{"id": id_, "function": function}]
            return {"message": sent, "done": False}
        case "anthropic":
            use: JsonObject = {"type": "tool_use", "id": id_, "name": name, "input": given or {}}
            return block(number, "start", content_block=use)
    function = {"name": name, "arguments": "" if given is None else json.dumps(given)}
    return chunk({"tool_calls": [{"index": number, "id": id_, "function": function}]})


def frame(kind: str, value: object) -> bytes:
    """Write an object of a stream as this kind of server does."""
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return data + b"\n" if kind == "ollama" else b"data: " + data + b"\n\n"


def text_frame(kind: str, words: str) -> bytes:
    return frame(kind, text(kind, words))


def call_frame(kind: str, number: int, given: JsonObject) -> bytes:
    return frame(kind, call(kind, number, given))


def frames_of(kind: str, body: bytes) -> list[bytes]:
    """Cut a body after each of its frames; what is not ended is the last."""
    end = b"\n" if kind == "ollama" else b"\n\n"
    parts = body.split(end)
    return [part + end for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def carrying(sample: bytes, value: object) -> bytes:
    head, found, _ = sample.partition(b"data: ")
    return head + frame("" if found else "ollama", value)


def carried(sample: bytes) -> object:
    """Give the object of a frame, None if it has none."""
    _, found, data = sample.partition(b"data: ")
    try:
        return json.loads(data if found else sample)
    except ValueError:
        return None


def head(kind: str, *more: str, status: int = 200) -> bytes:
    media = "application/x-ndjson" if kind == "ollama" else "text/event-stream"
    lines = (f"HTTP/1.1 {status} Whatever", f"content-type: {media}", "connection: close", *more)
    return "\r\n".join([*lines, "", ""]).encode()

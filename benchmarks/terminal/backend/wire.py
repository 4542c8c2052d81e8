"""One streamed answer in the words of each API: Ollama's, OpenAI's two, and bare text."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Protocol

MODEL = "fake:latest"
STAMP = "2026-01-01T00:00:00.000000Z"


class Wire(Protocol):
    """How an API frames an answer."""

    content_type: str

    def begin(self) -> Iterator[bytes]:
        """Return what comes before the first text."""
        ...

    def token(self, text: str) -> bytes:
        """Return one piece of text."""
        ...

    def end(self, count: int) -> Iterator[bytes]:
        """Return what comes after the last of `count` pieces."""
        ...

    def whole(self, text: str) -> object:
        """Return the answer that is not streamed, to be sent as JSON."""
        ...


def dumps(value: object) -> bytes:
    """Return JSON without blanks, as servers send it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class OllamaWire:
    """`/api/chat` and `/api/generate`."""

    content_type = "application/x-ndjson"

    def __init__(self, request: Mapping[str, object], *, generates: bool = False) -> None:
        self._model = request.get("model", MODEL)
        self._generates = generates

    def begin(self) -> Iterator[bytes]:
        yield from ()

    def token(self, text: str) -> bytes:
        return dumps(self._line(text)) + b"\n"

    def end(self, count: int) -> Iterator[bytes]:
        yield dumps(self._last("", count)) + b"\n"

    def whole(self, text: str) -> object:
        return self._last(text, 9)

    def _line(self, text: str) -> dict[str, object]:
        reply: dict[str, object] = {"response": text}
        if not self._generates:
            reply = {"message": {"role": "assistant", "content": text}}
        return {"model": self._model, "created_at": STAMP, **reply, "done": False}

    def _last(self, text: str, count: int) -> dict[str, object]:
        counts = {"prompt_eval_count": 10, "prompt_eval_duration": 10**6, "eval_count": count}
        times = {"total_duration": 10**9, "load_duration": 10**6, "eval_duration": 10**9}
        return {**self._line(text), "done": True, "done_reason": "stop", **counts, **times}


class OpenAIWire:
    """`/v1/chat/completions`."""

    content_type = "text/event-stream"

    def __init__(self, request: Mapping[str, object]) -> None:
        self._base = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1767225600,
            "model": request.get("model", MODEL),
        }
        options = request.get("stream_options")
        self._counts = isinstance(options, dict) and bool(options.get("include_usage"))

    def begin(self) -> Iterator[bytes]:
        yield self._event({"role": "assistant", "content": ""})

    def token(self, text: str) -> bytes:
        return self._event({"content": text})

    def end(self, count: int) -> Iterator[bytes]:
        yield self._event({}, "stop")
        if self._counts:
            yield b"data: " + dumps({**self._base, "choices": [], "usage": _usage(count)}) + b"\n\n"
        yield b"data: [DONE]\n\n"

    def whole(self, text: str) -> object:
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        return {**self._base, "object": "chat.completion", "usage": _usage(9), "choices": choices}

    def _event(self, delta: Mapping[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return b"data: " + dumps({**self._base, "choices": [choice]}) + b"\n\n"


def _usage(count: int) -> dict[str, int]:
    return {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": count + 10}


class ResponsesWire:
    """`/v1/responses`, as far as a text needs it."""

    content_type = "text/event-stream"

    def __init__(self, request: Mapping[str, object]) -> None:
        self._model = request.get("model", MODEL)
        self._numbers = itertools.count()
        self._said: list[str] = []
        self._place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}

    def begin(self) -> Iterator[bytes]:
        part = {"type": "output_text", "text": "", "annotations": []}
        yield self._event("response.created", response=self._response("in_progress"))
        yield self._event("response.output_item.added", output_index=0, item=_item(""))
        yield self._event("response.content_part.added", **self._place, part=part)

    def token(self, text: str) -> bytes:
        self._said.append(text)
        return self._event("response.output_text.delta", **self._place, delta=text)

    def end(self, count: int) -> Iterator[bytes]:
        text = "".join(self._said)
        done = self._response("completed", text, count)
        yield self._event("response.output_text.done", **self._place, text=text)
        yield self._event("response.output_item.done", output_index=0, item=_item(text))
        yield self._event("response.completed", response=done)

    def whole(self, text: str) -> object:
        return self._response("completed", text, 9)

    def _event(self, kind: str, **fields: object) -> bytes:
        data = {"type": kind, "sequence_number": next(self._numbers), **fields}
        return f"event: {kind}\n".encode() + b"data: " + dumps(data) + b"\n\n"

    def _response(self, status: str, text: str = "", count: int = 0) -> dict[str, object]:
        details = {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        usage = {"input_tokens": 10, "output_tokens": count, "total_tokens": count + 10, **details}
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1767225600,
            "model": self._model,
            "status": status,
            "output": [_item(text)] if text else [],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage if text else None,
        }


def _item(text: str) -> dict[str, object]:
    part = {"type": "output_text", "text": text, "annotations": []}
    status = "completed" if text else "in_progress"
    content = [part] if text else []
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }


class RawWire:
    """The bare text, for `cat`."""

    content_type = "text/plain"

    def begin(self) -> Iterator[bytes]:
        yield from ()

    def token(self, text: str) -> bytes:
        return text.encode()

    def end(self, count: int) -> Iterator[bytes]:
        yield b"\n"

    def whole(self, text: str) -> object:
        return text

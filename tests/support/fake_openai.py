"""A server that speaks chat completions well enough for OpenAI's own client.

It offers the model `tiny`. The prompt chooses what happens, see `scripts.py`. As a program:
`python -m tests.support.fake_openai`.
"""

import base64
import email
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from tests.support.fake_videos import VideoJobs, completion
from tests.support.http_server import FakeServer, Received, Reply, run_alone
from tests.support.picture_bytes import png
from tests.support.scripts import ScriptWire

NO_KEY = {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": None}


@dataclass
class FakeOpenAI(FakeServer):
    key: str | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Fields of a request, and the message that refuses each."""
    videos: VideoJobs = field(default_factory=VideoJobs)

    async def answer(self, request: Received, reply: Reply) -> object:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return {"error": NO_KEY}, 401
        match request.method, request.path:
            case "GET", "/v1/models":
                entry = {"id": "tiny", "object": "model", "created": 1, "owned_by": "test"}
                return {"object": "list", "data": [entry]}
            case "POST", "/v1/chat/completions":
                return await self._chat(request.json(), reply)
            case "POST", "/v1/embeddings":
                return embeddings(request.json())
            case "POST", "/v1/audio/speech":
                return await speech(request.json(), reply)
            case "POST", "/v1/images/generations":
                return pictures(request.json())
            case "POST", "/v1/images/edits":
                return edits(parts_of(request))
            case "POST", "/v1/videos":
                return self.videos.submit(parts_of(request))
            case _, path if path.startswith("/v1/videos/"):
                return self.videos.answer(request.method, path.split("/")[3:])
            case "POST", "/v1/completions":
                return await completion(request.json(), reply)
            case "GET", "/made/cat.png":
                return png(6, 5), 200, "image/png"
            case "POST", "/v1/audio/transcriptions":
                return transcription(form_of(request))
        return b"404 page not found", 404, "text/plain"

    async def _chat(self, body: Mapping[str, object], reply: Reply) -> object:
        if name := next(filter(body.__contains__, self.refuses), None):
            error = {"message": self.refuses[name], "type": "invalid_request_error", "param": name}
            return {"error": error | {"code": "unsupported_parameter"}}, 400
        if body.get("model") != "tiny":
            message = f"The model `{body.get('model')}` does not exist"
            return {"error": {"message": message, "code": "model_not_found"}}, 404
        await Wire(body, reply).play()
        return None


def embeddings(body: Mapping[str, object]) -> dict[str, object]:
    """Give vectors that say how long a text is and how it begins; in base64 where it is asked."""
    given = body["input"]
    texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
    data = []
    for index, text in enumerate(texts):
        vector = [float(len(text)), float(ord(text[0]) if text else 0)]
        raw = base64.b64encode(struct.pack("<2f", *vector)).decode()
        sent = raw if body.get("encoding_format") == "base64" else vector
        data.append({"object": "embedding", "index": index, "embedding": sent})
    tokens = sum(map(len, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": "tiny", "data": data[::-1], "usage": usage}


SOUNDS = {"wav": b"RIFF", "mp3": b"ID3", "opus": b"OggS", "flac": b"fLaC"}
"""How a sound begins in each format."""


async def speech(body: Mapping[str, object], reply: Reply) -> object:
    """Give a sound that holds the text, in two pieces."""
    if body["model"] != "voice":
        message = f"The model `{body['model']}` does not speak"
        return {"error": {"message": message, "type": "invalid_request_error"}}, 400
    await reply.start(content_type="audio/mpeg")
    await reply.write(SOUNDS[str(body.get("response_format", "mp3"))])
    await reply.write(str(body["input"]).encode())
    return None


def pictures(body: Mapping[str, object]) -> object:
    """Give black pictures of the size that is asked for, as data or behind a link."""
    if body["model"] != "painter":
        return {"error": {"message": "Not a picture model", "type": "invalid_request_error"}}, 400
    prompt = str(body["prompt"])
    if "://" in prompt or prompt.startswith(("/", "data:")):
        return {"created": 1, "data": [{"url": prompt}]}
    width, height = map(int, str(body.get("size", "3x2")).split("x"))
    count = int(str(body.get("n", 1)))
    sizes = [(width + number, height) for number in range(count)]
    entries = [
        {"b64_json": base64.b64encode(png(*size)).decode(), "revised_prompt": f"{prompt}, in oil"}
        for size in sizes
    ]
    usage = {"input_tokens": 3, "output_tokens": 9, "total_tokens": 12}
    return {"created": 1, "data": entries, "usage": usage}


def edits(parts: Sequence[tuple[str, str | None, bytes]]) -> object:
    """Give black pictures like `pictures`, a pixel wider for each file, or say what is wrong."""
    files = [(name, file_name, data) for name, file_name, data in parts if file_name is not None]
    fields = {name: data.decode() for name, file_name, data in parts if file_name is None}
    if [name for name, _, _ in files if name not in ("image", "image[]", "mask")]:
        return {"error": {"message": "Unknown parameter", "type": "invalid_request_error"}}, 400
    if not all(str(file_name).endswith((".png", ".jpeg")) for _, file_name, _ in files):
        return {"error": {"message": "Unknown format", "type": "invalid_request_error"}}, 400
    return pictures({"size": f"{3 + len(files)}x2", **fields})


def form_of(request: Received) -> dict[str, bytes]:
    """Give the fields of a multipart form; that of the file is `file`."""
    return {name: data for name, _, data in parts_of(request)}


def parts_of(request: Received) -> list[tuple[str, str | None, bytes]]:
    """Give the parts of a multipart form: the name, that of the file, and the content."""
    head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + request.body)
    parts = []
    for part in message.get_payload():
        assert isinstance(part, Message)
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(name, str)
        assert isinstance(content, bytes)
        parts.append((name, part.get_filename(), content))
    return parts


def transcription(fields: Mapping[str, bytes]) -> object:
    """Give the text that a sound of `speech` holds."""
    if fields["model"] != b"ears":
        return {"error": {"message": "Invalid model", "type": "invalid_request_error"}}, 400
    text = next(
        fields["file"].removeprefix(start) for start in SOUNDS.values() if start in fields["file"]
    ).decode()
    if fields["response_format"] != b"verbose_json":
        return {"text": text}
    segment = {"id": 0, "start": 0.0, "end": 1.5, "text": text}
    return {"text": text, "language": "english", "duration": 1.5, "segments": [segment]}


class Wire(ScriptWire):
    def frames(self, step: str, *given: Any) -> Iterator[object]:
        match step, given:
            case "say", [text]:
                yield chunk({"content": text})
            case "think", [text]:
                yield chunk({"reasoning_content": text})
            case "call", calls:  # in fragments that alternate, as those of parallel calls do
                for number, (id_, name, _) in enumerate(calls):
                    yield chunk({"tool_calls": [called(number, id_, name, "")]})
                for at in range(0, max(len(arguments) for _, _, arguments in calls), 3):
                    for number, (_, _, arguments) in enumerate(calls):
                        piece = {"index": number, "function": {"arguments": arguments[at : at + 3]}}
                        yield chunk({"tool_calls": [piece]})
            case "fail", [message]:
                yield {"error": {"message": message, "type": "server_error"}}
            case "end", [reason]:
                yield chunk({}, reason)
                options = self._body.get("stream_options")
                if isinstance(options, Mapping) and options.get("include_usage") is True:
                    yield _FRAME | {"choices": [], "usage": self._usage()}
                yield None

    def complete(self, reason: str) -> object:
        calls = [called(number, *call) for number, call in enumerate(self._calls)]
        more = {"reasoning_content": self._thinking, "tool_calls": calls}
        message: dict[str, object] = {"role": "assistant", "content": self._text}
        message |= {key: value for key, value in more.items() if value}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {"object": "chat.completion", "choices": [choice], "usage": self._usage()}
        return _FRAME | whole

    def _usage(self) -> Mapping[str, int]:
        usage = {"prompt_tokens": 7, "completion_tokens": self._tokens}
        return usage | {"total_tokens": 7 + self._tokens}


_FRAME: dict[str, object] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "tiny",
}


def chunk(delta: Mapping[str, object], reason: str | None = None) -> dict[str, object]:
    return _FRAME | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def called(number: int, id_: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"index": number, "id": id_, "type": "function", "function": function}


if __name__ == "__main__":
    run_alone(FakeOpenAI())

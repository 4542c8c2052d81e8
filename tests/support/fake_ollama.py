"""A server that speaks Ollama's API well enough for Ollama's own client.

Models: `tiny:latest` (text, tools) and `thinker:latest` (thinking too). The prompt chooses what
happens, see `scripts.py`. As a program: `python -m tests.support.fake_ollama`.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import anyio

from tests.support.fake_videos import middle
from tests.support.http_server import FakeServer, Received, Reply, run_alone
from tests.support.picture_bytes import png
from tests.support.scripts import CallText, ScriptWire
from tests.support.stored import stored

MODELS = {
    "tiny:latest": ["completion", "tools"],
    "thinker:latest": ["completion", "tools", "thinking"],
}
PATHS = frozenset(
    f"/api/{end}"
    for end in (
        *("version", "tags", "ps", "show", "chat", "embed", "pull", "delete", "copy"),
        *("create", "push", "generate"),
    )
)
BLOBS = "/api/blobs/"
LARGE, SMALL = 1_000_000, 500
MAX_TEXT_LENGTH = 2000
"""Characters that a model for embeddings takes here."""
UNREACHED = "max retries exceeded: dial tcp: lookup x: no such host"
TRICKS = frozenset({"broken", "cut", "stuck", "half"})
CREATED = "2026-01-02T03:04:05.000000Z"
FOR_EVER = "2318-01-02T03:04:05.000000Z"
STORED = stored("servers.json")["ollama"]
DETAILS = STORED["details"]
SHOWN = STORED["shown"] | {"details": DETAILS}
SIZES = {"context_length": 8192, "embedding_length": 256}
"""What the list of models tells beside `DETAILS`."""
Json = Mapping[str, object]


class OllamaServer(FakeServer):
    """One server with its models: it remembers what was pulled, copied, deleted and loaded.

    What a pull does is chosen by the name's first word: `missing` is not in the library, `broken`
    fails in the middle, `cut` loses the connection, `stuck` stands still after two fifths, `half`
    ends without `success`; any other name comes in two layers side by side. A broken pull goes on
    where it stopped.

    A model can be made from one that is there, or from blobs that were sent. Only one whose name
    has `f16` in it can be quantized. `USER/NAME` can be pushed, nothing else.
    """

    def __init__(self) -> None:
        self.models = dict(MODELS)
        self.loaded = {"tiny:latest"}
        self.draws = True
        self.kept: dict[str, object] = {}
        """What the newest request said of keeping a model, by name."""
        self.fetched: dict[str, int] = {}
        """Bytes of the first layer that are there, by name."""
        self.blobs: dict[str, bytes] = {}
        """The files that were sent, by digest."""
        self.made: dict[str, Json] = {}
        """What the newest request said of a model that was made, by name."""

    async def answer(self, request: Received, reply: Reply) -> object:
        is_json = request.body and not request.path.startswith(BLOBS)
        body = request.json() if is_json else {}
        match request.method, request.path:
            case "GET", "/":
                return b"Ollama is running", 200, "text/plain; charset=utf-8"
            case "GET", "/api/version":
                return {"version": "0.12.0"}
            case "GET", "/api/tags":
                return {"models": [self.listed(name) for name in self.models]}
            case "GET", "/api/ps":
                return {"models": [self.running(name) for name in self.loaded]}
            case "POST", "/api/pull":
                await self.pull(full_name(body.get("model")), reply)
                return None
            case "HEAD" | "POST", path if path.startswith(BLOBS):
                return self.blob(request, path.removeprefix(BLOBS))
            case "POST", "/api/create":
                return await self.create(body, reply)
            case "POST", "/api/push":
                await self.push(full_name(body.get("model")), reply)
                return None
            case "POST", "/api/copy":
                if (source := full_name(body.get("source"))) not in self.models:
                    return {"error": f'model "{body.get("source")}" not found'}, 404
                self.models[full_name(body.get("destination"))] = self.models[source]
                return b""
            case ("POST", "/api/show" | "/api/chat" | "/api/embed" | "/api/generate") | (
                "DELETE",
                "/api/delete",
            ):
                asked = body.get("model") or body.get("name")
                if not asked:
                    return {"error": "model is required"}, 400
                if (name := full_name(asked)) not in self.models:
                    shown = name if request.path == "/api/show" else asked
                    return {"error": f"model '{shown}' not found"}, 404
                return await getattr(self, request.path.rpartition("/")[2])(name, body, reply)
            case _, path if path in PATHS:
                return b"405 method not allowed", 405, "text/plain"
        return b"404 page not found", 404, "text/plain"

    def listed(self, name: str) -> dict[str, object]:
        more = {"capabilities": self.models[name], "details": DETAILS | SIZES}
        return described(name) | more

    def running(self, name: str) -> dict[str, object]:
        """Describe a model in memory, where it takes more than on the disk."""
        kept = self.kept.get(name)
        stays = isinstance(kept, int | float) and kept < 0
        memory = {"size": 2000, "size_vram": 1000, "context_length": 4096}
        return described(name) | memory | {"expires_at": FOR_EVER if stays else CREATED}

    async def show(self, name: str, _body: Json, _reply: Reply) -> object:
        return SHOWN | {"modelfile": f"FROM {name}", "capabilities": self.models[name]}

    async def generate(self, name: str, body: Json, reply: Reply) -> object:
        """Fill a gap, or draw as versions up to 0.32.4 do."""
        if "image" in self.models[name]:
            if not self.draws:
                return {"error": "image generation models are not currently supported"}, 400
            given = body.get("images")
            width = int(str(body.get("width", 3))) + (len(given) if isinstance(given, list) else 0)
            picture = base64.b64encode(png(width, int(str(body.get("height", 2))))).decode()
            return {"model": name, "image": picture, "done": True, "done_reason": "stop"}
        if not body.get("suffix"):
            return {"model": name, "response": "Hello.", "done": True, "done_reason": "stop"}
        if "insert" not in self.models[name]:
            return {"error": f'"{name}" does not support insert'}, 400
        text = middle(body["prompt"], body["suffix"])
        await reply.start(content_type="application/x-ndjson")
        for piece in (text[:4], text[4:], ""):
            line: dict[str, object] = {"model": name, "response": piece, "done": not piece}
            counts = {"done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2}
            await reply.write(json.dumps(line if piece else line | counts).encode() + b"\n")
        return None

    async def embed(self, name: str, body: Json, _reply: Reply) -> object:
        """Give vectors that say how long a text is and how it begins."""
        if "embedding" not in self.models[name]:
            return {"error": "this model does not support embeddings"}, 501
        given = body["input"]
        texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
        if any(len(text) > MAX_TEXT_LENGTH for text in texts) and body.get("truncate") is False:
            return {"error": "the input length exceeds the context length"}, 400
        vectors = [[float(len(text)), float(ord(text[0]) if text else 0)] for text in texts]
        counts = {
            "total_duration": 1,
            "load_duration": 1,
            "prompt_eval_count": sum(map(len, texts)),
        }
        return {"model": body["model"], "embeddings": vectors, **counts}

    async def chat(self, name: str, body: Json, reply: Reply) -> object:
        if not body.get("messages"):
            drops = body.get("keep_alive") == 0
            self.kept[name] = body.get("keep_alive")
            (self.loaded.discard if drops else self.loaded.add)(name)
            done = {"done": True, "done_reason": "unload" if drops else "load"}
            empty = {"message": {"role": "assistant", "content": ""}}
            return {"model": body["model"], "created_at": CREATED, **done, **empty}
        if body.get("think") not in (None, False) and "thinking" not in self.models[name]:
            return {"error": f'"{body["model"]}" does not support thinking'}, 400
        if body.get("tools") and "tools" not in self.models[name]:
            return {"error": f"registry.ollama.ai/library/{name} does not support tools"}, 400
        if body.get("_debug_render_only"):
            messages: Any = body["messages"]
            rendered = "".join(f"<{m['role']}>{m['content']}\n" for m in messages)
            shown = {"rendered_template": f"{rendered}<assistant>"}
            return {"model": body["model"], "created_at": CREATED, "_debug_info": shown}
        await _Wire(body, reply).play()
        return None

    async def delete(self, name: str, _body: Json, _reply: Reply) -> object:
        del self.models[name]
        self.loaded.discard(name)
        return b""

    def blob(self, request: Received, digest: str) -> object:
        """Tell whether a blob is there, or take it: server/routes.go, `CreateBlobHandler`."""
        if request.method == "HEAD":
            return b"", 200 if digest in self.blobs else 404
        if digest != f"sha256:{hashlib.sha256(request.body).hexdigest()}":
            return {"error": "digest mismatch, expected " + digest}, 400
        self.blobs[digest] = request.body
        return b"", 201

    async def create(self, body: Json, reply: Reply) -> object:
        """Make a model as server/create.go does: some faults before the stream, others in it."""
        name, base = full_name(body.get("model")), body.get("from")
        files = body.get("files")
        lacking = [digest for digest in as_map(files).values() if digest not in self.blobs]
        if lacking:
            return {"error": f"blob {lacking[0]} does not exist"}, 400
        await reply.start(content_type="application/x-ndjson")
        if base is None and not files:
            await line(reply, error="neither 'from' or 'files' was specified", status=400)
            return None
        if files:
            await line(reply, status="parsing GGUF")
        if not all(
            self.blobs[str(digest)].startswith(b"GGUF") for digest in as_map(files).values()
        ):
            await line(reply, error="supplied file was not in GGUF format", status=400)
            return None
        if level := body.get("quantize"):
            if "f16" not in f"{base}{list(as_map(files))}".lower():
                await line(reply, error="quantization is only supported for F16 and F32 models")
                return None
            for done in (0, LARGE // 2, LARGE):
                status = f"quantizing F16 model to {str(level).upper()}"
                await line(reply, status=status, digest="0" * 19, total=LARGE, completed=done)
        for status in ("using existing layer sha256:" + "ab" * 32, "writing manifest", "success"):
            await line(reply, status=status)
        self.models[name] = self.models.get(full_name(base), ["completion"])
        self.made[name] = body
        return None

    async def push(self, name: str, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson")
        await line(reply, status="retrieving manifest")
        if name not in self.models:
            await line(reply, status="couldn't retrieve manifest")
            await line(reply, error=f"open manifests/{name}: no such file or directory")
        elif "/" not in name:
            await line(reply, error=f"unable to push {name}, make sure this namespace exists")
        else:
            for done in (None, SMALL // 2, SMALL):
                await layer(reply, "cc", SMALL, done)
            for status in ("pushing manifest", "success"):
                await line(reply, status=status)

    async def pull(self, name: str, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson")
        await line(reply, status="pulling manifest")
        trick = re.split(r"[^a-z]", name)[0]
        if trick == "missing":
            await line(reply, error="pull model manifest: file does not exist")
            return
        while (done := self.fetched.get(name, 0)) < LARGE:
            self.fetched[name] = done + LARGE // 5
            await layer(reply, "aa", LARGE, self.fetched[name])
            await layer(reply, "bb", SMALL, None if done < LARGE // 2 else SMALL)
            if done + LARGE // 5 == LARGE * 2 // 5 and trick in TRICKS:
                if trick == "broken":
                    await line(reply, error=UNREACHED)
                elif trick == "cut":
                    reply.cut()
                elif trick == "stuck":
                    await anyio.sleep_forever()
                return
        for status in ("verifying sha256 digest", "writing manifest", "success"):
            await line(reply, status=status)
        self.models[name] = ["completion"]


async def fake_ollama(request: Received, reply: Reply) -> None:
    """Answer one request as a server does to which nothing has happened yet."""
    await OllamaServer()(request, reply)


async def line(reply: Reply, **payload: object) -> None:
    await reply.write(json.dumps(payload).encode() + b"\n")


async def layer(reply: Reply, letters: str, total: int, completed: int | None) -> None:
    digest = letters * 32
    sizes = {"total": total} | ({} if completed is None else {"completed": completed})
    await line(reply, status=f"pulling {digest[:12]}", digest=f"sha256:{digest}", **sizes)


def described(name: str) -> dict[str, object]:
    facts = {"modified_at": CREATED, "size": 1000, "digest": "ab" * 32, "details": DETAILS}
    return {"name": name, "model": name, **facts}


def as_map(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def full_name(name: object) -> str:
    return name if isinstance(name, str) and ":" in name else f"{name}:latest"


class _Wire(ScriptWire):
    content_type = "application/x-ndjson"
    streams_unasked = True

    def frames(self, step: str, *given: Any) -> Iterator[Json]:
        match step, given:
            case "say", [text]:
                yield self._frame(content=text)
            case "think", [text]:
                yield self._frame(content="", thinking=text)
            case "call", calls:
                for made in _functions(calls):
                    yield self._frame(content="", tool_calls=[made])
            case "fail", [message]:
                yield {"error": message}
            case "end", [reason]:
                yield self._frame(content="") | self._counts(reason)

    def complete(self, reason: str) -> Json:
        filled = {"thinking": self._thinking, "tool_calls": _functions(self._calls)}
        given = {key: value for key, value in filled.items() if value}
        return self._frame(content=self._text, **given) | self._counts(reason)

    def spelled(self, frame: object) -> bytes:
        return json.dumps(frame, ensure_ascii=False).encode() + b"\n"

    def _frame(self, **message: object) -> dict[str, object]:
        frame = {"model": self._body["model"], "created_at": CREATED, "done": False}
        return frame | {"message": {"role": "assistant", **message}}

    def _counts(self, reason: str) -> dict[str, object]:
        reason = "stop" if reason == "tool_calls" else reason
        return {**STORED["end"], "done_reason": reason, "eval_count": self._tokens}


def _functions(calls: Iterable[CallText]) -> list[Json]:
    """Give the calls that are whole: Ollama sends no others."""
    made: list[Json] = []
    for id_, name, arguments in calls:
        with suppress(ValueError):
            function = {"index": 0, "name": name, "arguments": json.loads(arguments)}
            made.append({"id": id_, "function": function})
    return made


if __name__ == "__main__":
    run_alone(OllamaServer())

"""Recorded server answers and text cases, most of them from beside the repository if there."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_server import Received, Reply

OLLAMA_FOLDER = Path(__file__).parents[1] / "data" / "ollama-fb30760"
"""What a real Ollama answered."""
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"

needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="no corpus of recorded streams beside the repository"
)

Case = dict[str, Any]


@dataclass(frozen=True)
class RecordedStream:
    """One recorded response: its body, what was noted about it, and what has to come of it."""

    id: str
    body: bytes
    meta: Case

    @property
    def api(self) -> str:
        return str(self.meta["api"])

    @property
    def expected(self) -> Case:
        expected: Case = self.meta["expected"]
        return expected

    @property
    def decoded_body(self) -> bytes:
        """The body as an HTTP client gives it out: without content coding."""
        headers = {key.lower(): value for key, value in (self.meta.get("headers") or {}).items()}
        return gzip.decompress(self.body) if "content-encoding" in headers else self.body

    @property
    def splits(self) -> list[int]:
        return [int(offset) for offset in self.meta.get("splits", ())]


def load_json(path: Path) -> Case:
    loaded: Case = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def load_file(kind: str) -> Case:
    """Load one of the JSON files, or an object without cases where the corpus is absent."""
    path = CORPUS / kind / "cases.json"
    return load_json(path) if path.is_file() else {"cases": []}


def load_cases(kind: str) -> list[Case]:
    cases: list[Case] = load_file(kind)["cases"]
    return cases


@dataclass(frozen=True)
class RecordedReply:
    """One reply of a real server to one request: a stream, a whole reply or an error."""

    id: str
    """Server with its version, and the case: `vllm-0.32.0/models`."""
    kind: str
    request: Case
    body: bytes
    meta: Case

    @property
    def server(self) -> str:
        return self.id.partition("/")[0]

    @property
    def case(self) -> str:
        return self.id.partition("/")[2]

    @property
    def status(self) -> int:
        return int(self.meta["status"])


def load_streams(*apis: str) -> list[RecordedStream]:
    """Load the recorded streams of these APIs, all if none is named."""
    streams = [
        RecordedStream(path.name, (path / "body.bin").read_bytes(), load_json(path / "meta.json"))
        for path in sorted(CORPUS.glob("streams/*/"))
    ]
    streams += [RecordedStream(one.id, one.body, one.meta) for one in load_replies("stream")]
    return [stream for stream in streams if not apis or stream.api in apis]


def load_replies(*kinds: str) -> list[RecordedReply]:
    """Load what real servers replied: `stream`, `reply` or `http_error`, all if none is named."""
    replies = []
    for path in sorted(CORPUS.glob("real/*/*/meta.json")):
        meta, request = load_json(path), load_json(path.with_name("request.json"))
        id_, body = f"{path.parts[-3]}/{path.parts[-2]}", path.with_name("body.bin").read_bytes()
        replies.append(RecordedReply(id_, meta["kind"], request, body, meta))
    return [reply for reply in replies if not kinds or reply.kind in kinds]


def case_id(case: Case) -> str:
    return str(case["id"])


def stream_id(stream: RecordedStream) -> str:
    return stream.id


_OF_THE_CONNECTION = frozenset(
    {"content-length", "content-type", "transfer-encoding", "connection", "date"}
)


@dataclass
class Replay:
    """Answers every path as the server did that was recorded, and 404 where nothing was."""

    by_path: Mapping[tuple[str, str], RecordedReply]
    """The reply to each method and path."""
    other: RecordedReply | None = None
    """The reply to every other path."""
    asked: list[Received] = field(default_factory=list)

    async def __call__(self, request: Received, reply: Reply) -> None:
        self.asked.append(request)
        recorded = self.by_path.get((request.method, request.path), self.other)
        if recorded is None:
            await reply.json({"detail": "Not Found"}, 404)
            return
        known = recorded.meta.get("headers") or {}
        headers = {name: known[name] for name in known if name.lower() not in _OF_THE_CONNECTION}
        kind = recorded.meta.get("content_type") or "application/json"
        if recorded.meta.get("cut_by_reader"):
            await reply.start(recorded.status, kind, headers)
            await reply.write(recorded.body)
            reply.cut()
        await reply.whole(recorded.body, recorded.status, kind, headers)


def replaying(*replies: RecordedReply, other: RecordedReply | None = None) -> Replay:
    """Make a server of these replies; the last one for a path counts."""
    by_path = {(one.request["method"], one.request["path"]): one for one in replies}
    return Replay(by_path, other)


@dataclass(frozen=True)
class Exchange:
    id: str
    method: str
    path: str
    request: Any
    status: int
    content_type: str
    body: str
    cut: bool = False
    """Whether the connection ended in the middle of the body."""
    expected: Mapping[str, Any] | None = None
    """What a plain reading of the lines of a streamed chat gives."""

    @property
    def reply(self) -> Any:
        return json.loads(self.body)

    async def replay(self, _request: Received, reply: Reply) -> None:
        if not self.cut:
            await reply.whole(self.body.encode(), self.status, self.content_type)
            return
        await reply.start(self.status, content_type=self.content_type)
        await reply.write(self.body.encode())
        reply.cut()


def exchange(name: str) -> Exchange:
    return Exchange(**load_json(OLLAMA_FOLDER / f"{name}.json"))


EXCHANGES = {path.stem: exchange(path.stem) for path in sorted(OLLAMA_FOLDER.glob("*.json"))}

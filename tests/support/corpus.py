"""Recorded server answers and text cases from beside the repository, where they are present."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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


def load_file(kind: str) -> Case:
    """Load one of the JSON files, or an object without cases where the corpus is absent."""
    path = CORPUS / kind / "cases.json"
    if not path.is_file():
        return {"cases": []}
    loaded: Case = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def load_cases(kind: str) -> list[Case]:
    """Load the cases of one of the JSON files."""
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
    streams = []
    for path in sorted(CORPUS.glob("streams/*/meta.json")):
        meta = json.loads(path.read_text(encoding="utf-8"))
        body = path.with_name("body.bin").read_bytes()
        streams.append(RecordedStream(id=path.parent.name, body=body, meta=meta))
    streams += [
        RecordedStream(id=reply.id, body=reply.body, meta=reply.meta)
        for reply in load_replies("stream")
    ]
    return [stream for stream in streams if not apis or stream.api in apis]


def load_replies(*kinds: str) -> list[RecordedReply]:
    """Load what real servers replied: `stream`, `reply` or `http_error`, all if none is named."""
    replies = []
    for path in sorted(CORPUS.glob("real/*/*/meta.json")):
        meta = json.loads(path.read_text(encoding="utf-8"))
        if not kinds or meta["kind"] in kinds:
            replies.append(
                RecordedReply(
                    id=f"{path.parent.parent.name}/{path.parent.name}",
                    kind=meta["kind"],
                    request=json.loads(path.with_name("request.json").read_text(encoding="utf-8")),
                    body=path.with_name("body.bin").read_bytes(),
                    meta=meta,
                )
            )
    return replies


def case_id(case: Case) -> str:
    """Name a parametrised case by its id."""
    return str(case["id"])


def stream_id(stream: RecordedStream) -> str:
    """Name a parametrised stream by its id."""
    return stream.id

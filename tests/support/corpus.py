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


def load_streams(*apis: str) -> list[RecordedStream]:
    """Load the recorded streams of these APIs, all if none is named."""
    found = []
    for path in sorted(CORPUS.glob("streams/*/meta.json")):
        meta = json.loads(path.read_text(encoding="utf-8"))
        if not apis or meta["api"] in apis:
            body = path.with_name("body.bin").read_bytes()
            found.append(RecordedStream(id=path.parent.name, body=body, meta=meta))
    return found


def case_id(case: Case) -> str:
    """Name a parametrised case by its id."""
    return str(case["id"])


def stream_id(stream: RecordedStream) -> str:
    """Name a parametrised stream by its id."""
    return stream.id

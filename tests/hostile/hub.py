"""A hub whose every text is hostile: licences, names of files, words of errors."""

import json
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

from tests.hostile.payloads import Payload, marked
from tests.support.http_server import Received, Reply

HALVES = ("zqa", "zqb")
"""What the repositories of the first and of the second half of the payloads are found by."""
FILES = "someone/files"
FAILING = "zqfail"
COMMIT = "1" * 40


def half_of(place: int, count: int) -> str:
    """Give what the repository of a payload is found by."""
    return HALVES[0] if place < (count + 1) // 2 else HALVES[1]


async def answer_as_hub(payloads: Sequence[Payload], request: Received, reply: Reply) -> None:
    """Answer a search, or what is in the repository of all names."""
    asked = urlsplit(request.path)
    words = parse_qs(asked.query).get("search", [""])[0]
    message = "\n".join(marked(payload, place) for place, payload in enumerate(payloads))
    if asked.path.startswith(f"/api/models/{FILES}"):
        await reply.json(
            {**_repo(FILES, message[:400]), "sha": COMMIT, "siblings": _files(payloads)}
        )
    elif words == FAILING:
        await reply.whole(json.dumps({"error": message}).encode(), 503)
    else:
        found = [
            _repo(f"someone/{half_of(place, len(payloads))}-{place:02}", marked(payload, place))
            for place, payload in enumerate(payloads)
        ]
        body = json.dumps([one for one in found if words in str(one["id"])])
        await reply.whole(body.encode())


def _repo(name: str, text: str) -> dict[str, object]:
    return {
        "id": name,
        "downloads": 1000,
        "likes": 10,
        "tags": ["gguf", text, f"license:{text}"],
        "cardData": {"license": text, "base_model": text, "language": [text]},
        "pipeline_tag": text,
        "library_name": text,
        "lastModified": text,
        "gguf": {"architecture": text, "total": 1_000_000_000, "context_length": 4096},
        "gated": False,
    }


def _files(payloads: Sequence[Payload]) -> list[dict[str, object]]:
    names = [f"{place:02}{payload.text}.gguf" for place, payload in enumerate(payloads)]
    return [
        {"rfilename": name, "size": 1000, "lfs": {"sha256": "0" * 64, "size": 1000}}
        for name in names
    ]

"""What a real Ollama answered, from `tests/data`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.http_server import Received, Reply

FOLDER: Final = Path(__file__).parents[1] / "data" / "ollama-fb30760"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its reply."""

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
        """The body as one JSON value."""
        return json.loads(self.body)

    async def replay(self, _request: Received, reply: Reply) -> None:
        """Answer a request as the server did."""
        if not self.cut:
            await reply.whole(self.body.encode(), self.status, self.content_type)
            return
        await reply.start(self.status, content_type=self.content_type)
        await reply.write(self.body.encode())
        reply.cut()


def exchange(name: str) -> Exchange:
    """Load one recorded exchange."""
    return Exchange(**json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


EXCHANGES: Final = {path.stem: exchange(path.stem) for path in sorted(FOLDER.glob("*.json"))}

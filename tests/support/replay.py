"""A loopback server that gives recorded replies to the requests that they were given to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.support.corpus import RecordedReply
from tests.support.http_server import Received, Reply

_OF_THE_CONNECTION = frozenset({"content-length", "transfer-encoding", "connection", "date"})


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
        headers = {
            name: value
            for name, value in (recorded.meta.get("headers") or {}).items()
            if name.lower() not in {*_OF_THE_CONNECTION, "content-type"}
        }
        kind = recorded.meta.get("content_type") or "application/json"
        if recorded.meta.get("cut_by_reader"):
            await reply.start(recorded.status, kind, headers)
            await reply.write(recorded.body)
            reply.cut()
        await reply.whole(recorded.body, recorded.status, kind, headers)


def replaying(*replies: RecordedReply, other: RecordedReply | None = None) -> Replay:
    """Make a server of these replies; the last one for a path counts."""
    return Replay(by_path=_by_path(replies), other=other)


def _by_path(replies: Iterable[RecordedReply]) -> Mapping[tuple[str, str], RecordedReply]:
    return {(one.request["method"], one.request["path"]): one for one in replies}

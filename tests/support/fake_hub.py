"""A hub of model files on loopback: search, details, trees, and files from a second server.

    python -m tests.support.fake_hub --port 8090 --speed 2000000
    HF_ENDPOINT=http://127.0.0.1:8090 ollm

What it answers has the shapes of the real hub, whose own client is held against it. The second
server stands for the network that delivers files: it knows no token, and refuses who sends one.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import anyio
from anyio.from_thread import start_blocking_portal

from tests.support.http_server import Left, Received, Reply, serve
from tests.support.hub_repos import BASIC_FIELDS, EXPANDABLE, FULL_FIELDS, FakeFile, FakeRepo

Query = Mapping[str, list[str]]
_REPO = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+)(?:/(.*))?)?")
_RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_CACHED = re.compile(r"/api/resolve-cache/models/([^/]+/[^/]+)/([^/]+)/(.+)")
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_JSON = "application/json; charset=utf-8"
BAD_TOKEN = "Invalid credentials in Authorization header"


@dataclass
class Asked:
    """One request, and what became of it."""

    method: str
    path: str
    headers: Mapping[str, str]
    to_files: bool
    """Whether the second server was asked."""
    status: int = 0
    sent: int = 0
    """Bytes of the body."""


@dataclass(frozen=True)
class Answer:
    """What is sent in place of the right answer."""

    status: int
    body: bytes = b""
    content_type: str = _JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False
    """Whether the connection ends behind the body, however long it was said to be."""


@dataclass
class FakeHub:
    """The hub; everything may be changed while it runs."""

    repos: Sequence[FakeRepo] = ()
    tokens: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Known tokens, and the gated and private repositories that each may see."""
    page: int = 1000
    """Most entries of one page of a tree or a search."""
    pace: Callable[[int], float] | None = None
    """Seconds to wait before so many bytes of a file are sent."""
    cut_after: int | None = None
    """Bytes of a file after which the connection breaks; counts for every answer until unset."""
    instead: Callable[[Received], Answer | None] | None = None
    """Gives another answer than the right one; None for the right one. Both servers ask it."""
    ranges: bool = True
    url: str = ""
    files_url: str = ""
    asked: list[Asked] = field(default_factory=list)

    async def answer(self, request: Received, reply: Reply) -> None:
        """Answer as the hub."""
        await self._recorded(request, reply, to_files=False)

    async def send_file(self, request: Received, reply: Reply) -> None:
        """Answer as the server of the files."""
        await self._recorded(request, reply, to_files=True)

    def paths(self, *, to_files: bool = False) -> list[str]:
        """Give the paths that one of the servers was asked for."""
        return [urlsplit(a.path).path for a in self.asked if a.to_files is to_files]

    async def _recorded(self, request: Received, reply: Reply, *, to_files: bool) -> None:
        asked = Asked(request.method, request.path, request.headers, to_files)
        self.asked.append(asked)
        other = self.instead(request) if self.instead is not None else None
        sender = _Sender(self, request, reply, asked)
        if other is not None:
            await sender.send(other)
        elif to_files:
            await sender.file_at_files()
        else:
            await sender.hub()

    def repo(self, name: str) -> FakeRepo | None:
        return next((repo for repo in self.repos if repo.id.lower() == name.lower()), None)

    def search(self, query: Query) -> list[FakeRepo]:
        """Give what a search finds."""
        words = " ".join(query.get("search", [])).lower().split()
        filters = [f for value in query.get("filter", []) for f in value.split(",")]
        author = query.get("author", [None])[0]
        found = [
            repo
            for repo in self.repos
            if not repo.private
            and all(word in repo.id.lower() for word in words)
            and all(f in _tags(repo) for f in filters)
            and author in (None, repo.id.partition("/")[0])
        ]
        key = query.get("sort", ["trendingScore"])[0]
        order: Callable[[FakeRepo], object] = {
            "likes": lambda repo: repo.likes,
            "lastModified": lambda repo: repo.modified,
        }.get(key, lambda repo: repo.downloads)
        return sorted(found, key=order, reverse=True)  # type: ignore[arg-type]


def _tags(repo: FakeRepo) -> list[object]:
    tags = repo.info(repo.sha)["tags"]
    assert isinstance(tags, list)
    return tags


class _Sender:
    """The answer to one request."""

    def __init__(self, hub: FakeHub, request: Received, reply: Reply, asked: Asked) -> None:
        self._hub = hub
        self._request = request
        self._reply = reply
        self._asked = asked
        parts = urlsplit(request.path)
        self._path = parts.path
        self._query = parse_qs(parts.query, keep_blank_values=True)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        self._token = token if scheme.lower() == "bearer" else None

    async def send(self, answer: Answer) -> None:
        headers = {"content-type": answer.content_type, "content-length": str(len(answer.body))}
        await self._head(answer.status, {**headers, **answer.headers})
        if self._request.method != "HEAD":
            await self._body(answer.body)
        if answer.is_cut:
            raise Left

    async def hub(self) -> None:
        if self._token is not None and self._token not in self._hub.tokens:
            await self._refuse(401, BAD_TOKEN)
        elif self._path == "/api/models":
            await self._models()
        elif found := _CACHED.fullmatch(self._path):
            await self._small_file(*map(unquote, found.groups()))
        elif found := _REPO.fullmatch(self._path):
            name, what, revision, rest = (part and unquote(part) for part in found.groups())
            if (repo := await self._repo(name)) is not None:
                await self._about(repo, what, revision or "main", rest or "")
        elif found := _RESOLVE.fullmatch(self._path):
            await self._resolve(*map(unquote, found.groups()))
        else:
            await self._refuse(404, "Sorry, we can't find the page you are looking for.")

    async def _models(self) -> None:
        wanted = [*self._query.get("expand", []), *self._query.get("expand[]", [])]
        if unknown := [name for name in wanted if name not in EXPANDABLE]:
            await self._refuse(400, f'"expand" does not know {unknown[0]}')
            return
        full = _truth(self._query, "full")
        fields = ("_id", "id", "modelId", *wanted) if wanted else FULL_FIELDS
        fields = fields if wanted or full else BASIC_FIELDS
        payload = [repo.info(repo.sha) for repo in self._hub.search(self._query)]
        entries = [{key: info[key] for key in fields if key in info} for info in payload]
        await self._page(entries)

    async def _about(self, repo: FakeRepo, what: str | None, revision: str, rest: str) -> None:
        commit = repo.at(revision)
        if commit is None:
            await self._refuse(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        elif what == "tree":
            recursive = _truth(self._query, "recursive")
            if entries := repo.tree(commit, rest, recursive=recursive):
                await self._page(entries)
            else:
                await self._refuse(404, f"{rest} does not exist", "EntryNotFound")
        else:
            blobs = _truth(self._query, "blobs")
            payload = repo.info(commit, blobs=blobs)
            if wanted := self._query.get("expand"):
                payload = {key: payload[key] for key in ("_id", "id", *wanted) if key in payload}
            await self._json(payload)

    async def _page(self, entries: Sequence[object]) -> None:
        """Send one page, with the address of the next one."""
        start = int(self._query.get("cursor", ["0"])[0])
        asked_for = int(self._query.get("limit", [str(self._hub.page)])[0])
        end = start + min(asked_for, self._hub.page)
        headers = {}
        if end < len(entries):
            query = urlencode({**self._query, "cursor": [str(end)]}, doseq=True)
            headers["link"] = f'<{self._hub.url}{self._path}?{query}>; rel="next"'
        await self._json(entries[start:end], headers)

    async def _repo(self, name: str | None) -> FakeRepo | None:
        """Give a repository, or say why not: who may not see it cannot tell it from none."""
        repo = self._hub.repo(name or "")
        if repo is not None and (not repo.private or self._may(repo)):
            return repo
        if self._token is None:
            await self._refuse(401, "Invalid username or password.")
        else:
            await self._refuse(404, "Repository not found", "RepoNotFound")
        return None

    def _may(self, repo: FakeRepo) -> bool:
        return repo.id in self._hub.tokens.get(self._token or "", ())

    async def _resolve(self, name: str, revision: str, path: str) -> None:
        repo = await self._repo(name)
        if repo is None:
            return
        commit = repo.at(revision)
        if repo.gated and not self._may(repo):
            await self._refuse_gated(repo)
            return
        if commit is None:
            await self._refuse(404, f"Invalid rev id: {revision}", "RevisionNotFound")
            return
        file = next((file for file in repo.commits[commit] if file.path == path), None)
        if file is None:
            await self._refuse(404, "Entry not found", "EntryNotFound", {"x-repo-commit": commit})
        else:
            await self._redirect(repo, commit, file)

    async def _refuse_gated(self, repo: FakeRepo) -> None:
        reason = f"Access to model {repo.id} is restricted"
        if self._token is None:
            more = "You must have access to it and be authenticated to access it. Please log in."
            await self._refuse(401, f"{reason}. {more}", "GatedRepo")
        else:
            more = f"Visit {self._hub.url}/{repo.id} to ask for access."
            await self._refuse(
                403, f"{reason} and you are not in the authorized list. {more}", "GatedRepo"
            )

    async def _redirect(self, repo: FakeRepo, commit: str, file: FakeFile) -> None:
        """Send on to where the bytes are: another server for large files, here for small ones."""
        headers = {"x-repo-commit": commit, "accept-ranges": "bytes", "vary": "Origin, Accept"}
        if file.lfs:
            query = urlencode({"repo": repo.id, "path": file.path, "Signature": _signature(file)})
            location = f"{self._hub.files_url}/{commit}/{file.sha256}?{query}"
            headers |= {"x-linked-etag": f'"{file.sha256}"', "x-linked-size": str(file.size)}
            status = 302
        else:
            place = f"{quote(repo.id)}/{commit}/{quote(file.path)}"
            location = f"/api/resolve-cache/models/{place}?etag=%22{file.blob_id}%22"
            headers |= {"x-linked-etag": f'"{file.blob_id}"', "x-linked-size": str(file.size)}
            status = 307
        body = f"Found. Redirecting to {location}".encode()
        await self.send(
            Answer(status, body, "text/plain; charset=utf-8", {**headers, "location": location})
        )

    async def _small_file(self, name: str, commit: str, path: str) -> None:
        repo = self._hub.repo(name)
        files = repo.commits.get(commit, ()) if repo is not None else ()
        file = next((file for file in files if file.path == path), None)
        if file is None:
            await self._refuse(404, "Entry not found", "EntryNotFound")
        else:
            await self._ranged(file, f'"{file.blob_id}"', {"x-repo-commit": commit})

    async def file_at_files(self) -> None:
        if "authorization" in self._request.headers:
            body = b"<Error><Code>InvalidArgument</Code></Error>"
            await self.send(Answer(400, body, "application/xml"))
            return
        repo = self._hub.repo(self._query.get("repo", [""])[0])
        commit = self._path.split("/")[1]
        files = repo.commits.get(commit, ()) if repo is not None else ()
        file = next((f for f in files if [f.path] == self._query.get("path")), None)
        if file is None or self._query.get("Signature") != [_signature(file)]:
            body = b"<Error><Code>AccessDenied</Code></Error>"
            await self.send(Answer(403, body, "application/xml"))
            return
        await self._ranged(file, file_etag(file), {})

    async def _ranged(self, file: FakeFile, etag: str, more: Mapping[str, str]) -> None:
        """Send a file or the part that was asked for."""
        part = _part(self._request.headers, file.size, etag) if self._hub.ranges else None
        headers = {"content-type": "binary/octet-stream", "etag": etag, **more}
        if self._hub.ranges:
            headers["accept-ranges"] = "bytes"
        if part is not None and part[0] >= part[1]:
            headers |= {"content-range": f"bytes */{file.size}", "content-length": "0"}
            await self._head(416, headers)
            return
        start, end = part or (0, file.size)
        headers["content-length"] = str(end - start)
        if part is not None:
            headers["content-range"] = f"bytes {start}-{end - 1}/{file.size}"
        await self._head(200 if part is None else 206, headers)
        if self._request.method != "HEAD":
            for piece in file.pieces(start, end):
                await self._paced(piece)

    async def _paced(self, piece: bytes) -> None:
        cut = self._hub.cut_after
        if cut is not None and self._asked.sent + len(piece) > cut:
            await self._body(piece[: cut - self._asked.sent])
            raise Left
        if self._hub.pace is not None:
            await anyio.sleep(self._hub.pace(len(piece)))
        await self._body(piece)

    async def _json(self, value: object, headers: Mapping[str, str] | None = None) -> None:
        await self.send(Answer(200, json.dumps(value).encode(), headers=headers or {}))

    async def _refuse(
        self,
        status: int,
        message: str,
        code: str | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        headers = {"x-error-message": message, **({"x-error-code": code} if code else {})}
        body = json.dumps({"error": message}).encode()
        await self.send(Answer(status, body, headers={**headers, **(more or {})}))

    async def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self._asked.status = status
        self._reply.started = True
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{k}: {v}" for k, v in headers.items())]
        await self._reply.raw("\r\n".join([*lines, "", ""]).encode())

    async def _body(self, data: bytes) -> None:
        await self._reply.raw(data)
        self._asked.sent += len(data)


def file_etag(file: FakeFile) -> str:
    """Give the tag of the second server, which is not the hub's."""
    return f'"{hashlib.md5(file.sha256.encode()).hexdigest()}"'


def _signature(file: FakeFile) -> str:
    return hashlib.sha256(f"signed {file.sha256}".encode()).hexdigest()


def _truth(query: Query, name: str) -> bool:
    return query.get(name, ["false"])[0].lower() in ("true", "1")


def _part(headers: Mapping[str, str], size: int, etag: str) -> tuple[int, int] | None:
    """Give first byte and end of what is asked for; an empty part is none that the file has."""
    found = _RANGE.fullmatch(headers.get("range", ""))
    if found is None or headers.get("if-range", etag) != etag:
        return None
    first, last = found.groups()
    if not first:
        return (max(0, size - int(last)), size) if last else None
    return int(first), min(int(last) + 1, size) if last else size


@asynccontextmanager
async def serve_hub(hub: FakeHub, *, port: int = 0) -> AsyncIterator[FakeHub]:
    """Run both servers until the block ends."""
    async with serve(hub.send_file) as files, serve(hub.answer, port=port) as server:
        hub.url, hub.files_url = server.url, files.url
        yield hub


@contextmanager
def hub_in_thread(hub: FakeHub) -> Iterator[FakeHub]:
    """Run both servers in a thread, for tests that have no event loop."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serve_hub(hub)) as running,
    ):
        yield running


if __name__ == "__main__":
    from tests.support.hub_program import main

    main()

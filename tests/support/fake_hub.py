"""A hub of model files on loopback: search, details, trees, and files from a second server.

What it answers has the shapes of the real hub, whose own client is held against it. The second
server stands for the network that delivers files: it knows no token, and refuses who sends one.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import anyio

from tests.support.http_server import Left, Received, Reply, asked_part, serve, threaded
from tests.support.hub_repos import BASIC_FIELDS, EXPANDABLE, FULL_FIELDS, FakeFile, FakeRepo

_REPO = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+)(?:/(.*))?)?")
_RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_CACHED = re.compile(r"/api/resolve-cache/models/([^/]+/[^/]+)/([^/]+)/(.+)")
BAD_TOKEN = "Invalid credentials in Authorization header"
NO_PAGE = "Sorry, we can't find the page you are looking for."


@dataclass
class Asked:
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
    status: int
    body: bytes = b""
    content_type: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False
    """Whether the connection ends behind the body, however long it was said to be."""
    part: tuple[FakeFile, int, int] | None = None
    """What of a file is sent in place of the body."""


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
    url: str = ""
    files_url: str = ""
    asked: list[Asked] = field(default_factory=list)

    async def answer(self, request: Received, reply: Reply) -> None:
        await self._recorded(request, reply, to_files=False)

    async def send_file(self, request: Received, reply: Reply) -> None:
        await self._recorded(request, reply, to_files=True)

    def paths(self, *, to_files: bool = False) -> list[str]:
        return [urlsplit(a.path).path for a in self.asked if a.to_files is to_files]

    async def _recorded(self, request: Received, reply: Reply, *, to_files: bool) -> None:
        asked = Asked(request.method, request.path, request.headers, to_files)
        self.asked.append(asked)
        exchange = _Exchange(self, request)
        answer = self.instead(request) if self.instead is not None else None
        answer = answer or (exchange.of_files() if to_files else exchange.of_hub())
        asked.status = answer.status
        length = answer.part[2] - answer.part[1] if answer.part else len(answer.body)
        headers = {"content-type": answer.content_type, "content-length": str(length)}
        await reply.head(answer.status, {**headers, **answer.headers})
        if request.method != "HEAD":
            await self._send(answer, asked, reply)
        if answer.is_cut:
            raise Left

    async def _send(self, answer: Answer, asked: Asked, reply: Reply) -> None:
        if answer.part is None:
            await reply.raw(answer.body)
            asked.sent += len(answer.body)
            return
        file, start, end = answer.part
        for piece in file.pieces(start, end):
            left = len(piece) if self.cut_after is None else self.cut_after - asked.sent
            if left >= len(piece) and self.pace is not None:
                await anyio.sleep(self.pace(len(piece)))
            await reply.raw(piece[:left])
            asked.sent += min(left, len(piece))
            if left < len(piece):
                raise Left

    def repo(self, name: str) -> FakeRepo | None:
        return next((repo for repo in self.repos if repo.id.lower() == name.lower()), None)

    def search(self, query: Mapping[str, list[str]]) -> list[FakeRepo]:
        words = " ".join(query.get("search", [])).lower().split()
        filters = {f for value in query.get("filter", []) for f in value.split(",")}
        found = [
            repo
            for repo in self.repos
            if not repo.private
            and all(word in repo.id.lower() for word in words)
            and filters.issubset(repo.all_tags)
        ]
        by = "likes" if query.get("sort") == ["likes"] else "downloads"
        return sorted(found, key=lambda repo: getattr(repo, by), reverse=True)


class _Exchange:
    def __init__(self, hub: FakeHub, request: Received) -> None:
        self._hub = hub
        self._headers = request.headers
        parts = urlsplit(request.path)
        self._path = parts.path
        self._query = parse_qs(parts.query, keep_blank_values=True)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        self._token = token if scheme.lower() == "bearer" else None

    def of_hub(self) -> Answer:
        if self._token is not None and self._token not in self._hub.tokens:
            return _refusal(401, BAD_TOKEN)
        if self._path == "/api/models":
            return self._models()
        for pattern, act in ((_CACHED, self._small), (_REPO, self._about), (_RESOLVE, self._place)):
            if found := pattern.fullmatch(self._path):
                name, *rest = (part and unquote(part) for part in found.groups())
                repo = self._hub.repo(name or "")
                if repo is not None and (not repo.private or self._may(repo)):
                    return act(repo, *rest)
                # who may not see it cannot tell it from none
                if self._token is None:
                    return _refusal(401, "Invalid username or password.")
                return _refusal(404, "Repository not found", "RepoNotFound")
        return _refusal(404, NO_PAGE)

    def of_files(self) -> Answer:
        if "authorization" in self._headers:
            body = b"<Error><Code>InvalidArgument</Code></Error>"
            return Answer(400, body, "application/xml")
        repo = self._hub.repo(self._query.get("repo", [""])[0])
        file = repo and repo.file(self._path.split("/")[1], self._query.get("path", [""])[0])
        if not file or self._query.get("Signature") != [_signature(file)]:
            return Answer(403, b"<Error><Code>AccessDenied</Code></Error>", "application/xml")
        return self._ranged(file, file_etag(file), {})

    def _models(self) -> Answer:
        wanted = [*self._query.get("expand", []), *self._query.get("expand[]", [])]
        if unknown := [name for name in wanted if name not in EXPANDABLE]:
            return _refusal(400, f'"expand" does not know {unknown[0]}')
        fields = [*(FULL_FIELDS if self._asks("full") else BASIC_FIELDS)]
        if wanted:
            fields = ["_id", "id", "modelId", *wanted]
        described = [repo.info(repo.sha) for repo in self._hub.search(self._query)]
        return self._page([{key: d[key] for key in fields if key in d} for d in described])

    def _about(self, repo: FakeRepo, what: str, revision: str, rest: str) -> Answer:
        commit = repo.at(revision or "main")
        if commit is None:
            return _refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        if what == "tree":
            entries = repo.tree(commit, rest or "", recursive=self._asks("recursive"))
            missing = _refusal(404, f"{rest or ''} does not exist", "EntryNotFound")
            return self._page(entries) if entries else missing
        described = repo.info(commit, blobs=self._asks("blobs"))
        wanted = ("_id", "id", *self._query.get("expand", described))
        return _json({key: described[key] for key in described if key in wanted})

    def _page(self, entries: Sequence[object]) -> Answer:
        start = int(self._query.get("cursor", ["0"])[0])
        end = start + min(int(self._query.get("limit", [self._hub.page])[0]), self._hub.page)
        headers = {}
        if end < len(entries):
            query = urlencode({**self._query, "cursor": [str(end)]}, doseq=True)
            headers["link"] = f'<{self._hub.url}{self._path}?{query}>; rel="next"'
        return _json(entries[start:end], headers)

    def _may(self, repo: FakeRepo) -> bool:
        return repo.id in self._hub.tokens.get(self._token or "", ())

    def _place(self, repo: FakeRepo, revision: str, path: str) -> Answer:
        """Send on to where the bytes are: another server for large files, here for small ones."""
        commit = repo.at(revision)
        if repo.gated and not self._may(repo):
            return self._gated(repo)
        if commit is None:
            return _refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        headers = {"x-repo-commit": commit}
        file = repo.file(commit, path)
        if file is None:
            return _refusal(404, "Entry not found", "EntryNotFound", headers)
        etag = file.sha256 if file.lfs else file.blob_id
        headers |= {"accept-ranges": "bytes", "vary": "Origin, Accept"}
        headers |= {"x-linked-etag": f'"{etag}"', "x-linked-size": str(file.size)}
        if file.lfs:
            query = urlencode({"repo": repo.id, "path": file.path, "Signature": _signature(file)})
            location = f"{self._hub.files_url}/{commit}/{file.sha256}?{query}"
        else:
            place = f"{quote(repo.id)}/{commit}/{quote(file.path)}"
            location = f"/api/resolve-cache/models/{place}?etag=%22{file.blob_id}%22"
        body = f"Found. Redirecting to {location}".encode()
        status = 302 if file.lfs else 307
        return Answer(status, body, "text/plain; charset=utf-8", {**headers, "location": location})

    def _gated(self, repo: FakeRepo) -> Answer:
        reason = f"Access to model {repo.id} is restricted"
        if self._token is None:
            more = "You must have access to it and be authenticated to access it. Please log in."
            return _refusal(401, f"{reason}. {more}", "GatedRepo")
        more = f"Visit {self._hub.url}/{repo.id} to ask for access."
        message = f"{reason} and you are not in the authorized list. {more}"
        return _refusal(403, message, "GatedRepo")

    def _small(self, repo: FakeRepo, commit: str, path: str) -> Answer:
        if (file := repo.file(commit, path)) is None:
            return _refusal(404, "Entry not found", "EntryNotFound")
        return self._ranged(file, f'"{file.blob_id}"', {"x-repo-commit": commit})

    def _ranged(self, file: FakeFile, etag: str, more: Mapping[str, str]) -> Answer:
        status, headers, start, end = asked_part(self._headers, file.size, etag)
        headers = {"etag": etag, "accept-ranges": "bytes", **more, **headers}
        return Answer(status, b"", "binary/octet-stream", headers, part=(file, start, end))

    def _asks(self, name: str) -> bool:
        return self._query.get(name, ["false"])[0].lower() in ("true", "1")


def _json(value: object, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(200, json.dumps(value).encode(), headers=headers or {})


def _refusal(
    status: int, message: str, code: str = "", more: Mapping[str, str] | None = None
) -> Answer:
    headers = {"x-error-message": message, "x-error-code": code, **(more or {})}
    return Answer(status, json.dumps({"error": message}).encode(), headers=headers)


def file_etag(file: FakeFile) -> str:
    """Give the tag of the second server, which is not the hub's."""
    return f'"{hashlib.md5(file.sha256.encode()).hexdigest()}"'


def _signature(file: FakeFile) -> str:
    return hashlib.sha256(f"signed {file.sha256}".encode()).hexdigest()


@asynccontextmanager
async def serve_hub(hub: FakeHub, *, port: int = 0) -> AsyncIterator[FakeHub]:
    async with serve(hub.send_file) as files, serve(hub.answer, port=port) as server:
        hub.url, hub.files_url = server.url, files.url
        yield hub


def hub_in_thread(hub: FakeHub) -> AbstractContextManager[FakeHub]:
    return threaded(serve_hub(hub))

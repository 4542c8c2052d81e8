"""`HubClient`: a hub of model files over HTTP; each request and its reply are bounded."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote, urlencode, urljoin

import anyio
import anyio.to_thread

from ollm_tui.config.urls import shown_url
from ollm_tui.decode.json_fields import as_object
from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.library.hub import faults
from ollm_tui.library.hub.faults import HubRequest
from ollm_tui.library.hub.repo import (
    HubFile,
    HubModel,
    HubRepo,
    Variant,
    commit_of,
    details_of,
    is_about_drawing,
    is_about_speech,
    is_commit,
    is_repo,
    model_of,
    models_of,
    siblings_of,
    tree_of,
)
from ollm_tui.library.hub.variants import variants_of
from ollm_tui.library.urls import next_page, origin_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher, FetchRequest
from ollm_tui.protocol.json_types import JsonValue

MAX_RESULTS = 100
MAX_FILES = 50_000
MAX_PAGES = 100
"""Of one list of files."""
MAX_SEARCH_PAGES = 3
MAX_SEARCH_CHARS = 200
MAX_REVISION_CHARS = 200
MAX_SIBLINGS = 1000
"""With more files a repository's details may be incomplete; its tree lists all."""
MAX_FILES_INLINE = 500
_EXPANDED = ("downloads", "likes", "lastModified", "gated", "tags", "pipeline_tag", "gguf")
MAX_REPLY_BYTES = 16 * 1024 * 1024
MAX_REPLY_S = 120.0
"""Limit for a whole reply: each piece may be in time while it never ends."""
MAX_INLINE_BYTES = 256 * 1024
"""A longer reply is parsed in a thread, in slices."""
MAX_VALUES = 300_000
"""Approximate limit of JSON values in one reply."""
_HEADERS: Mapping[str, str] = {"accept": "application/json", "accept-encoding": "identity"}
_NO_REPLY = frozenset(
    {ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.TIMEOUT, ErrorCode.STREAM_INCOMPLETE}
)
T = TypeVar("T")


class HubClient:
    """A hub over HTTP; the token is only sent to its own address."""

    def __init__(self, fetcher: Fetcher, endpoint: str, token: str | None) -> None:
        self._fetcher = fetcher
        self._endpoint = endpoint.rstrip("/")
        self._token = token or None
        self._origin = origin_of(self._endpoint)
        self.address = shown_url(self._endpoint)
        """Without secrets."""

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        """Find repositories with model files, the most downloaded first."""
        limit = max(1, min(limit, MAX_RESULTS))
        query = [
            ("search", text.strip()[:MAX_SEARCH_CHARS]),
            ("filter", "gguf"),
            ("sort", "downloads"),
            ("direction", "-1"),
            ("limit", str(limit)),
            *(("expand", name) for name in _EXPANDED),
        ]
        url: str | None = f"{self._endpoint}/api/models?{urlencode(query, errors='replace')}"
        models: dict[str, HubModel] = {}
        for _ in range(MAX_SEARCH_PAGES):
            if url is None or len(models) >= limit:
                break
            request = self._request(url)
            page, url = await request_json(self._fetcher, request, self._context(), _models)
            if page is None:
                raise faults.not_a_hub(self.address, "something other than a list")
            models |= {model.repo: model for model in page}
            url = url if self._is_own(url) else None
        return list(models.values())[:limit]

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        """Return the variants of a repository, at the current commit of the revision."""
        if not is_repo(repo):
            raise faults.invalid_repo_name(repo)
        revision = revision[:MAX_REVISION_CHARS]
        context = self._context(repo, revision)
        quoted = quote(revision, safe="", errors="replace")
        url = f"{self._endpoint}/api/models/{repo}/revision/{quoted}?blobs=true"
        reply, _ = await request_json(self._fetcher, self._request(url), context, _details)
        model, commit, files, details = reply
        commit = commit or (revision if is_commit(revision) else None)
        if model is None or commit is None:
            raise faults.not_a_hub(self.address, "something other than a repository")
        variants = await _sorted(files, model)
        is_incomplete = not files or len(files) > MAX_SIBLINGS
        if is_incomplete or any(variant.size is None for variant in variants):
            variants = await _sorted(await self._tree(model.repo, commit, context), model)
        return HubRepo(model=model, revision=commit, variants=variants, details=details)

    def file_url(self, repo: str, revision: str, path: str) -> str:
        """Return the URL of a file."""
        quoted = quote(revision, safe="", errors="replace")
        return f"{self._endpoint}/{quote(repo)}/resolve/{quoted}/{quote(path, errors='replace')}"

    def token_for(self, url: str) -> str | None:
        """Return the token for an address; None unless it is the hub's own."""
        return self._token if self._is_own(url) else None

    def _is_own(self, url: str | None) -> bool:
        return url is not None and self._origin is not None and origin_of(url) == self._origin

    def _request(self, url: str) -> FetchRequest:
        return FetchRequest(url=url, headers=_HEADERS, token=self.token_for(url))

    def _context(self, repo: str | None = None, revision: str = "main") -> HubRequest:
        return HubRequest(
            hub=self.address, repo=repo, revision=revision, has_token=self._token is not None
        )

    async def _tree(self, repo: str, commit: str, context: HubRequest) -> list[HubFile]:
        url = f"{self._endpoint}/api/models/{repo}/tree/{commit}?recursive=true"
        files: list[HubFile] = []
        for _ in range(MAX_PAGES):
            request = self._request(url)
            page, next_url = await request_json(self._fetcher, request, context, _files)
            if page is None:
                raise faults.not_a_hub(self.address, "something other than a list")
            files.extend(page)
            if next_url is None:
                return files
            if not self._is_own(next_url):
                raise faults.not_a_hub(self.address, "a list that goes on at another server")
            if len(files) > MAX_FILES:
                break
            url = next_url
        raise faults.not_a_hub(self.address, "more files than are looked at")


def _models(value: JsonValue) -> list[HubModel] | None:
    return models_of(value) if isinstance(value, list) else None


def _files(value: JsonValue) -> list[HubFile] | None:
    return tree_of(value) if isinstance(value, list) else None


def _details(value: JsonValue) -> tuple[HubModel | None, str | None, list[HubFile], dict[str, str]]:
    fields = as_object(value)
    return model_of(fields), commit_of(fields), siblings_of(fields), details_of(fields)


async def _sorted(files: list[HubFile], model: HubModel) -> tuple[Variant, ...]:
    about = {"speech": is_about_speech(model), "drawing": is_about_drawing(model)}
    work = partial(variants_of, files, **about)
    return work() if len(files) <= MAX_FILES_INLINE else await anyio.to_thread.run_sync(work)


async def request_json(
    fetcher: Fetcher, request: FetchRequest, context: HubRequest, read: Callable[[JsonValue], T]
) -> tuple[T, str | None]:
    """Request JSON, and return what `read` makes of it, perhaps in a thread.

    The second value is the address of the next page, on any server; None on the last one.

    Raises:
        AIError: the hub cannot be reached, refuses, or is no hub.
    """
    try:
        with anyio.fail_after(MAX_REPLY_S):
            status, headers, body = await _reply(fetcher, request)
    except TimeoutError:
        slow = AIError(ErrorCode.TIMEOUT, f"Its answer took more than {MAX_REPLY_S:g} s.")
        raise faults.unreachable(context.hub, slow) from slow
    except AIError as error:
        if error.known_code in _NO_REPLY:
            raise faults.unreachable(context.hub, error) from error
        raise
    if status != HTTPStatus.OK:
        is_data = "json" in headers.get("content-type", "").lower()
        raise faults.status_error(context, status, headers, datetime.now(UTC), is_data=is_data)
    if len(body) > MAX_REPLY_BYTES:
        raise faults.not_a_hub(context.hub, f"over {MAX_REPLY_BYTES // 1024**2} MB")
    if body.count(b",") > MAX_VALUES:
        raise faults.not_a_hub(context.hub, "too much data")
    if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise faults.not_a_hub(context.hub, "packed data")
    link = next_page(headers.get("link", ""))
    is_large = len(body) > MAX_INLINE_BYTES

    def work() -> T:
        return read(parse_json(body.decode("utf-8-sig", "replace"), in_slices=is_large))

    try:
        content = await anyio.to_thread.run_sync(work) if is_large else work()
    except BadJson as error:
        what = "a web page" if body.lstrip()[:1] == b"<" else "something other than JSON"
        raise faults.not_a_hub(context.hub, what) from error
    return content, None if link is None else _joined(request.url, link)


async def _reply(
    fetcher: Fetcher, request: FetchRequest
) -> tuple[int, Mapping[str, str], bytearray]:
    body = bytearray()
    async with fetcher.fetch(request) as fetched:
        if fetched.status == HTTPStatus.OK:
            async for piece in fetched.pieces():
                body += piece
                if len(body) > MAX_REPLY_BYTES:
                    break
        return fetched.status, fetched.headers, body


def _joined(base: str, link: str) -> str:
    """Return an absolute address; an invalid link is returned as it is, and never followed."""
    try:
        return urljoin(base, link)
    except ValueError:
        return link

"""Parses the names and addresses of models to download.

owner/name   owner/name:Q4_K_M   hf.co/owner/name:Q4_K_M   hf://owner/name@revision/file
https://huggingface.co/owner/name/…   https://example.com/x.gguf   ./x.gguf   ~/models   qwen3:8b
"""

from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from ollm_tui.config.backends import HUGGING_FACE
from ollm_tui.config.paths import expanded
from ollm_tui.config.urls import shown_url
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.library.downloads.job import LocalFiles, UrlFile
from ollm_tui.library.file_names import SUFFIX
from ollm_tui.library.hub.repo import is_repo
from ollm_tui.library.quantization import quantization_of
from ollm_tui.library.urls import split_web

_HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
_NOT_MODELS = frozenset(
    {
        *("datasets", "spaces", "docs", "collections", "papers", "blog", "organizations"),
        *("settings", "tasks", "learn", "posts", "new", "api", "join", "login", "buckets"),
    }
)
"""First segments of the hub's own pages."""
_FILES_AT = frozenset({"blob", "resolve", "raw"})
_CONTROL = lazy_re(r"[\x00-\x1f\x7f-\x9f]")
_SCHEME = lazy_re(r"([A-Za-z][A-Za-z0-9+.-]*):/{2}")
_LOCAL = lazy_re(r"[/~]|\.{1,2}(/|$)|[A-Za-z]:\\")
_NEWEST = "latest"
_NO_MODEL_PAGE = "This page of the hub is not a model's."


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAddress:
    """A repository on the hub, or something in it."""

    repo: str
    revision: str = "main"
    path: str | None = None
    """The named file; any part of a split model means all of it."""
    quantization: str | None = None
    """As in file names, or as written if it is unknown."""


@dataclass(frozen=True, slots=True)
class PlainName:
    """Any other name, for a provider to resolve."""

    name: str


@dataclass(frozen=True, slots=True)
class InvalidAddress:
    """Nothing that can be downloaded; the reason is a sentence without the text itself."""

    reason: str


Address: TypeAlias = HubAddress | UrlFile | LocalFiles | PlainName | InvalidAddress


def parse_address(text: str, *, endpoint: str = HUGGING_FACE) -> Address:
    """Parse what the user wrote; accesses neither disk nor network.

    Links to `endpoint` mean the hub, like those to Hugging Face.
    """
    text = text.strip().strip("\"'").strip()
    if not text or _CONTROL.search(text):
        return InvalidAddress("Enter a name, an address or a path.")
    if match := _SCHEME.match(text):
        return _with_scheme(match[1].lower(), text, endpoint)
    return _without_scheme(text)


def format_address(address: Address) -> str:
    """Return an address as text, without secrets; not cleaned."""
    match address:
        case HubAddress():
            quantization = f":{address.quantization}" if address.quantization else ""
            return f"{address.repo}{quantization}" + (f"/{address.path}" if address.path else "")
        case UrlFile():
            return shown_url(address.url.partition("#")[0])
        case LocalFiles():
            return str(address.path)
        case PlainName():
            return address.name
        case InvalidAddress():
            return ""


def _without_scheme(text: str) -> Address:
    if text.lower().startswith("hf:"):
        return _in_hub(text[3:]) or InvalidAddress("Write it as hf:owner/name.")
    host, slash, rest = text.partition("/")
    if host.lower() in _HOSTS:
        return _from_page(rest) if slash else InvalidAddress(_NO_MODEL_PAGE)
    if _LOCAL.match(text) or text.lower().endswith(SUFFIX):
        return _local(text)
    repo, _, tag = text.partition(":")
    known = not tag or quantization_of(tag) is not None
    if repo.count("/") == 1 and is_repo(repo) and known:
        return HubAddress(repo=repo, quantization=_quantization(tag))
    return PlainName(text)


def _with_scheme(scheme: str, text: str, endpoint: str) -> Address:
    rest = text[len(scheme) + 3 :]
    match scheme:
        case "hf":
            return _in_hub(rest) or InvalidAddress("Write it as hf://owner/name.")
        case "file":
            host, slash, path = rest.partition("/")
            if host not in ("", "localhost"):
                return InvalidAddress("A file:// address means a file of this machine.")
            return _local(unquote(slash + path))
        case "http" | "https":
            return _from_web(text, endpoint)
        case _:
            return PlainName(text)


def _from_web(text: str, endpoint: str) -> Address:
    parts = split_web(text)
    if parts is None:
        return InvalidAddress("This is not the address of a web server.")
    if parts.hostname in _HOSTS:
        return _from_page(parts.path.lstrip("/"), parts.query)
    home = split_web(endpoint)
    if home is not None and (parts.hostname, parts.port) == (home.hostname, home.port):
        inside = f"{home.path.rstrip('/')}/"
        if parts.path.startswith(inside):
            return _from_page(parts.path.removeprefix(inside).lstrip("/"), parts.query)
    return UrlFile(url=text)


def _from_page(path: str, query: str = "") -> Address:
    """Parse the path of a page of the hub: a repository, a folder in it, or a file."""
    if not query:
        parts = urlsplit(f"//hub/{path}")
        path, query = parts.path.lstrip("/"), parts.query
    segments = [unquote(part) for part in path.rstrip("/").split("/")]
    if segments[:2] == ["api", "models"]:
        segments = segments[2:]
    if segments[0] in _NOT_MODELS or len(segments) < 2:
        return InvalidAddress(_NO_MODEL_PAGE)
    owner, named, *rest = segments
    name, _, tag = named.partition(":")
    shown = parse_qs(query).get("show_file_info", [None])[0]
    revision, inside, is_file = _inside(rest)
    return _hub_address(
        f"{owner}/{name}",
        revision,
        shown or (inside if is_file else None),
        _quantization(tag) or (quantization_of(inside or "") if not is_file else None),
    ) or InvalidAddress(_NO_MODEL_PAGE)


def _inside(rest: list[str]) -> tuple[str, str | None, bool]:
    """Return revision, path, and whether the path is that of a file."""
    if len(rest) >= 2 and rest[0] in {*_FILES_AT, "tree"}:
        return rest[1], "/".join(rest[2:]) or None, rest[0] in _FILES_AT
    is_file = bool(rest) and rest[-1].lower().endswith(SUFFIX)
    return "main", "/".join(rest) if is_file else None, is_file


def _in_hub(text: str) -> HubAddress | None:
    """Parse `owner/name`, optionally with `:QUANTIZATION`, `@revision` and `/file`."""
    owner, _, rest = text.partition("/")
    named, _, path = rest.partition("/")
    named, _, tag = named.partition(":")
    name, _, revision = named.partition("@")
    return _hub_address(
        f"{owner}/{name}", unquote(revision) or "main", path or None, _quantization(tag)
    )


def _hub_address(
    repo: str, revision: str, path: str | None, quantization: str | None
) -> HubAddress | None:
    if repo.count("/") != 1 or not is_repo(repo) or _CONTROL.search(f"{revision}{path}"):
        return None
    return HubAddress(repo=repo, revision=revision or "main", path=path, quantization=quantization)


def _quantization(tag: str) -> str | None:
    if not tag or tag.lower() == _NEWEST:
        return None
    return quantization_of(tag) or tag


def _local(text: str) -> Address:
    if not text or "\x00" in text:
        return InvalidAddress("This is not a path.")
    return LocalFiles(path=expanded(Path(text)))

"""Resolves the address and the token of the hub, with the variables and files of `huggingface_hub`.

A token belongs to the hub it was given for: it is not sent if a higher layer names another hub.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ollm_tui.config.backends import HUGGING_FACE
from ollm_tui.config.connection import reread, resolve_variable, setting_problem
from ollm_tui.config.origin import ConfigProblem, KeyPath, Layers, Origin, Setting, dotted
from ollm_tui.config.paths import expanded
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.config.sources import ENVIRONMENT_RANK, FILE_RANK, READABLE_BY_OTHERS
from ollm_tui.config.urls import server_url, url_origin
from ollm_tui.lazy import lazy_re

ENDPOINT: KeyPath = ("hub", "endpoint")
TOKEN: KeyPath = ("hub", "token")
TOKEN_ENV: KeyPath = ("hub", "token_env")
_UNSENDABLE = lazy_re(r"[^\x21-\x7e]")


def resolve_hub(layers: Layers, environ: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Resolve the address, find its token, and yield what cannot be used."""
    yield from _endpoints(layers)
    yield from resolve_variable(layers, TOKEN_ENV, TOKEN, environ, waits=False)
    yield from _drop_misdirected_tokens(layers)
    is_for_file = _hub_for_layer(layers, ENVIRONMENT_RANK) == _current_hub(layers)
    if layers.top(TOKEN) is None and is_for_file:
        for item in token_of_file(environ):
            if isinstance(item, ConfigProblem):
                yield item
            else:
                layers.add(item)
    yield from _sendable(layers)


def _sendable(layers: Layers) -> Iterator[ConfigProblem]:
    """Trim the token, as `huggingface_hub` does, and drop one that no header can contain."""
    for setting in layers.all_of(TOKEN):
        if not isinstance(setting.value, str):
            continue  # as below
        layers.drop(setting)
        token = setting.value.strip()
        if _UNSENDABLE.search(token):
            yield setting_problem(setting, "has characters that no token has.")
        elif token:
            layers.add(replace(setting, value=token))


def blocking_problem(problems: Iterable[ConfigProblem]) -> ConfigProblem | None:
    """Return the problem that makes the hub uncertain, so that no other one is used."""
    about = (p for p in problems if p.severity == "error" and p.path in (ENDPOINT, ENDPOINT[:1]))
    return next(about, None)


def _endpoints(layers: Layers) -> Iterator[ConfigProblem]:
    for setting in layers.all_of(ENDPOINT):
        if not isinstance(setting.value, str):
            continue  # the schema has a better sentence
        try:
            url = server_url(setting.value)
        except ValueError as error:
            layers.drop(setting)
            yield setting_problem(setting, f"cannot be used. {error}")
        else:
            yield from reread(layers, setting, url, {setting.value: url})


def _drop_misdirected_tokens(layers: Layers) -> Iterator[ConfigProblem]:
    endpoint = layers.top(ENDPOINT)
    for setting in layers.all_of(TOKEN):
        if _hub_for_layer(layers, setting.rank) != _current_hub(layers) and endpoint is not None:
            layers.drop(setting)
            yield ConfigProblem(
                f"`{dotted(TOKEN)}` is not used: {endpoint.origin} names another hub.",
                setting.origin,
                TOKEN,
                hint="Give the token in the same place as the address.",
                severity="warning",
            )


def _current_hub(layers: Layers) -> str:
    return _origin(layers.top(ENDPOINT))


def current_hub(layers: Layers) -> str:
    """Return the address of the hub."""
    endpoint = layers.top(ENDPOINT)
    return str(endpoint.value) if endpoint is not None else HUGGING_FACE


def _hub_for_layer(layers: Layers, rank: int) -> str:
    """Return the hub that a token of this layer was given for."""
    lowest = rank if rank >= ENVIRONMENT_RANK else 1
    endpoints = [setting for setting in layers.all_of(ENDPOINT) if lowest <= setting.rank <= rank]
    return _origin(endpoints[-1] if endpoints else None)


def _origin(endpoint: Setting | None) -> str:
    is_named = endpoint is not None and isinstance(endpoint.value, str)
    return url_origin(str(endpoint.value) if endpoint and is_named else HUGGING_FACE)


_MAX_BYTES = 4096


def token_path(environ: Mapping[str, str]) -> Path:
    """Return the file as `huggingface_hub` finds it: HF_TOKEN_PATH, HF_HOME, the cache folder."""
    if named := environ.get("HF_TOKEN_PATH"):
        return Path(named)
    if home := environ.get("HF_HOME"):
        return Path(home) / "token"
    return Path(environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface" / "token"


def token_of_file(environ: Mapping[str, str]) -> Iterator[Setting | ConfigProblem]:
    """Yield the token, and a warning if others can read it."""
    try:
        path = expanded(token_path(environ))
        token = read_bounded(path, _MAX_BYTES).decode("utf-8", "replace").strip()
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # no file, not ours to read: there is no token
    if not token:
        return
    origin = Origin("file", str(path))
    yield Setting(TOKEN, token, origin, FILE_RANK)
    if mode & READABLE_BY_OTHERS:
        yield ConfigProblem(
            "The hub's token is in a file that other users of this machine can read.",
            origin,
            hint=f"Run `chmod 600 {path}`.",
            severity="warning",
        )

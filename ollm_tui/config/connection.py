"""Resolves the addresses and keys of the providers together.

A key belongs to the server, or the service, it was given for; no other one gets it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ollm_tui.config.backends import BACKEND, OLLAMA, PRESETS, SERVICES, defaults_of
from ollm_tui.config.origin import (
    MAX_RANK,
    ConfigProblem,
    KeyPath,
    Layers,
    Origin,
    Setting,
    dotted,
)
from ollm_tui.config.sources import VARIABLE_NAME
from ollm_tui.config.urls import NO_PROXY, ollama_url, server_url, shown_url, url_origin
from ollm_tui.lazy import lazy_re

_CONTROL = lazy_re(r"[\x00-\x1f\x7f]")
_SECRETS = (("api_key",), ("api_key_env",), ("headers",))
ADDRESSES = ("base_url", "base_urls")
"""The settings with one address, and with those of a pool."""


def resolve_connection(
    layers: Layers, name: str, environ: Mapping[str, str]
) -> Iterator[ConfigProblem]:
    """Resolve the address and the key of one provider, and yield what cannot be used."""
    base: KeyPath = ("providers", name)
    yield from _addresses(layers, name)
    yield from _proxies(layers, name)
    yield from _drop_misdirected_keys(layers, name)
    _keep_highest_addresses(layers, name)
    key, variable = (*base, "api_key"), (*base, "api_key_env")
    yield from resolve_variable(layers, variable, key, environ, waits=True)
    for setting in layers.below(base):
        is_secret = setting.path[2:3] in (("api_key",), ("headers",))
        if is_secret and isinstance(setting.value, str) and _CONTROL.search(setting.value):
            layers.drop(setting)
            yield setting_problem(setting, "holds a line break or another control character.")


def setting_problem(setting: Setting, complaint: str) -> ConfigProblem:
    """Make the problem of one value, named by its key."""
    return ConfigProblem(f"`{dotted(setting.path)}` {complaint}", setting.origin, setting.path)


def reread(
    layers: Layers, setting: Setting, value: object, written: Mapping[str, str]
) -> Iterator[ConfigProblem]:
    """Replace a value by what was read of it; `written` is for `missing_scheme`."""
    layers.drop(setting)
    layers.add(replace(setting, value=value))
    yield from missing_scheme(setting, written)


def _addresses(layers: Layers, name: str) -> Iterator[ConfigProblem]:
    kind = layers.top(("providers", name, "kind"))
    for key in ADDRESSES:
        path: KeyPath = ("providers", name, key)
        for setting in layers.all_of(path):
            texts = _urls(setting)
            if len(texts) != (len(setting.value) if isinstance(setting.value, list) else 1):
                continue  # the schema has a better sentence
            try:
                urls = [_read_address(text, name, kind, setting.origin) for text in texts]
            except ValueError as error:
                layers.drop(setting)
                is_flag = setting.origin.kind == "flag"
                typed = setting.origin.name if is_flag else f"`{dotted(path)}`"
                yield ConfigProblem(f"{typed}: {error}", setting.origin, path)
            else:
                value = list(dict.fromkeys(urls)) if isinstance(setting.value, list) else urls[0]
                yield from reread(layers, setting, value, dict(zip(texts, urls, strict=True)))


def missing_scheme(setting: Setting, written: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Warn about an address in the file without a scheme, which may or may not be encrypted.

    `written` maps each address as written to the URL that it is taken for.
    """
    assumed = [url for address, url in written.items() if "://" not in address]
    if setting.origin.kind == "file" and assumed:
        yield ConfigProblem(
            f"`{dotted(setting.path)}` has an address without http:// or https:// in front.",
            setting.origin,
            setting.path,
            hint=f"It is taken as {shown_url(assumed[0])}; write which one is meant.",
            severity="warning",
            waits=True,
        )


def _read_address(text: str, name: str, kind: Setting | None, origin: Origin) -> str:
    if not text.strip():
        raise ValueError("The address is empty.")
    if kind is not None and kind.value == OLLAMA:
        return ollama_url(text, lenient=origin.name == BACKEND[OLLAMA].host_variable)
    preset = PRESETS.get(name)
    return server_url(text, preset.port if preset and preset.is_port_assumed else None)


def _proxies(layers: Layers, name: str) -> Iterator[ConfigProblem]:
    path: KeyPath = ("providers", name, "proxy")
    for setting in layers.all_of(path):
        if not isinstance(setting.value, str):
            continue  # as above
        text = setting.value.strip().lower()
        try:
            proxy = text if text == NO_PROXY else server_url(setting.value)
        except ValueError as error:
            layers.drop(setting)
            yield ConfigProblem(f"`{dotted(path)}`: {error}", setting.origin, path)
        else:
            written = {} if proxy == NO_PROXY else {setting.value: proxy}
            yield from reread(layers, setting, proxy, written)


def _keep_highest_addresses(layers: Layers, name: str) -> None:
    """Keep only the addresses of the highest layer, single and pooled ones together."""
    for setting in _of_addresses(layers, name):
        if setting.rank < max(other.rank for other in _of_addresses(layers, name)):
            layers.drop(setting)


def _drop_misdirected_keys(layers: Layers, name: str) -> Iterator[ConfigProblem]:
    """Drop the keys that were given for another server than the one now configured."""
    current = _top_addresses(layers, name)
    secrets = [s for s in layers.below(("providers", name)) if s.path[2:3] in _SECRETS]
    for secret in secrets if current else ():
        intended = _origins(_addresses_for(layers, name, secret))
        if not intended or _origins(current) <= intended:
            continue
        for setting in layers.all_of(secret.path):
            if setting.rank <= secret.rank:
                layers.drop(setting)
        yield ConfigProblem(
            f"`{dotted(secret.path)}` is not used: {current[0].origin} names another server.",
            secret.origin,
            secret.path,
            hint="Give the key in the same place as the address.",
            severity="warning",
        )


def current_addresses(layers: Layers, name: str) -> list[str]:
    """Return where a provider is: its addresses, or that of the service."""
    urls = [url for setting in _top_addresses(layers, name) for url in _urls(setting)]
    kind = layers.top(("providers", name, "kind"))
    service = SERVICES.get(str(kind.value)) if kind is not None else None
    return urls or ([service] if service else [])


def _of_addresses(layers: Layers, name: str) -> list[Setting]:
    settings = [s for key in ADDRESSES for s in layers.all_of(("providers", name, key))]
    return [setting for setting in settings if _urls(setting)]


def _top_addresses(layers: Layers, name: str, ranks: range = range(MAX_RANK + 1)) -> list[Setting]:
    settings = [setting for setting in _of_addresses(layers, name) if setting.rank in ranks]
    top = max((setting.rank for setting in settings), default=None)
    return [setting for setting in settings if setting.rank == top]


def _origins(addresses: Iterable[Setting]) -> set[str]:
    return {url_origin(url) for setting in addresses for url in _urls(setting)}


def _urls(address: Setting) -> list[str]:
    urls = address.value if isinstance(address.value, list) else [address.value]
    return [url for url in urls if isinstance(url, str)]


def _addresses_for(layers: Layers, name: str, secret: Setting) -> list[Setting]:
    """Return the addresses that were configured when a key was given."""
    kind = layers.top(("providers", name, "kind"))
    service = SERVICES.get(str(kind.value)) if kind is not None else None
    # A service's variable holds its key, even if the file gives its name to another server.
    lowest = secret.rank if service and secret.origin.kind == "environment" else 1
    addresses = _top_addresses(layers, name, range(lowest, secret.rank + 1))
    if not addresses and service:
        return [Setting(("providers", name, "base_url"), service, Origin("default"), 0)]
    return addresses


def resolve_variable(
    layers: Layers, named_by: KeyPath, target: KeyPath, environ: Mapping[str, str], *, waits: bool
) -> Iterator[ConfigProblem]:
    """Set `target` to the environment variable whose name is the value of `named_by`.

    A value that `target` has in the same layer or a higher one wins. `waits` is for the problem of
    an undefined variable.
    """
    named, literal = layers.top(named_by), layers.top(target)
    is_set = named is not None and literal is not None and literal.rank >= named.rank
    if named is None or not isinstance(named.value, str) or is_set:
        return
    if VARIABLE_NAME.fullmatch(named.value) is None:  # perhaps the key itself
        layers.drop(named)
        complaint = "must be the name of a variable, with letters, digits and `_`."
        yield setting_problem(named, complaint)
    elif value := environ.get(named.value, ""):
        layers.add(Setting(target, value, Origin("environment", named.value), named.rank))
    else:
        undefined = setting_problem(named, f"names {named.value}, which is not set.")
        yield replace(undefined, waits=waits)


def provider_defaults(name: str) -> Iterator[Setting]:
    """Yield the default settings of a provider."""
    for key, value in defaults_of(name).items():
        yield Setting(("providers", name, key), value, Origin("default"), 0)

"""Addresses and keys of the providers, made ready and kept together.

A key belongs to the server it was given for: when a higher layer sends a provider elsewhere, the
keys and headers of the lower layers stay behind. A key for a service on the internet was given for
that service, unless an address stands beside it.
"""

import re
from collections.abc import Iterator, Mapping

from ollm_tui.config.hosts import ollama_url, server_url, url_origin
from ollm_tui.config.layers import Layers, Setting
from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, dotted
from ollm_tui.config.presets import SERVICES, defaults_of

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BARE_PORTS: Mapping[str, int] = {"vllm": 8000, "lmstudio": 1234, "kobold": 5001}


def prepare(layers: Layers, name: str, environ: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Make the address of one provider whole, find its key, and say what cannot be used."""
    base: KeyPath = ("providers", name)
    yield from _addresses(layers, name)
    yield from _strays(layers, name)
    yield from _named_key(layers, base, environ)
    for said in layers.below(base):
        is_secret = said.path[2:3] in (("api_key",), ("headers",))
        if is_secret and isinstance(said.value, str) and _CONTROL.search(said.value):
            layers.drop(said)
            yield _problem(said, "holds a line break or another control character.")


def _problem(said: Setting, complaint: str) -> ConfigProblem:
    return ConfigProblem(f"`{dotted(said.path)}` {complaint}", said.origin, said.path)


def _addresses(layers: Layers, name: str) -> Iterator[ConfigProblem]:
    kind = layers.top(("providers", name, "kind"))
    path: KeyPath = ("providers", name, "base_url")
    for said in layers.all_of(path):
        if not isinstance(said.value, str):
            continue  # the schema says it better
        layers.drop(said)
        try:
            url = _read_address(said.value, name, kind)
        except ValueError as error:
            yield ConfigProblem(f"`{dotted(path)}`: {error}", said.origin, path)
        else:
            layers.add(Setting(path, url, said.origin, said.rank))


def _read_address(text: str, name: str, kind: Setting | None) -> str:
    if kind is not None and kind.value == "ollama":
        return ollama_url(text)
    return server_url(text, _BARE_PORTS.get(name))


def _strays(layers: Layers, name: str) -> Iterator[ConfigProblem]:
    """Leave behind the keys that were given for another server than the one now meant."""
    address = layers.top(("providers", name, "base_url"))
    if address is None or not isinstance(address.value, str):
        return
    secrets = [s for s in layers.below(("providers", name)) if _is_secret(s.path)]
    for said in secrets:
        meant = _address_for(layers, name, said)
        if meant is None or url_origin(meant) == url_origin(address.value):
            continue
        _drop_up_to(layers, said)
        yield ConfigProblem(
            f"`{dotted(said.path)}` is not used: {address.origin} names another server.",
            said.origin,
            said.path,
            hint="Give the key in the same place as the address.",
            severity="warning",
        )


def _is_secret(path: KeyPath) -> bool:
    return path[2:3] in (("api_key",), ("api_key_env",), ("headers",))


def _address_for(layers: Layers, name: str, secret: Setting) -> str | None:
    """Give the address somebody had chosen when a key was given; None when there was none yet."""
    kind = layers.top(("providers", name, "kind"))
    service = SERVICES.get(str(kind.value)) if kind is not None else None
    # The variable of a service holds the service's key, whatever the file calls by that name.
    lowest = secret.rank if service and secret.origin.kind == "environment" else 1
    known = [
        said.value
        for said in layers.all_of(("providers", name, "base_url"))
        if lowest <= said.rank <= secret.rank and isinstance(said.value, str)
    ]
    return known[-1] if known else service


def _drop_up_to(layers: Layers, top: Setting) -> None:
    for said in layers.all_of(top.path):
        if said.rank <= top.rank:
            layers.drop(said)


def _named_key(
    layers: Layers, base: KeyPath, environ: Mapping[str, str]
) -> Iterator[ConfigProblem]:
    """Put the key that `api_key_env` names in its place, unless a key stands at least as high."""
    named, literal = layers.top((*base, "api_key_env")), layers.top((*base, "api_key"))
    if named is None or not isinstance(named.value, str):
        return
    if literal is not None and literal.rank >= named.rank:
        return
    key = environ.get(named.value, "")
    if not key:
        complaint = f"`{dotted(named.path)}` names {named.value}, which is not set."
        yield ConfigProblem(complaint, named.origin, named.path, waits=True)
        return
    origin = Origin("environment", named.value)
    layers.add(Setting((*base, "api_key"), key, origin, named.rank))


def provider_defaults(name: str) -> Iterator[Setting]:
    """Give what is assumed of an instance."""
    for key, value in defaults_of(name).items():
        yield Setting(("providers", name, key), value, Origin("default"), 0)

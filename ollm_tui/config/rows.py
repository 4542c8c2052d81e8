"""Every setting as a row: key, value, place; secrets are only told to be there."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from ollm_tui.config.backends import defaults_of
from ollm_tui.config.layers import leaves
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import KeyPath, dotted
from ollm_tui.config.urls import SECRET, shown_url

UNSET = "not set"
_ADDRESSES = ("base_url", "base_urls", "proxy", "endpoint")
_SECRET_NAME = re.compile(r"secret|passw|api_?key|auth|credential|(?<!s)token$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One setting as text."""

    key: str
    value: str
    origin: str


def config_rows(loaded: LoadedConfig) -> list[ConfigRow]:
    """Give the settings in the schema's order; of providers what is not every provider's."""
    return [
        ConfigRow(dotted(path), _shown(path, value), str(loaded.origin_of(dotted(path))))
        for path, value in leaves(loaded.config.model_dump())
        if _matters(path, loaded)
    ]


def _matters(path: KeyPath, loaded: LoadedConfig) -> bool:
    if path[0] != "providers" or len(path) < 3:
        return path[0] != "providers"
    return path[2] in defaults_of(path[1]) or dotted(path) in loaded.origins


def _shown(path: KeyPath, value: object) -> str:
    match value:
        case None:
            return UNSET
        case SecretStr():
            return SECRET
        case _ if "extra_body" in path and any(map(_SECRET_NAME.search, path)):
            return SECRET  # the schema knows nothing of these keys
        case str():
            return shown_url(value) if path[-1] in _ADDRESSES else value
        case _:
            return json.dumps(_plain(path, value), ensure_ascii=False, default=str)


def _plain(path: KeyPath, value: object) -> object:
    if isinstance(value, list) and path[-1] in _ADDRESSES:
        return [shown_url(str(url)) for url in value]
    return dict(_pairs(value)) if isinstance(value, Mapping) else value


def _pairs(table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        yield key, SECRET if isinstance(value, SecretStr) else value

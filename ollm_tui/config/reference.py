"""The settings as text: `ollm config show`, the example file and the reference page."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from ollm_tui.config.backends import BUILT_IN_PROVIDERS, defaults_of
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import KeyPath, dotted, leaves
from ollm_tui.config.provider_settings import ModelSettings, ProviderSettings
from ollm_tui.config.schema import AppConfig, ProfileSettings
from ollm_tui.config.sources import ENGINE_VARIABLES
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.config.urls import SECRET, shown_url
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.sections.section import Declared, Secret, Section

_NAMED: Mapping[str, tuple[type[Section], str]] = {
    "mcp_servers": (McpServerSettings, "time"),
    "profiles": (ProfileSettings, "coding"),
    "providers": (ProviderSettings, "work"),
    "models": (ModelSettings, '"embedded://qwen3-8b"'),
}
"""Tables of tables: the model of each, and a name for the example."""
_TYPE_NAMES: Mapping[object, str] = {
    str: "text",
    Secret: "text",
    Path: "path",
    bool: "`true`, `false`",
    int: "whole number",
    float: "number",
}
_EXAMPLE_HEAD = """\
# Settings of ollm. Copy this file to the path that `ollm config path` prints, and remove the `#`
# from the keys that you want to change. Every key is listed. A key marked "for example" has no
# default.
#
# The command line takes precedence over the environment, the environment over this file, and this
# file over the defaults.
# ${NAME} in a text is the environment variable NAME; $${ stands for ${ itself.
"""
_PAGE_HEAD = """\
# Settings

<!-- Made by `python -m ollm_tui.cli.reference`; do not edit. -->

The file is TOML. `ollm config path` prints its path, `ollm config show` prints the values in effect
and where each comes from, and `ollm config check` lists mistakes. The command line takes precedence
over the environment, the environment over the file, and the file over the defaults.

`${NAME}` in a text is the environment variable `NAME`. It cannot be nested, and `$${` stands for
`${` itself. If a provider refers to a variable that is not set, that provider cannot be used, and
its error names the variable; everything else works.
"""
_ENVIRONMENT = """\
## Environment

Every key has an environment variable: `OLLM_` and its name in capitals, with `__` between table and
key (`OLLM_THEME`, `OLLM_UI__MOUSE`, `OLLM_PROVIDERS__WORK__BASE_URL`). Lists and tables are JSON.
`OLLM_CONFIG` names another settings file. Write a `-` in a provider's name as `_`.

| Variable | Sets |
|---|---|
"""
_PROVIDERS = """\
These providers need no configuration. `local` and `embedded` are always offered; the others are
offered if their server answers or if your settings have a table `[providers.NAME]` for them.

| Name | Kind | Address |
|---|---|---|
"""


def example_text() -> str:
    """Return `config.example.toml`: every key, commented out, with its default or an example."""
    lines = [_EXAMPLE_HEAD]
    lines.extend(_commented(AppConfig))
    for name, model in _tables():
        title = f"{name}.{_NAMED[name][1]}" if name in _NAMED else name
        lines.extend([f"# {AppConfig.declared()[name].description}", f"# [{title}]", ""])
        lines.extend(_commented(model) if model else _entries(AppConfig.declared()[name]))
    return "\n".join(lines).rstrip() + "\n"


def _tables() -> Iterator[tuple[str, type[Section] | None]]:
    """Yield each table of the file with its model, or None if the user chooses its keys."""
    for name, field in AppConfig.declared().items():
        if name in _NAMED:
            yield name, _NAMED[name][0]
        elif isinstance(kind := field.kind, type) and issubclass(kind, Section):
            yield name, kind
        elif isinstance(field.get_default(), dict):
            yield name, None


def _commented(model: type[Section]) -> Iterator[str]:
    tables = {name for name, _ in _tables()} if model is AppConfig else set()
    for name, field in model.declared().items():
        if name in tables:
            continue
        yield f"# {field.description}"
        example = "  # for example" if _is_unset(field.get_default()) else ""
        yield f"# {field.key} = {_toml(_sample(field))}{example}"
        yield ""


def _entries(field: Declared) -> Iterator[str]:
    sample = _sample(field)
    for key, value in sample.items() if isinstance(sample, Mapping) else ():
        yield f"# {dotted((str(key),))} = {_toml(value)}"
    yield ""


def _is_unset(default: object) -> bool:
    is_table = isinstance(default, Section)
    return is_table or default is None or default is MISSING or default in ([], {})


def _sample(field: Declared) -> object:
    default = field.get_default()
    return (field.examples or [default])[0] if _is_unset(default) else default


def _toml(value: object) -> str:
    match value:
        case Mapping():
            inner = ", ".join(f"{dotted((str(k),))} = {_toml(v)}" for k, v in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def config_page() -> str:
    """Return the reference page."""
    parts = [_PAGE_HEAD, "## Top level\n", *_rows(AppConfig)]
    for name, model in _tables():
        title = f"[{name}.NAME]" if name in _NAMED else f"[{name}]"
        parts.extend([f"\n## `{title}`\n", f"{AppConfig.declared()[name].description}\n"])
        parts.extend(_built_in() if name == "providers" else ())
        parts.extend(_rows(model) if model else _keyed(name, AppConfig.declared()[name]))
    variables = (f"| `{name}` | `{dotted(path)}` |" for name, path in ENGINE_VARIABLES.items())
    parts.append("\n" + _ENVIRONMENT + "\n".join(variables))
    return "\n".join(parts).rstrip() + "\n"


def _keyed(name: str, field: Declared) -> Iterator[str]:
    yield f"```toml\n[{name}]"
    yield from (line.removeprefix("# ") for line in _entries(field) if line)
    yield "```"


def _rows(model: type[Section]) -> Iterator[str]:
    tables = {name for name, _ in _tables()} if model is AppConfig else set()
    yield "| Key | Type | Default | Meaning |\n|---|---|---|---|"
    for name, field in model.declared().items():
        if name not in tables:
            default = field.get_default()
            is_value = default is not None and not isinstance(default, Section)
            shown = f"`{_toml(default)}`" if is_value else "not set"
            key, kind = field.key, _type_text(field.kind)
            yield f"| `{key}` | {kind} | {shown} | {field.description} |"


def _type_text(annotation: object) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_text(inner[0])
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in inner)
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return "table"
    if origin in {dict, list}:
        return "table" if origin is dict else "list of texts"
    if inner:
        return " or ".join(_type_text(member) for member in inner if member is not type(None))
    return _TYPE_NAMES[annotation]


def _built_in() -> Iterator[str]:
    yield _PROVIDERS.rstrip("\n")
    for name, values in BUILT_IN_PROVIDERS.items():
        address = f"`{values['base_url']}`" if "base_url" in values else ""
        yield f"| `{name}` | `{values['kind']}` | {address} |"
    yield ""


UNSET = "not set"
_ADDRESSES = ("base_url", "base_urls", "proxy", "endpoint", "url")
_SECRET_NAME = lazy_re(r"secret|passw|api_?key|auth|credential|(?<!s)token$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One setting as text."""

    key: str
    value: str
    origin: str


def config_rows(loaded: LoadedConfig) -> list[ConfigRow]:
    """Return the settings in the schema's order, leaving out the usual defaults of providers."""
    return [
        ConfigRow(dotted(path), _shown(path, value), str(loaded.origin_of(dotted(path))))
        for path, value in leaves(loaded.config.to_dict())
        if _matters(path, loaded)
    ]


def shown_value(path: KeyPath, value: object) -> str:
    """Return a value as text, without the secrets in it."""
    if isinstance(value, Mapping):
        pairs = ((str(key), inner) for key, inner in value.items())
        shown = (f"{dotted((key,))} = {_shown((*path, key), inner)}" for key, inner in pairs)
        return ", ".join(shown) or "{}"
    return _shown(path, value)


def _matters(path: KeyPath, loaded: LoadedConfig) -> bool:
    if path[0] != "providers" or len(path) < 3:
        return path[0] != "providers"
    return path[2] in defaults_of(path[1]) or dotted(path) in loaded.origins


def _shown(path: KeyPath, value: object) -> str:
    match value:
        case None:
            return UNSET
        case Secret():
            return SECRET
        case _ if "extra_body" in path and any(map(_SECRET_NAME.search, path)):
            return SECRET  # the schema does not have these keys
        case str():
            return shown_url(value) if path[-1] in _ADDRESSES else value
        case _:
            return json.dumps(_plain(path, value), ensure_ascii=False, default=str)


def _plain(path: KeyPath, value: object) -> object:
    if isinstance(value, list) and path[-1] in _ADDRESSES:
        return [shown_url(str(url)) for url in value]
    if isinstance(value, Mapping):
        return {k: SECRET if isinstance(v, Secret) else v for k, v in value.items()}
    return value

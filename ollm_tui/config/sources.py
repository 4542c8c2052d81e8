"""Settings from the file, the environment and the command line, each value with its origin.

`${NAME}` in the file is the variable NAME; nothing nests, there are no defaults, `$${` is `${`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from ollm_tui.config.backends import DEFAULT_PROVIDER, PRESETS
from ollm_tui.config.flags import Flags
from ollm_tui.config.origin import (
    ConfigProblem,
    KeyPath,
    Layers,
    Origin,
    Setting,
    dotted,
    leaves,
)
from ollm_tui.config.paths import CONFIG_VARIABLE, VARIABLE_PREFIX
from ollm_tui.config.toml_file import TomlFile
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import with_texts

_REFERENCE = lazy_re(r"\$\$\{|\$\{([^}]*)(\}?)")
VARIABLE_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*")


class UndefinedVariableError(ValueError):
    """A value refers to a variable that is not set, or to something that is not a variable."""


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Replace each `${NAME}`, or raise an error that names the variable."""

    def replace(match: re.Match[str]) -> str:
        name, closed = match.group(1), match.group(2)
        if name is None:
            return "${"
        if not closed or VARIABLE_NAME.fullmatch(name) is None:
            raise UndefinedVariableError("`${` begins a reference of the form ${NAME}.")
        if name not in environ:
            raise UndefinedVariableError(f"${{{name}}} is not set.")
        return environ[name]

    return _REFERENCE.sub(replace, text)


def escaped(text: str) -> str:
    """Return what `expand` turns into this text."""
    return text.replace("${", "$${")


FILE_RANK = 1
READABLE_BY_OTHERS = 0o077
_NAMED_KEY: Mapping[str, str] = {
    "providers": "api_key_env",
    "hub": "token_env",
    "mcp_servers": "${NAME}",
}


def file_settings(file: TomlFile, environ: Mapping[str, str]) -> Iterator[Setting | ConfigProblem]:
    """Yield the settings of the file, with references to the environment replaced."""
    if file.problem is not None:
        yield file.problem
    replaced = partial(expand, environ=environ)
    for written, value in leaves(file.values):
        origin, path = file.origin(written), _key_id(written)
        try:
            yield Setting(path, with_texts(value, replaced), origin, FILE_RANK)
        except UndefinedVariableError as error:
            waits = path[0] == "providers"
            yield ConfigProblem(f"`{dotted(path)}`: {error}", origin, path, waits=waits)


def _key_id(path: KeyPath) -> KeyPath:
    """Read `[keymap] chat.send = ...` as `"chat.send" = ...`, because ids contain dots."""
    return (path[0], ".".join(path[1:])) if path[0] == "keymap" and len(path) > 1 else path


def exposed_key(file: TomlFile) -> Iterator[ConfigProblem]:
    """Warn about a key that other users of the machine can read."""
    paths = (path for path, value in leaves(file.values) if _is_literal_key(path, value))
    literal = next(paths, None)
    if literal is not None and file.path.stat().st_mode & READABLE_BY_OTHERS:
        yield ConfigProblem(
            f"`{dotted(literal)}` is in a file that other users of this machine can read.",
            file.origin(literal),
            literal,
            hint=f"Run `chmod 600 {file.path}`, or use {_NAMED_KEY[literal[0]]}.",
            severity="warning",
        )


def _is_literal_key(path: KeyPath, value: object) -> bool:
    of_provider = path[0] == "providers" and path[2:3] in (("api_key",), ("headers",))
    of_mcp = path[0] == "mcp_servers" and (
        path[2:3] in (("env",), ("headers",)) or path[2:] == ("oauth", "client_secret")
    )
    secret = of_provider or of_mcp or path == ("hub", "token")
    return secret and isinstance(value, str) and bool(value) and "${" not in value


ENGINE_VARIABLES: Mapping[str, KeyPath] = {
    **{
        variable: ("providers", name, key)
        for name, row in PRESETS.items()
        for variable, key in ((row.host_variable, "base_url"), (row.key_variable, "api_key"))
        if variable
    },
    "HF_ENDPOINT": ("hub", "endpoint"),
    "HUGGING_FACE_HUB_TOKEN": ("hub", "token"),
    "HF_TOKEN": ("hub", "token"),
}
ENVIRONMENT_RANK = 3


def environment_settings(
    environ: Mapping[str, str], provider_names: frozenset[str]
) -> Iterator[Setting | ConfigProblem]:
    """Yield the settings of the environment; OLLM_ variables win over those of the engines."""
    for name, path in ENGINE_VARIABLES.items():
        if environ.get(name, "").strip():
            yield Setting(path, environ[name], Origin("environment", name), ENVIRONMENT_RANK)
    own = {
        name: value
        for name, value in sorted(environ.items())
        if name.upper().startswith(VARIABLE_PREFIX) and name != CONFIG_VARIABLE and value
    }
    if own:
        # Loaded only for them, with a library that takes as long to import as all settings.
        from ollm_tui.config.own_variables import own_settings

        yield from own_settings(own, provider_names, ENVIRONMENT_RANK)


FLAG_RANK = 5


def flag_settings(flags: Flags, layers: Layers) -> Iterator[Setting | ConfigProblem]:
    """Yield the settings of the command line; host and key go to the chosen provider."""
    yield from _empty(flags)
    model, provider = flags.model or None, flags.provider
    if model and provider and "://" not in model:
        model = f"{provider}://{model}"
    if flags.host:  # an address that is named must be the one that is used
        provider = provider or chosen_provider(flags, layers)
    choices = (
        ("model", model, "--model"),
        ("provider", provider, "--provider" if flags.provider is not None else "--host"),
        ("system_prompt", flags.system, "--system"),
        ("profile", flags.profile, "--profile"),
        ("theme", flags.theme, "--theme"),
    )
    for key, value, name in choices:
        if value is not None:
            yield Setting((key,), value, Origin("flag", name), FLAG_RANK)
    if flags.tools is not None:
        yield Setting(("tools", "enabled"), [*flags.tools], Origin("flag", "--tools"), FLAG_RANK)
    if flags.max_turns is not None:
        origin = Origin("flag", "--max-turns")
        yield Setting(("chat", "max_turns"), flags.max_turns, origin, FLAG_RANK)
    yield from _connection(flags, layers)


def _empty(flags: Flags) -> Iterator[ConfigProblem]:
    """Reject an empty name, such as from an unset variable in a script."""
    for value, name, path in (
        (flags.model, "--model", ("model",)),
        (flags.provider, "--provider", ("provider",)),
        (flags.host, "--host", ()),
        (flags.profile, "--profile", ("profile",)),
    ):
        if value is not None and not value.strip():
            hint = "Name one, or leave the option out."
            yield ConfigProblem(f"{name} is empty.", Origin("flag", name), path, hint=hint)


def without_outdated_model(layers: Layers) -> Iterator[Setting]:
    """Drop the model of another provider than the one that a higher layer names."""
    model, provider = layers.top(("model",)), layers.top(("provider",))
    if model is None or provider is None or provider.rank <= model.rank:
        return
    if not isinstance(model.value, str) or not isinstance(provider.value, str):
        return
    scheme, mark, _ = model.value.partition("://")
    if mark and _aliased(scheme, layers) != _aliased(provider.value, layers):
        yield Setting(("model",), None, provider.origin, provider.rank)


def without_outdated_format(layers: Layers) -> Iterator[Setting]:
    """Drop the format of another system prompt than the one that counts."""
    text, language = layers.top(("system_prompt",)), layers.top(("system_prompt_format",))
    if text is not None and language is not None and text.rank > language.rank:
        yield Setting(("system_prompt_format",), None, text.origin, text.rank)


def _aliased(name: str, layers: Layers) -> str:
    """Return the provider that a name means; a configured provider wins over an alias."""
    if layers.below(("providers", name)):
        return name
    alias = layers.top(("aliases", name))
    return alias.value if alias and isinstance(alias.value, str) else name


def _connection(flags: Flags, layers: Layers) -> Iterator[Setting | ConfigProblem]:
    host = flags.host if (flags.host or "").strip() else None
    if host is None and flags.api_key is None:
        return
    name = chosen_provider(flags, layers)
    kind = layers.top(("providers", name, "kind"))
    if kind is not None and kind.value == "embedded":
        used = "--host" if host is not None else "--api-key"
        yield ConfigProblem(f"{used} does not apply to `{name}`.", Origin("flag", used))
        return
    given = (("base_url", host, "--host"), ("api_key", flags.api_key, "--api-key"))
    for key, value, flag in given:
        if value is not None:
            yield Setting(("providers", name, key), value, Origin("flag", flag), FLAG_RANK)


def chosen_provider(flags: Flags, layers: Layers) -> str:
    """Return the provider that host and key are for."""
    scheme, mark, _ = (flags.model or "").partition("://")
    configured = layers.top(("provider",))
    in_config = configured.value if configured and isinstance(configured.value, str) else None
    name = flags.provider or (scheme if mark else None) or in_config or DEFAULT_PROVIDER
    return _aliased(name, layers)

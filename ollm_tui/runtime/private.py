"""The program's own files and secrets, which its tools and reports must not show."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ollm_tui.config.keys.hub import token_path
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.paths import AppPaths, expanded
from ollm_tui.config.schema import AppConfig
from ollm_tui.decode.redact import environment_secrets, is_guessable, names_secret, redactor
from ollm_tui.providers.base_url import url_secrets
from ollm_tui.tools.builtin.guard import FileGuard


def known_secrets(config: AppConfig) -> Iterator[str]:
    """Yield all keys, headers and passwords of the settings, to be kept out of reports."""
    yield from url_secrets(config.hub.endpoint)
    if config.hub.token is not None:
        yield config.hub.token.get_secret_value()
    for server in config.mcp_servers.values():
        yield from url_secrets(server.url or "")
        named = [value for name, value in server.env.items() if names_secret(name)]
        for text in (one.get_secret_value() for one in (*named, *server.headers.values())):
            yield from (text, text.removeprefix("Bearer "))
        if server.oauth.client_secret is not None:
            yield server.oauth.client_secret.get_secret_value()
    for settings in config.providers.values():
        for url in (*settings.addresses, settings.proxy or ""):
            yield from url_secrets(url)
        for secret in (settings.api_key, *settings.headers.values()):
            if secret is not None:
                yield secret.get_secret_value()


def key_redactor(config: AppConfig) -> Callable[[str], str]:
    """Return a function that removes the keys of the settings from the messages of adapters.

    A key that may be an ordinary word, such as "ollama" for a server that wants none, stays.
    """
    return redactor(key for key in known_secrets(config) if not is_guessable(key))


def file_guard(loaded: LoadedConfig, paths: AppPaths) -> FileGuard:
    """Return the guard that keeps the tools of models away from the program's own files."""
    environ = dict(os.environ)
    return FileGuard(
        own=tuple(_own_places(loaded, paths, environ)),
        secrets=lambda: _telling_secrets(loaded.config, environ),
    )


def _own_places(
    loaded: LoadedConfig, paths: AppPaths, environ: Mapping[str, str]
) -> Iterator[Path]:
    yield from (paths.config_dir, paths.data_dir, paths.state_dir, paths.cache_dir)
    # A flag or a variable may have moved them to a folder that holds other things as well.
    yield from (paths.config_file, loaded.path.absolute())
    yield expanded(token_path(environ)).absolute()


def _telling_secrets(config: AppConfig, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets that are removed from files; not every header holds one."""
    plain = {
        value.get_secret_value()
        for settings in config.providers.values()
        for name, value in settings.headers.items()
        if not (names_secret(name) or "auth" in name.lower() or "cookie" in name.lower())
    }
    for secret in known_secrets(config):
        if secret not in plain or _is_random(secret):
            yield secret
    for secret in environment_secrets(environ):
        if _is_random(secret):
            yield secret


def _is_random(value: str) -> bool:
    """Return whether a value looks random, not like a word, a path or a media type."""
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return len(value) >= 12 and has_both and not is_guessable(value) and not set(value) & set("/; ")

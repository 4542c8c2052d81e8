"""`ollm keys`: keeps API keys in the system's keyring, or in a private file without one."""

import os
import sys
from getpass import getpass

from ollm_tui.cli.arguments import Arguments, piped_text
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.settings import load_private
from ollm_tui.config.backends import SERVICES
from ollm_tui.config.keys.stored_keys import HUB, MAX_KEY_LENGTH, StoredKeys, key_path_of
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import dotted, nearest
from ollm_tui.config.paths import default_paths
from ollm_tui.config.urls import url_origin
from ollm_tui.decode.clean import clean_name


def run_keys(arguments: Arguments, output: Output) -> int:
    """Run one action."""
    paths = default_paths()
    keys = StoredKeys(paths.data_dir)
    if arguments.action == "list":
        return _list(arguments, keys, output)
    loaded = load_private(paths, os.environ, arguments.flags, output)
    if arguments.action == "rm":
        return _remove(arguments.name, keys, output)
    return _set(arguments.name, loaded, keys, output)


def _list(arguments: Arguments, keys: StoredKeys, output: Output) -> int:
    listed = keys.listed()
    if arguments.as_json:
        output.json([{"name": k.name, "server": k.server, "place": k.place} for k in listed])
    elif listed:
        rows = [(clean_name(k.name), clean_name(k.server), k.place) for k in listed]
        output.table(("NAME", "FOR", "KEPT IN"), rows)
    else:
        output.note("No keys are kept. To keep one: ollm keys set NAME")
    return OK


def _remove(name: str, keys: StoredKeys, output: Output) -> int:
    if not keys.remove(name):
        output.error(f"No key is kept for {clean_name(name)}.", "`ollm keys list` lists them.")
        return ERROR
    output.note(f"Removed the key of {clean_name(name)}.")
    return OK


def _set(name: str, loaded: LoadedConfig, keys: StoredKeys, output: Output) -> int:
    name = name if name == HUB else loaded.config.aliases.get(name, name)
    server = _server(name, loaded)
    key = _typed_key(name)
    output.keep_secret([key])
    place = keys.set(name, server, key)
    where = "the system's keyring"
    if place == "file":
        where = f"{keys.path}, which only you can read"
    output.note(f"Kept the key of {name} for {server} in {where}.")
    origin = loaded.origin_of(dotted(key_path_of(name)))
    if origin.kind in ("flag", "environment", "file") and origin.name != str(keys.path):
        output.note(f"It is not used for now: {origin} sets another one.")
    return OK


def _server(name: str, loaded: LoadedConfig) -> str:
    """Return the origin of the server that a key is for.

    Raises:
        UsageError: there is no such provider, or it takes no key.
    """
    if name == HUB:
        return url_origin(loaded.config.hub.endpoint)
    settings = loaded.config.providers.get(name)
    if settings is None:
        near = nearest(name, [*loaded.config.providers, HUB])
        hint = f"Did you mean {near}?" if near else "`ollm config show` lists the providers."
        raise UsageError(f"There is no provider {clean_name(name)}.", hint)
    service = SERVICES.get(settings.kind)
    origins = {url_origin(url) for url in settings.addresses or ([service] if service else [])}
    if len(origins) != 1:
        what = "several servers" if origins else "no address"
        hint = "Use api_key_env in the settings." if origins else "It takes no key."
        raise UsageError(f"{name} has {what}, so no key can be kept for it.", hint)
    return origins.pop()


def _typed_key(name: str) -> str:
    """Return the key from a pipe or a hidden prompt; an argument would show it to other users."""
    piped = piped_text()
    if piped is None and not sys.stdin.isatty():
        raise UsageError("There is no key.", f"Pipe it in: ollm keys set {name} < FILE")
    key = (getpass(f"Key of {name} (not shown): ") if piped is None else piped).strip()
    if not key or len(key) > MAX_KEY_LENGTH or not key.isprintable() or not key.isascii():
        raise UsageError("This is not a key: a key is one line of letters, digits and signs.")
    return key

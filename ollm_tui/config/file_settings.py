"""Settings from the file."""

from collections.abc import Iterator, Mapping

from ollm_tui.config.interpolate import UndefinedVariableError, expand_all
from ollm_tui.config.layers import Setting, leaves
from ollm_tui.config.origin import ConfigProblem, KeyPath, dotted
from ollm_tui.config.toml_file import TomlFile

FILE_RANK = 1
READABLE_BY_OTHERS = 0o077
_NAMED_KEY: Mapping[str, str] = {"providers": "api_key_env", "hub": "token_env"}


def file_settings(file: TomlFile, environ: Mapping[str, str]) -> Iterator[Setting | ConfigProblem]:
    """Give what the file says, its references to the environment replaced."""
    if file.problem is not None:
        yield file.problem
    for written, value in leaves(file.values):
        origin, path = file.origin(written), _key_id(written)
        try:
            yield Setting(path, expand_all(value, environ), origin, FILE_RANK)
        except UndefinedVariableError as error:
            waits = path[0] == "providers"
            yield ConfigProblem(f"`{dotted(path)}`: {error}", origin, path, waits=waits)


def _key_id(path: KeyPath) -> KeyPath:
    """Take `[keymap] chat.send = ...` for `"chat.send" = ...`: ids of actions hold dots."""
    return (path[0], ".".join(path[1:])) if path[0] == "keymap" and len(path) > 1 else path


def exposure(file: TomlFile) -> ConfigProblem | None:
    """Warn of a key that other users of the machine can read."""
    literal = next(
        (path for path, value in leaves(file.values) if _is_literal_key(path, value)), None
    )
    if literal is None or not file.path.stat().st_mode & READABLE_BY_OTHERS:
        return None
    return ConfigProblem(
        f"`{dotted(literal)}` is in a file that other users of this machine can read.",
        file.origin(literal),
        literal,
        hint=f"Run `chmod 600 {file.path}`, or use {_NAMED_KEY[literal[0]]}.",
        severity="warning",
    )


def _is_literal_key(path: KeyPath, value: object) -> bool:
    of_provider = path[0] == "providers" and path[2:3] in (("api_key",), ("headers",))
    secret = of_provider or path == ("hub", "token")
    return secret and isinstance(value, str) and bool(value) and "${" not in value

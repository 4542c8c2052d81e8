"""The shell of the user, and what a command sees of the environment: no keys."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import is_file
from ollm_tui.decode.redact import names_secret

PASSED_ON: Final = frozenset(
    {
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "PWD"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
        *("XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "VIRTUAL_ENV", "CONDA_PREFIX"),
    }
)
"""The variables that a command gets if they are set; all that begin with `LC_` as well."""
ALWAYS: Final[Mapping[str, str]] = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""There is no terminal: nothing may wait for a key, and colours would only be removed."""


def command_environment(environ: Mapping[str, str], further: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment of a command; variables whose names sound like keys are left out."""
    wanted = PASSED_ON | {name for name in further if not names_secret(name)}
    passed = {
        name: value
        for name, value in environ.items()
        if name in wanted or (name.startswith("LC_") and not names_secret(name))
    }
    return {**passed, **ALWAYS}


def shell_of(environ: Mapping[str, str]) -> Path:
    """Return the user's shell, or `/bin/sh` if `SHELL` names none."""
    named = Path(environ.get("SHELL", ""))
    if named.is_absolute() and os.access(named, os.X_OK) and is_file(named):
        return named
    return Path("/bin/sh")

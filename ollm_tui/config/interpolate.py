"""`${NAME}` in a value is the environment variable NAME.

Nothing nests: what a variable holds is taken as it is. `$${` stands for `${` itself. There are no
defaults (`${NAME:-x}`), because a wrong guess would send a request to the wrong place in silence.
"""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UndefinedVariableError(ValueError):
    """A value refers to a variable that is not set, or not to a variable at all."""


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Replace each `${NAME}`.

    Raises:
        UndefinedVariableError: a sentence that names the variable.
    """

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


def expand_all(value: object, environ: Mapping[str, str]) -> object:
    """Replace references in a text, or in every text of a list or table.

    Raises:
        UndefinedVariableError: as `expand`.
    """
    match value:
        case str():
            return expand(value, environ)
        case list():
            return [expand_all(item, environ) for item in value]
        case dict():
            return {key: expand_all(item, environ) for key, item in value.items()}
        case _:
            return value

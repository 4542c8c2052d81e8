"""The settings as a front end shows and changes them: one value at a time, checked, in the file."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from ollm_tui.config.backends import BUILT_IN_PROVIDERS
from ollm_tui.config.edit import TomlValue, file_text, set_key, set_table
from ollm_tui.config.load import LoadedConfig, load_config, problems_of_text
from ollm_tui.config.origin import DEFAULT, ConfigProblem, KeyPath, Origin, dotted
from ollm_tui.config.paths import CONFIG_VARIABLE, AppPaths
from ollm_tui.config.reference import UNSET, shown_value
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.setting_fields import SettingField, setting_fields, table_names
from ollm_tui.config.toml_file import toml_text
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sections.section import Section

Check = Callable[[KeyPath, object], str | None]
"""Returns what is wrong with a value that only a front end can judge."""
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One setting with its value."""

    field: SettingField
    shown: str
    """The value as text, without secrets."""
    origin: Origin
    draft: str
    """The text that an editor begins with; empty for a secret."""
    in_file: bool
    """Whether the file sets it, so that it can be reset."""


class SettingsFile:
    """Reads and changes one settings file; every method blocks."""

    def __init__(self, loaded: LoadedConfig, paths: AppPaths) -> None:
        self.path = loaded.path
        self.loaded = loaded
        self._paths = paths
        self._text = ""
        self._in_file: Mapping[str, object] = {}

    def reload(self) -> LoadedConfig:
        """Read all settings anew, and note the text of the file."""
        environ = {**self.loaded.environ, CONFIG_VARIABLE: str(self.path)}
        try:
            self._text = file_text(self.path)
            self._in_file = toml_text(self.path, self._text).values
        except (OSError, ValueError):  # the problems say why
            self._in_file = {}
        self.loaded = load_config(self._paths, environ, self.loaded.flags)
        return self.loaded

    def names(self, table: str) -> tuple[str, ...]:
        """Return the entries of a table of tables; of providers those that are set anywhere."""
        listed = getattr(self.loaded.config, table)
        is_preset = table == "providers"
        return tuple(
            name
            for name in listed
            if not (is_preset and name in BUILT_IN_PROVIDERS)
            or any(key.startswith(dotted((table, name)) + ".") for key in self.loaded.origins)
        )

    def values(
        self, added: Mapping[str, tuple[str, ...]], section: type[Section] = AppConfig
    ) -> list[SettingValue]:
        """Return every setting; `added` has further entries of tables to list."""
        names = {
            table: tuple(dict.fromkeys([*self.names(table), *added.get(table, ())]))
            for table in table_names(section)
        }
        dumped = self.loaded.config.to_dict()
        return [self._value(field, dumped) for field in setting_fields(section, names)]

    def _value(self, field: SettingField, dumped: Mapping[str, object]) -> SettingValue:
        value, written = _at(dumped, field.path), _at(self._in_file, field.path)
        shown = UNSET if value is _MISSING else shown_value(field.path, value)
        draft = value if written is _MISSING else written
        return SettingValue(
            field,
            shown,
            self._origin(field.path),
            "" if field.is_secret else _draft(draft),
            in_file=written is not _MISSING,
        )

    def _origin(self, path: KeyPath) -> Origin:
        key, origins = dotted(path), self.loaded.origins
        below = (origin for one, origin in origins.items() if one.startswith(f"{key}."))
        return origins.get(key) or next(below, DEFAULT)

    def set(self, field: SettingField, text: str, check: Check | None = None) -> str | None:
        """Write a value as typed; return a warning about it.

        Raises:
            AIError: the schema or `check` refuses it, another program has changed the file since
                it was read, or it cannot be written. The file is left as it is.
        """
        value = _read_typed(field, text)
        if check is not None and (problem := check(field.path, value)) is not None:
            raise AIError(ErrorCode.BAD_REQUEST, problem)
        warnings: list[str] = []

        def verify(before: str, after: str) -> None:
            self._unchanged(before)
            old = {problem.message for problem in self._problems(before)}
            for problem in self._problems(after):
                is_of_it = _touches(problem.path, field.path)
                if is_of_it and problem.severity == "error":
                    raise AIError(ErrorCode.BAD_REQUEST, problem.message, hint=problem.advice)
                if is_of_it and problem.message not in old:
                    warnings.append(f"{problem.message} {problem.advice or ''}".strip())

        if isinstance(value, Mapping):
            set_table(self.path, field.path, value, check=verify)
        else:
            set_key(self.path, field.key, value, check=verify)
        return warnings[0] if warnings else None

    def bind(self, key_id: str, keys: str | None) -> None:
        """Write the keys of an action; None removes them.

        Raises:
            AIError: as `set`.
        """
        path: KeyPath = ("keymap", key_id)
        nested: KeyPath = ("keymap", *key_id.split("."))  # `chat.models = …` means the same
        is_nested = (
            _at(self._in_file, path) is _MISSING and _at(self._in_file, nested) is not _MISSING
        )
        written = dotted(nested if is_nested else path)
        set_key(self.path, written, keys, check=lambda before, _after: self._unchanged(before))

    def reset(self, field: SettingField) -> None:
        """Remove a value from the file.

        Raises:
            AIError: as `set`.
        """
        set_key(self.path, field.key, None, check=lambda before, _after: self._unchanged(before))

    def _problems(self, text: str) -> list[ConfigProblem]:
        return problems_of_text(self.path, text, self.loaded.environ)

    def _unchanged(self, text: str) -> None:
        if text != self._text:
            raise AIError(
                ErrorCode.CONFLICT,
                f"Another program has changed {self.path}.",
                hint="The values from the file are shown now; try again.",
            )


def _touches(path: KeyPath, changed: KeyPath) -> bool:
    return bool(path) and (path[: len(changed)] == changed or changed[: len(path)] == path)


def _at(values: Mapping[str, object], path: KeyPath) -> object:
    node: object = values
    for part in path:
        node = node.get(part, _MISSING) if isinstance(node, Mapping) else _MISSING
    return node


def _draft(value: object) -> str:
    match value:
        case None | {} | []:
            return ""
        case bool():
            return "true" if value else "false"
        case list():
            return "\n".join(map(str, value))
        case Mapping():
            return json.dumps(value, ensure_ascii=False, indent=2, default=str)
        case _ if value is _MISSING:
            return ""
        case _:
            return str(value)


def _read_typed(field: SettingField, text: str) -> TomlValue:
    """Read a text as a value of TOML; what is not of the kind is left for the schema to refuse."""
    match field.kind:
        case "switch":
            return {"true": True, "false": False}.get(text.strip().lower(), text)
        case "number":
            return _number(text.strip())
        case "list":
            return [line for line in text.splitlines() if line.strip()]
        case "table":
            return _table(field, text)
        case _:
            return text


def _number(text: str) -> TomlValue:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _holds_null(value: object) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(_holds_null, inner))


def _table(field: SettingField, text: str) -> TomlValue:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or _holds_null(value):
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"`{field.key}` must be a table, written as JSON without null.",
            hint='For example: {"name": "value"}',
        )
    return value

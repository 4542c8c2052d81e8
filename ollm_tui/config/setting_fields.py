"""The settings one by one, read from the schema: what each is and how it is edited."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, get_args, get_origin

from ollm_tui.config.origin import KeyPath, dotted
from ollm_tui.dataclass import dataclass
from ollm_tui.sections.section import Declared, Secret, Section

FieldKind: TypeAlias = Literal["switch", "choice", "number", "text", "list", "table"]
_SIMPLE: Final[Mapping[object, FieldKind]] = {
    bool: "switch",
    int: "number",
    float: "number",
    str: "text",
    Path: "text",
    Secret: "text",
}


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting, as an editor needs it."""

    path: KeyPath
    description: str
    kind: FieldKind
    choices: tuple[str, ...] = ()
    is_secret: bool = False
    """Whether its value is never shown."""

    @property
    def key(self) -> str:
        """The key as written in TOML."""
        return dotted(self.path)

    @property
    def section(self) -> str:
        """The table that it stands in; empty at the top level."""
        return dotted(self.path[:-1])


def setting_fields(
    section: type[Section], names: Mapping[str, tuple[str, ...]], base: KeyPath = ()
) -> Iterator[SettingField]:
    """Yield every setting of a table, those of its tables last.

    `names` has the names to list below a table of tables: `{"profiles": ("coding",)}`.
    """
    tables: list[tuple[KeyPath, type[Section]]] = []
    for declared in section.declared().values():
        path = (*base, declared.key)
        inner, is_named = _table_of(declared.kind)
        if inner is None:
            yield _field(path, declared)
        elif is_named:
            tables += [((*path, one), inner) for one in names.get(path[0], ())]
        else:
            tables.append((path, inner))
    for path, inner in tables:
        yield from setting_fields(inner, names, path)


def table_names(section: type[Section]) -> dict[str, str]:
    """Return the tables whose entries the user names, with the description of each."""
    return {
        name: declared.description or ""
        for name, declared in section.declared().items()
        if _table_of(declared.kind)[1]
    }


def _table_of(annotation: object) -> tuple[type[Section] | None, bool]:
    """Return the class of a table, and whether it is one of many that the user names."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, False
    if get_origin(annotation) is dict:
        inner = get_args(annotation)[1]
        if isinstance(inner, type) and issubclass(inner, Section):
            return inner, True
    return None, False


def _field(path: KeyPath, declared: Declared) -> SettingField:
    plain = SettingField(path, declared.description or "", "text")
    one = _typed(plain, declared.kind)
    is_secret = not declared.is_shown or path[-1] == "extra_body"
    return replace(one, is_secret=True) if is_secret else one


def _typed(field: SettingField, annotation: object) -> SettingField:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _typed(field, inner[0])
    if origin is Literal and all(isinstance(choice, str) for choice in inner):
        return replace(field, kind="choice", choices=inner)
    if origin is dict:
        return replace(field, kind="table", is_secret=Secret in inner)
    if origin is list:
        return replace(field, kind="list")
    members = [member for member in inner if member is not type(None)]
    if len(members) == 1:
        return _typed(field, members[0])
    # of several types, the text is read by the schema
    kind = _SIMPLE.get(annotation, "text")
    return replace(field, kind=kind, is_secret=annotation is Secret)

"""The settings as rows of a list, and the lines about one of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from textual.content import Content
from textual.widgets.option_list import Option

from ollm_tui.config.origin import Origin
from ollm_tui.config.reference import UNSET
from ollm_tui.config.settings_file import SettingValue
from ollm_tui.decode.clean import clean_line, clean_name

ADD: Final = "add "
"""Begins the id of a row that adds an entry to a table."""
_KEY_WIDTH: Final = 26
_FROM_WIDTH: Final = 22


def matching(values: Sequence[SettingValue], query: str) -> list[SettingValue]:
    """Return the settings with every word of the query in key, description, value or origin."""
    words = query.lower().split()
    return [one for one in values if all(word in _searched(one) for word in words)]


def _searched(value: SettingValue) -> str:
    field = value.field
    return f"{field.key} {field.description} {value.shown} {value.origin}".lower()


def options(
    values: Sequence[SettingValue], tables: Mapping[str, str], width: int, *, adds: bool
) -> Iterator[Option]:
    """Yield a heading for each section, and a row for each setting.

    `tables` has the tables whose entries the user names; with `adds` each has a row to add one.
    """
    section = None
    for value in values:
        if value.field.section != section:
            section = value.field.section
            yield Option(_heading(section or "General"), disabled=True)
        yield Option(_row(value, width), id=value.field.key)
    for table in tables if adds else ():
        yield Option(_heading(table), disabled=True)
        yield Option(Content(f"  Add an entry to {table}…"), id=f"{ADD}{table}")


def _heading(title: str) -> Content:
    return Content.styled(clean_name(title), "bold $text-primary")


def _row(value: SettingValue, width: int) -> Content:
    key_width = min(_KEY_WIDTH, width // 3)
    from_width = min(_FROM_WIDTH, width // 4)
    room = max(4, width - key_width - from_width - 6)
    key = Content(clean_name(value.field.path[-1])).truncate(key_width, ellipsis=True, pad=True)
    shown = Content(clean_line(value.shown)).truncate(room, ellipsis=True, pad=True)
    origin = Content(_short(value.origin)).truncate(from_width, ellipsis=True)
    is_set = value.origin.kind != "default"
    look = "$text-muted" if value.shown == UNSET else "bold" if is_set else ""
    return Content.assemble(
        "  ", key, "  ", shown.stylize(look) if look else shown, "  ", (origin.plain, "$text-muted")
    )


def _short(origin: Origin) -> str:
    match origin.kind:
        case "default":
            return "default"
        case "file":
            return f"file, line {origin.line}" if origin.line else "file"
        case _:
            return clean_name(origin.name)


def about(value: SettingValue, *, acts_at_once: bool) -> Content:
    """Return the lines below the list: what the marked setting means, and when it acts."""
    field, origin = value.field, value.origin
    when = "Acts at once." if acts_at_once else "Acts from the next start."
    when = f"{_short(origin)} · {when}"
    if origin.kind in ("flag", "environment"):
        when = f"{clean_name(origin.name)} sets it and overrides the file."
    kinds = f" One of: {', '.join(field.choices)}." if field.choices else ""
    return Content.assemble(
        clean_line(field.description) + clean_line(kinds),
        "\n",
        (f"{clean_name(field.key)} · {when}", "$text-muted"),
    )

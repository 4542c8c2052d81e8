"""The transcript's component classes, their default styles and the palette made from them."""

from collections.abc import Callable
from dataclasses import fields
from typing import Final

from rich.style import Style

from ollm_tui.tui.painters import Palette

PREFIX: Final = "transcript--"
_ON_TEXT: Final = frozenset(
    {"label", "keyword", "name", "string", "number", "comment", "inserted", "deleted"}
) | {"quote", "link", "code"}
"""Styles laid over others: only what they set themselves, so that the background below stays."""

COMPONENTS: Final = frozenset(PREFIX + field.name for field in fields(Palette)) | {
    PREFIX + name for name in ("marker-new", "found", "found-current", "cursor", "caret")
}

CSS: Final = """
Transcript {
    height: 1fr;
    overflow-x: hidden;
    overflow-y: scroll;
    scrollbar-size-vertical: 1;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
    background: $background;
    color: $foreground;

    & > .transcript--dim { color: $text-muted; }
    & > .transcript--accent { color: $primary; text-style: bold; }
    & > .transcript--heading { color: $text-primary; text-style: bold; }
    & > .transcript--code { color: $text-accent; }
    & > .transcript--block { background: $surface; color: $foreground; }
    & > .transcript--label { text-style: dim; }
    & > .transcript--quote { text-style: italic; }
    & > .transcript--bar { color: $primary; text-style: dim; }
    & > .transcript--link { text-style: underline; }
    & > .transcript--rule { text-style: dim; }
    & > .transcript--marker { color: $text-primary; }
    & > .transcript--error { color: $text-error; text-style: bold; }
    & > .transcript--warning { color: $text-warning; }
    & > .transcript--keyword { color: $text-primary; text-style: bold; }
    & > .transcript--name { color: $text-accent; }
    & > .transcript--string { color: $text-success; }
    & > .transcript--number { color: $text-warning; }
    & > .transcript--comment { text-style: dim italic; }
    & > .transcript--inserted { color: $text-success; }
    & > .transcript--deleted { color: $text-error; }
    & > .transcript--marker-new { background: $primary; color: $background; text-style: bold; }
    & > .transcript--found { background: $warning-muted; color: $text-warning; }
    & > .transcript--found-current { background: $warning; color: $background; text-style: bold; }
    & > .transcript--cursor { background: $primary; }
    & > .transcript--caret { text-style: reverse; }

    &:ansi {
        background: ansi_default;
        color: ansi_default;
        scrollbar-background: ansi_default;
        scrollbar-color: ansi_bright_black;
        & > .transcript--dim { color: ansi_default; text-style: dim; }
        & > .transcript--accent { color: ansi_blue; }
        & > .transcript--heading { color: ansi_blue; text-style: bold; }
        & > .transcript--code { color: ansi_magenta; }
        & > .transcript--block { background: ansi_default; color: ansi_default; }
        & > .transcript--bar { color: ansi_blue; }
        & > .transcript--marker { color: ansi_blue; }
        & > .transcript--error { color: ansi_red; text-style: bold; }
        & > .transcript--warning { color: ansi_yellow; }
        & > .transcript--keyword { color: ansi_blue; }
        & > .transcript--name { color: ansi_cyan; }
        & > .transcript--string { color: ansi_green; }
        & > .transcript--number { color: ansi_yellow; }
        & > .transcript--inserted { color: ansi_green; }
        & > .transcript--deleted { color: ansi_red; }
        & > .transcript--marker-new {
            background: ansi_default; color: ansi_default; text-style: reverse;
        }
        & > .transcript--cursor { background: ansi_blue; }
        & > .transcript--found {
            background: transparent; color: ansi_yellow; text-style: underline;
        }
        & > .transcript--found-current {
            background: transparent; color: ansi_yellow; text-style: bold reverse;
        }
    }
    &:nocolor {
        & > .transcript--cursor { background: $background; text-style: reverse; }
        & > .transcript--found {
            background: transparent; color: $foreground; text-style: underline;
        }
        & > .transcript--found-current {
            background: transparent; color: $foreground; text-style: bold reverse;
        }
    }
}
"""


def palette_from(full: Callable[[str], Style], partial: Callable[[str], Style]) -> Palette:
    """Look every style up by its component class: `full` with, `partial` without background."""
    names = [field.name for field in fields(Palette)]
    return Palette(
        **{name: (partial if name in _ON_TEXT else full)(PREFIX + name) for name in names}
    )

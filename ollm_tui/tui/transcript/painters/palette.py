"""The styles a painter may use, filled in from the theme."""

from dataclasses import dataclass, field

from rich.style import Style


def _style(text: str = "") -> Style:
    return Style.parse(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """One style per meaning; the defaults work without colours."""

    text: Style = field(default_factory=_style)
    dim: Style = field(default_factory=lambda: _style("dim"))
    accent: Style = field(default_factory=_style)
    heading: Style = field(default_factory=lambda: _style("bold"))
    code: Style = field(default_factory=_style)
    """Code inside a sentence."""
    block: Style = field(default_factory=_style)
    """A code block; its background fills the rows."""
    label: Style = field(default_factory=lambda: _style("dim"))
    """The language above a code block."""
    quote: Style = field(default_factory=lambda: _style("italic"))
    bar: Style = field(default_factory=lambda: _style("dim"))
    """The bar left of a quotation."""
    link: Style = field(default_factory=lambda: _style("underline"))
    rule: Style = field(default_factory=lambda: _style("dim"))
    marker: Style = field(default_factory=_style)
    """List bullets and numbers."""
    error: Style = field(default_factory=lambda: _style("bold"))
    warning: Style = field(default_factory=_style)
    keyword: Style = field(default_factory=lambda: _style("bold"))
    name: Style = field(default_factory=_style)
    string: Style = field(default_factory=_style)
    number: Style = field(default_factory=_style)
    comment: Style = field(default_factory=lambda: _style("italic"))
    inserted: Style = field(default_factory=_style)
    deleted: Style = field(default_factory=_style)


BOLD = Style(bold=True)
ITALIC = Style(italic=True)
STRIKE = Style(strike=True)


@dataclass(frozen=True, slots=True)
class Canvas:
    """What rows are painted for: a width in cells and a palette."""

    width: int
    palette: Palette
    has_colours: bool = True
    """May rows show colours of their own? Not where a person wants none, or the terminal's."""
    highlights: bool = True
    """Whether code gets colours; they are most of its cost, and change no text."""

"""Texts of messages as HTML: Markdown without raw HTML, and code with colours."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]  # has no types

from ollm_tui.decode.lexing import tokens
from ollm_tui.lazy import lazy_re

_LINK: Final = lazy_re(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_MAX_LENGTH: Final = 100_000
"""A longer text is shown as it was written: the parser takes seconds at most for this one."""
_MAX_BRACKETS: Final = 500
"""Brackets of a short text; a long one may have one in twenty characters more."""
_MAX_COLOURED: Final = 200_000
_NESTING: Final = 20


def is_safe_link(address: str) -> bool:
    """Return whether a link leads to the web or to a mail program, and nowhere else."""
    return _LINK.match(address) is not None


class _Parser(MarkdownIt):
    """Takes links of the web and to mail only; others stay text."""

    def validateLink(self, url: str) -> bool:
        return is_safe_link(url)


class HtmlText:
    """Renders the texts of one page."""

    def __init__(self) -> None:
        self._parser = _Parser("commonmark", {"html": False, "maxNesting": _NESTING})
        self._parser.enable(["table", "strikethrough"])
        self._parser.options["highlight"] = self._highlighted
        self._parser.add_render_rule("image", _image)
        self._parser.add_render_rule("link_open", _link_open)
        self._parser.add_render_rule("th_open", _cell_open)
        self._parser.add_render_rule("td_open", _cell_open)

    def markdown(self, text: str) -> str:
        """Return a text as HTML; one that would take too long is shown as it was written."""
        if len(text) > _MAX_LENGTH or text.count("[") > _MAX_BRACKETS + len(text) // 20:
            return f"<pre>{escape(text)}</pre>\n"
        html: str = self._parser.render(text)
        return html

    def code(self, text: str, language: str) -> str:
        """Return a block of code with colours, if its language is known."""
        return f'<pre class="code"><code>{_spans(text, language)}</code></pre>\n'

    def _highlighted(self, text: str, language: str, _attributes: str) -> str:
        return self.code(text, language)


def _spans(text: str, language: str) -> str:
    if len(text) > _MAX_COLOURED:
        return escape(text)
    pieces: list[str] = []
    length = 0
    for token, value in tokens(language, text):
        name = _class_of(token)
        length += len(value)
        shown = escape(value)
        pieces.append(f'<span class="{name}">{shown}</span>' if name else shown)
    # Some lexers lose characters.
    return "".join(pieces) if length == len(text) else escape(text)


def _class_of(token: Any) -> str:
    """Return the short name of a token's type or of the nearest one above that has one."""
    while token is not None:
        if token in STANDARD_TYPES:
            name: str = STANDARD_TYPES[token]
            return name
        token = token.parent
    return ""


def _image(
    renderer: RendererHTML, listed: Sequence[Token], at: int, options: OptionsDict, env: EnvType
) -> str:
    """Show a picture from elsewhere as a link to it: a page must not load anything."""
    token = listed[at]
    label = renderer.renderInlineAsText(token.children, options, env) or "Picture"
    address = escape(str(token.attrGet("src") or ""))
    return f'<a href="{address}" rel="noopener noreferrer nofollow">{escape(label)}</a>'


def _link_open(
    renderer: RendererHTML, listed: Sequence[Token], at: int, options: OptionsDict, env: EnvType
) -> str:
    listed[at].attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(listed, at, options, env)


def _cell_open(
    renderer: RendererHTML, listed: Sequence[Token], at: int, options: OptionsDict, env: EnvType
) -> str:
    """Align a cell by a class: the page allows no styles but those of its sheet."""
    alignment = str(listed[at].attrs.pop("style", "")).removeprefix("text-align:")
    if alignment in {"left", "right", "center"}:
        listed[at].attrSet("class", alignment)
    return renderer.renderToken(listed, at, options, env)

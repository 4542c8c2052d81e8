"""Ask whether to open a link: its target is shown in full, and no is the default."""

import time
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.link_target import LinkRefusal, LinkTarget
from ollm_tui.tui.dialogs import WAITING, ArmedDialog, Passage, Reading, named_keys
from ollm_tui.tui.widgets import cut, cut_start

LinkAnswer: TypeAlias = Literal["open", "copy"] | None

_MAX_HOSTS: Final = 2  # recipients of a mail that are listed; the whole address has all
_COLUMN: Final = 11
_ROWS_AROUND: Final = 12
_MAX_WIDTH: Final = 84
_NARROWEST: Final = 12
_EDGES: Final = 8  # cells of the border and the padding


class OpenLink(ArmedDialog[LinkAnswer]):
    """Returns whether to open the link or to copy its address."""

    DEFAULT_CSS = """
    OpenLink {
        & > Vertical { height: auto; max-height: 96%; }
        #facts { height: auto; margin-bottom: 1; }
        #warnings { height: auto; color: $text-warning; margin-bottom: 1; }
        &.-low #facts { margin-bottom: 0; max-height: 4; }
        &.-low #warnings { margin-bottom: 0; }
    }
    """

    def __init__(
        self,
        address: str,
        target: LinkTarget | LinkRefusal,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show a target; `address` is the text of a refused link."""
        super().__init__(clock=clock)
        self._target = target
        self._address = target.address if isinstance(target, LinkTarget) else address

    def compose(self) -> ComposeResult:
        """Lay out the parts and the whole address."""
        target = self._target
        inner = min(_MAX_WIDTH, self.app.size.width * 94 // 100) - _EDGES
        room = max(_NARROWEST, inner - _COLUMN)
        if isinstance(target, LinkTarget):
            title, warnings = "Open this link?", list(_warnings(target))
            facts = list(_facts(target, room))
        else:
            title, warnings, facts = "This link is not opened", [target.reason], []
        rows = bool(warnings) + len(facts) + sum(1 + len(text) // room for text in warnings)
        with Vertical():
            yield Static(title, classes="title", markup=False)
            if warnings:
                yield Static(Content("\n".join(warnings)), id="warnings")
            if facts:
                yield Static(_written(facts), id="facts")
            whole = Passage("The whole address", self._address)
            yield Reading([whole], margin=_ROWS_AROUND + rows)
            yield Static(Content(WAITING), id="about")

    def keys(self) -> Content:
        """Return the keys that answer."""
        ways = [("c", "copy the address"), ("n", "or Esc close")]
        if isinstance(self._target, LinkTarget) and self.is_read:
            ways.insert(0, ("y", "open"))
        return named_keys(*ways)

    def answer(self, event: events.Key) -> bool:
        """Open, copy or close by a letter."""
        match event.character:
            case "y" if isinstance(self._target, LinkTarget):
                self.dismiss("open")
            case "c":
                self.dismiss("copy")
            case "n":
                self.dismiss(None)
            case _:
                return False
        return True

    def refuse(self) -> None:
        """Open nothing."""
        self.dismiss(None)


def _warnings(target: LinkTarget) -> Iterator[str]:
    if target.user:
        yield "The part before the @ is not the host."
    if any(host.is_international for host in target.hosts):
        yield "The host has look-alike letters."
    for place in dict.fromkeys(host.place for host in target.hosts if host.place):
        yield f"The host is in {place}." if " machine" not in place else f"It leads to {place}."


def _facts(target: LinkTarget, room: int) -> Iterator[tuple[str, str]]:
    """Yield the parts of an address by name, each cut to one row."""
    yield "Scheme", target.scheme
    for host in target.hosts[:_MAX_HOSTS]:
        yield "Host", cut_start(host.ascii, room)
        if host.is_international:
            yield "Written as", cut_start(clean_name(host.written), room)
    if (more := len(target.hosts) - _MAX_HOSTS) > 0:
        yield "", f"and {counted(more, 'more recipient')}"
    if target.user:
        yield "Before @", cut(target.user, room)
    if target.port is not None:
        yield "Port", str(target.port)
    if target.rest:
        yield "Fields" if target.scheme == "mailto" else "Path", cut(target.rest, room)


def _written(facts: list[tuple[str, str]]) -> Content:
    parts: list[str | tuple[str, str]] = []
    for name, value in facts:
        end = "\n" if parts else ""
        look = "bold" if name == "Host" else ""
        parts += [(f"{end}{name:<{_COLUMN}}", "$text-muted"), (value, look)]
    return Content.assemble(*parts)

"""`ollm man`: the manual page, made from the tables of the parser and of the backends."""

from collections.abc import Iterator, Sequence

from ollm_tui import __version__
from ollm_tui.cli.arguments import EXIT_CODES, Arguments
from ollm_tui.cli.command_tree import Argument, CommandNode, command_tree
from ollm_tui.cli.output import OK, Output
from ollm_tui.config.backends import BACKENDS

_FILES = (
    ("config.toml", "the settings; `ollm config path` names the file"),
    ("models", "model files of the built-in engine; `ollm config path --of models`"),
    ("chats.db", "the saved chats, in the folder of `ollm config path --of data`"),
)
_ENVIRONMENT = (
    ("OLLM_CONFIG", "the settings file to use"),
    (", ".join(row.host_variable for row in BACKENDS if row.host_variable), "where servers are"),
    (", ".join(row.key_variable for row in BACKENDS if row.key_variable), "keys of servers"),
    ("NO_COLOR", "no colours, if set"),
)


def run_man(_arguments: Arguments, output: Output) -> int:
    """Print the page in the language of man."""
    output.line(man_page().rstrip())
    return OK


def man_page() -> str:
    """Return the page."""
    return "\n".join(_lines(command_tree())) + "\n"


def _lines(root: CommandNode) -> Iterator[str]:
    yield f'.TH OLLM 1 "" "ollm {__version__}" "User Commands"'
    yield from (".SH NAME", r"ollm \- chat with language models in the terminal")
    yield from (".SH SYNOPSIS", r".B ollm", r"[\fIOPTION\fR]... [\fICOMMAND\fR]")
    yield from (".SH DESCRIPTION", _text(root.help), ".PP")
    yield "Without a command the chat opens; with a prompt or piped text it is answered."
    yield from (".SH OPTIONS", "They may stand before or after a command.")
    yield from _items(root.options)
    yield ".SH COMMANDS"
    shared = {option.names for option in root.options}
    for node in [one for one in root.walk() if not one.commands]:
        yield from _command(node, shared)
    yield ".SH EXIT STATUS"
    for code, text in EXIT_CODES:
        yield from (".TP", rf"\fB{code}\fR", _text(text))
    yield ".SH ENVIRONMENT"
    yield from _pairs(_ENVIRONMENT)
    yield ".SH FILES"
    yield from _pairs(_FILES)


def _command(node: CommandNode, shared: set[tuple[str, ...]]) -> Iterator[str]:
    values = " ".join(rf"\fI{_value(value)}\fR" for value in node.values)
    names = rf"\fB{_text(' '.join(node.path))}\fR {values}".rstrip()
    also = "".join(rf", \fB{alias}\fR" for alias in node.aliases)
    yield from (".SS " + names + also, _sentence(node.help))
    yield from _items([one for one in node.options if one.names not in shared])


def _value(value: Argument) -> str:
    shown = value.metavar + ("..." if value.is_repeated else "")
    return _text(shown if value.is_required else f"[{shown}]")


def _items(options: Sequence[Argument]) -> Iterator[str]:
    for option in options:
        value = rf" \fI{_text(option.metavar)}\fR" if option.metavar else ""
        names = ", ".join(rf"\fB{_text(name)}\fR{value}" for name in option.names)
        yield from (".TP", names, _sentence(option.help))


def _pairs(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in rows:
        yield from (".TP", rf"\fB{_text(name)}\fR", _sentence(meaning))


def _sentence(text: str) -> str:
    return _text(f"{text[:1].upper()}{text[1:].rstrip('.')}.") if text else ""


def _text(text: str) -> str:
    """Write a text so that roff takes no part of it for a request."""
    written = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{written}" if written.startswith((".", "'")) else written

"""Note what the program takes from its terminal: keys, pastes, the mouse, the focus."""

from pathlib import Path

from textual import events
from textual.message import Message

from ollm_tui.tui.terminal.driver import TerminalDriver

VARIABLE = "NOTED_KEYS"
"""In the environment: the file that gets a line for each."""


def install(file: Path) -> None:
    """Note everything from now on."""
    process = TerminalDriver.process_message

    def noted(driver: TerminalDriver, message: Message) -> None:
        if line := described(message):
            with file.open("a", encoding="utf-8") as notes:
                notes.write(line + "\n")
        process(driver, message)

    setattr(TerminalDriver, "process_message", noted)  # noqa: B010


def described(message: Message) -> str:
    match message:
        case events.Key():
            return message.key
        case events.Paste():
            return f"paste {message.text!r}"
        case events.MouseEvent():
            return f"{type(message).__name__} {message.screen_x:g} {message.screen_y:g}"
        case events.AppFocus() | events.AppBlur():
            return type(message).__name__
        case _:
            return ""

"""A chat from its first question to another home: branched, found, taken along, and continued."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Start, ask, assert_left_sane, ready
from tests.support.engine import needs_engine
from tests.support.pty_session import PtySession, wait_until
from tests.support.seeds import sampled

pytestmark = [pytest.mark.pty, pytest.mark.engine, needs_engine]

ENTER, ESCAPE = b"\r", b"\x1b"
LEFT, RIGHT, UP, ALT_UP = b"\x1b[D", b"\x1b[C", b"\x1b[A", b"\x1b[1;3A"
DOWN, CTRL_R, CTRL_U, F3, F4, F5, F10 = (
    b"\x1b[B",
    b"\x12",
    b"\x15",
    b"\x1bOR",
    b"\x1bOS",
    b"\x1b[15~",
    b"\x1b[21~",
)
FIRST, SECOND = "\u20391/2\u203a", "\u20392/2\u203a"
PAPER = b"48;2;250;248;244"
"""The background of the theme paper."""
SMALL, FOUR = "I am a very small model", "The answer is 4"


@pytest.mark.parametrize("size", sampled([(80, 24), (120, 40)], 1), ids=str)
def test_a_chat_is_branched_found_taken_along_and_continued(
    start: Start, home_with_model: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    with start(home_with_model, size=size) as session:
        write_stop_and_edit(session)
        walk_the_tree(session)
        find_it_again(session)
        ask(session, "/export kept.json")
        session.wait_for("Saved kept.json.")
        change_the_looks(session)
        ask(session, "/quit")
        assert_left_sane(session, 0)
    assert "threads = 1" in settings(home_with_model)
    with start(home_with_model, size=size) as session:
        continue_the_chat(session)
        ask(session, "/quit")
        assert_left_sane(session, 0)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "config" / "ollm").mkdir(parents=True)
    with start(elsewhere, size=size) as session:
        take_in(session, tmp_path / "kept.json")
        ask(session, "/quit")
        assert_left_sane(session, 0)


def settings(home: Path) -> str:
    return (home / "config" / "ollm" / "config.toml").read_text()


def gone(session: PtySession, words: str) -> None:
    session.wait_for(lambda: words not in session.screen_text())


def go_to_question(session: PtySession) -> None:
    """Put the cursor on the newest question: that one can be edited."""
    for _message in range(6):
        session.write(ALT_UP)
        if wait_until(lambda: " edit" in session.screen_text().rpartition("\n")[2], 0.15):
            return
    raise AssertionError(session.screen_text())


def edit(session: PtySession, shown: str) -> None:
    """Put the newest question into the input, as soon as the stopped answer has ended."""
    refused = "An answer is still in progress"
    for _ in range(20):
        ask(session, "/edit")
        session.wait_for(lambda: shown in session.screen_text() or refused in session.screen_text())
        if shown in session.screen_text():
            return
        gone(session, refused)
    session.wait_for(shown)


def write_stop_and_edit(session: PtySession) -> None:
    """Stop an answer that goes on for ever, and ask something else in its place."""
    ready(session)
    ask(session, "hello there")
    session.wait_for(SMALL)
    ready(session)
    ask(session, "go on forever")
    session.wait_for("again and again")
    session.write(ESCAPE)
    session.wait_for("Stopped")
    edit(session, "│ go on forever")
    session.write(CTRL_U)
    gone(session, "│ go on forever")
    ask(session, "please think")
    session.wait_for(FOUR)
    session.wait_for(SECOND)


def walk_the_tree(session: PtySession) -> None:
    """Go to the answer that was stopped with two keys, and back over the tree."""
    go_to_question(session)
    session.write(LEFT)
    session.wait_for(FIRST)
    session.wait_for("again and again")
    gone(session, FOUR)
    session.write(ESCAPE)
    ask(session, "/tree")
    session.wait_for("Branches of this chat")
    for words in ("you: hello there", "you: go on forever", "you: please think"):
        session.wait_for(words)
    session.write(DOWN + ENTER)
    session.wait_for(FOUR)
    session.wait_for(SECOND)
    gone(session, "Branches of this chat")


def find_it_again(session: PtySession) -> None:
    """Begin another chat, and open the first one at a message that is searched."""
    ask(session, "/new")
    gone(session, FOUR)
    ask(session, "use no tool, hello")
    session.wait_for(SMALL)
    ready(session)
    session.write(F5)
    session.wait_for("Search in all chats")
    session.write("answer 4\r")
    session.wait_for(SECOND)
    session.wait_for(FOUR)


def change_the_looks(session: PtySession) -> None:
    """Change a setting, the theme and a key on the settings screen."""
    session.write(F10)
    session.wait_for("Settings")
    session.write("times")
    session.wait_for("Show when each message of a saved chat was written.")
    session.write(ENTER)
    session.wait_for("Saved ui.times")
    session.write(CTRL_U + b"theme")
    session.wait_for("theme · default · Acts at once.")
    session.write(ENTER)
    session.wait_for("Choose a theme")
    session.write(DOWN + DOWN + ENTER)  # from dusk over ember
    session.wait_for("Saved theme")
    session.wait_for(PAPER)
    session.write(CTRL_U + b"keymap")
    session.wait_for("keymap · ")
    session.write(ENTER)
    session.wait_for("Search by action, key or id")
    session.write("hide the times")
    session.wait_for("Alt+T ")
    session.write(ENTER)
    session.wait_for("Press the new key.")
    session.write(F3)
    session.wait_for("F3 has an action already: Manage models.")
    session.write(F4)
    session.wait_for("Enter save")
    session.write(ENTER)
    session.wait_for("yours")
    session.write(ESCAPE)
    gone(session, "Search by action, key or id")
    session.write(ESCAPE)
    session.wait_for("  Search\n")  # an empty filter
    session.write(ESCAPE)
    gone(session, " Settings ")
    hide_times(session)


def hide_times(session: PtySession) -> None:
    """Use the key that was chosen; the times are shown, as the setting has it."""
    session.write(F4)
    session.wait_for("Times are hidden")


def continue_the_chat(session: PtySession) -> None:
    """Go on with the chat that the list finds, as it was left, with all that was chosen."""
    ready(session)
    session.wait_for(PAPER)
    session.write(CTRL_R)
    session.wait_for("2 chats")
    session.write(b"hello there\r")
    session.wait_for(FOUR)
    session.wait_for(SECOND)
    hide_times(session)
    ask(session, "hello again")
    session.wait_for(SMALL)
    ready(session)


def take_in(session: PtySession, file: Path) -> None:
    """Import the chat on the chats screen, and read it there."""
    session.wait_for("No models found", timeout=20)
    session.write(CTRL_R)
    session.wait_for("No saved chats yet.")
    session.write(F10)
    session.wait_for("Path of a file")
    session.write(f"{file}\r")
    session.wait_for("Imported 1 chat")
    assert json.loads(file.read_text())
    session.write(ENTER)
    session.wait_for(FOUR)
    session.wait_for(SECOND)

"""One session of the program per scene: how foreign text comes in, and what is seen of it."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ollm_tui.tui.composer.composer import PASTE_GUARD_S
from ollm_tui.tui.widgets.paste import FOLD_OVER_LINES
from tests.hostile.hub import FAILING, FILES, HALVES, half_of
from tests.hostile.payloads import Payload, marked
from tests.support.guarded.fair_clock import sleep
from tests.support.pty_session import PtySession
from tests.support.vt import grammar

SETTLED = re.compile(r"[●✗] (ready|error|stopped)")


NAME_SEEN = 16
ROWS = "↑ ↓ scroll"
UNFOLD = b"\x0f"
PAGES = 12


@dataclass
class Visit:
    """A running program, and everything that was seen of it so far."""

    session: PtySession
    home: Path
    payloads: Sequence[Payload]
    seen: dict[str, str] = field(default_factory=dict)

    def look(self, door: str) -> None:
        """Keep what is on the screen as what that door has shown."""
        self.seen[door] = self.seen.get(door, "") + "\n" + self.session.screen_text()

    def last_line(self) -> str:
        return self.session.screen_text().rstrip().rpartition("\n")[2]

    def settle(self, text: str = "") -> None:
        """Wait until nothing is being answered, and `text` is there."""
        session = self.session
        session.wait_for(
            lambda: SETTLED.search(self.last_line()) is not None and text in session.screen_text(),
            20,
        )

    def wait_for_match(self, pattern: re.Pattern[str]) -> None:
        self.session.wait_for(lambda: pattern.search(self.session.screen_text()) is not None)

    def wait_for_end(self, *ends: str) -> None:
        """Wait until one of these texts is in the last block that is marked by a bar."""
        self.session.wait_for(
            lambda: any(end in self.session.screen_text().rpartition("▌")[2] for end in ends)
        )

    def wait_for_two(self, text: str) -> None:
        """Wait until a text is there twice: in the input and in what it suggests."""
        self.session.wait_for(lambda: self.session.screen_text().count(text) > 1)

    def type(self, words: str) -> None:
        """Type into the empty input, and see it there."""
        self.session.write(words)
        self.session.wait_for(words)

    def send(self, words: str) -> None:
        self.type(words)
        self.session.write("\r")

    def new_chat(self) -> None:
        """Start a new chat; an answer that is there may still be closing, which is asked about."""
        self.send("/new")
        question = "y stop it"
        self.session.wait_for(
            lambda: "▌" not in (shown := self.session.screen_text()) or question in shown
        )
        if question in self.session.screen_text():
            self.session.write("y")
        self.session.wait_for(lambda: "▌" not in self.session.screen_text())
        self.session.wait_for("Ask anything")

    def paste(self, text: str) -> None:
        self.session.write(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def send_pasted(self) -> None:
        """Press Enter once it is no longer taken for a part of the paste."""
        sleep(2 * PASTE_GUARD_S)
        self.session.write("\r")

    def ask(self, door: str, prompt: str, until: str = "") -> None:
        """Begin a chat, ask, wait for the end of the answer and keep what is seen."""
        self.new_chat()
        self.send(prompt)
        self.session.wait_for(f"▌ {prompt}")
        self.settle(until)
        self.look(door)


@dataclass(frozen=True)
class Seen:
    """What came of a visit."""

    grammar: frozenset[str]
    raw: bytes
    seen: dict[str, str]


def leave(visit: Visit) -> Seen:
    """Quit as a person does; a program that broke would not."""
    visit.new_chat()
    visit.send("/quit")
    assert visit.session.exit_status() == 0, visit.session.screen_text()
    assert visit.session.termios() == visit.session.termios_before
    return Seen(grammar(visit.session.raw), visit.session.raw, visit.seen)


# The doors of a server


def server_answers(visit: Visit) -> None:
    """Text, thinking, calls and errors, one chat each."""
    last = f"»e{len(visit.payloads) - 1:02}"
    visit.settle("Chatting with")
    visit.session.write(b"\x14")  # thinking stays open
    visit.ask("answer", "say", last)
    visit.ask("answer bytewise", "bytewise", last)
    visit.ask("thinking", "think", "Done.")
    visit.ask("tool call", "call", "Calling.")
    for part, last in _thirds(visit):
        visit.ask("stream error", f"fail {part}", last)
        visit.ask("error body", f"status 401 {part}", last)
        visit.ask("plain error body", f"plain {part}", last)
    visit.ask("web page title", "html", "HTTP 502")
    # A hostile head is no HTTP, and is refused in other words than a plain one.
    visit.ask("reason phrase", "reason", "HTTP")
    visit.ask("redirect target", "redirect", "localhost:")


def _thirds(visit: Visit) -> list[tuple[int, str]]:
    """Give the parts of a long message, each with the mark that it ends with."""
    count = len(visit.payloads)
    return list(enumerate(f"»e{end - 1:02}" for end in (count // 3, 2 * (count // 3), count)))


def event_answers(visit: Visit) -> None:
    """The same from a server of the other kind, as far as its wire format is another."""
    last = f"»e{len(visit.payloads) - 1:02}"
    visit.settle("Chatting with")
    visit.session.write(b"\x14")
    visit.ask("answer", "bytewise", last)
    visit.ask("thinking", "think", "Done.")
    visit.ask("tool call", "call", "Calling.")
    for part, end in _thirds(visit):
        visit.ask("stream error", f"fail {part}", end)


def tool_calls(visit: Visit) -> None:
    """Calls of tools: the question, the row, what came of it; and what is said of tools."""
    visit.settle("Chatting with")
    session = visit.session
    visit.ask("unknown tool", "call", "It ran.")
    session.write(UNFOLD)
    visit.look("unknown tool")
    _use(visit, "calculate", "arguments", "row of a call")
    for tool, door in (
        ("read_file", "text of a file"),
        ("list_directory", "names of files"),
        ("search_files", "lines found"),
    ):
        _use(visit, tool, door, door)
        session.write(UNFOLD)
        session.wait_for(f"»e{len(visit.payloads) - 1:02}")
        visit.look(door)
    visit.new_chat()
    for place, payload in enumerate(visit.payloads[:10]):
        visit.paste(f"/tools {marked(payload, place)}")
        session.wait_for(f"b{place:02}")
        visit.send_pasted()
        session.wait_for("Ask anything")
        visit.look("argument of /tools")
    visit.send("/tools")
    session.wait_for("/tools NAME")
    visit.look("list of tools")
    visit.send("/context")
    session.wait_for("system prompt")
    visit.look("context")
    session.write(b"\x1b")
    session.wait_for(lambda: "system prompt" not in session.screen_text())


def _use(visit: Visit, tool: str, asked: str, answered: str) -> None:
    """Let the model call a tool, and allow it once the question takes keys."""
    visit.new_chat()
    visit.send(f"use {tool}")
    visit.session.wait_for("y once")
    visit.look(asked)
    for _page in range(PAGES if ROWS in visit.session.screen_text() else 0):
        visit.session.write(b"\x1b[6~")
        sleep(0.1)
        visit.look(asked)
    visit.session.write("y")
    visit.settle("It ran.")
    visit.look(answered)


def saved_chats(visit: Visit) -> None:
    """The newest chat is gone on with; then the list, page by page; deleting; opening."""
    session = visit.session
    visit.settle("b00")
    session.write(b"\x14")  # unfolds the thinking
    session.write(UNFOLD)
    for key in (b"\x1b[1;5H", *[b"\x1b[6~"] * PAGES):
        session.write(key)
        sleep(0.1)
        visit.look("chat that is gone on with")
    session.write(b"\x12")
    session.wait_for("Filter by title")
    visit.look("list of chats")
    for place in range(len(visit.payloads)):
        session.write(f"{place:02}")
        visit.wait_for_match(re.compile(rf"(?m)^[ ●] {place:02}"))  # drawn after what is typed
        visit.look("list of chats")
        if place % 7 == 0:
            session.write(b"\x04")
            session.wait_for("Delete this chat?")
            visit.look("question before deleting")
            session.wait_for("keep it")
            session.write("n")
            session.wait_for(lambda: "keep it" not in session.screen_text())
        session.write("\x7f\x7f")
        session.wait_for("Filter by title")
    session.write("03\r")
    session.wait_for("▌ 03")
    visit.look("opened chat")


def server_models(visit: Visit) -> None:
    """Models of a server, wherever their names show."""
    visit.settle("Chatting with")
    listing(visit)


def listing(visit: Visit) -> None:
    """Model names in the picker, the suggestions, the input, a note and the header."""
    session = visit.session
    visit.new_chat()
    session.write(b"\x0c")
    session.wait_for("Esc close ·")
    visit.look("picker")
    count = len(visit.payloads)
    last = (b"\x1b[A", count), (b"\x1b[B", 1)  # up from the first row is the last one
    for keys, place in (*last, *((b"\x1b[6~", 10 * n) for n in range(1, count // 10 + 1))):
        session.write(keys)
        session.wait_for(f"  {place - 1:02}")
        visit.look("picker")
    session.write(b"zzzz")
    session.wait_for("No model matches")
    session.write(b"\x1b")
    session.wait_for(lambda: "Choose a model" not in session.screen_text())
    _models_screen(visit)
    choose_each(visit)


def _models_screen(visit: Visit) -> None:
    """All models in a table, one after the other found by the number its name begins with."""
    session = visit.session
    session.write(b"\x1bOR")
    session.wait_for("Capabilities")
    visit.look("models screen")
    for place in range(len(visit.payloads)):
        session.write(f"{place:02}")
        # its row is drawn to the end: the size stands behind the name
        visit.wait_for_match(re.compile(rf"Modified.*\n..{place:02}.* k?B "))
        visit.look("models screen")
        if place % 7 == 0:
            session.write(b"\x1bOQ")
            session.wait_for("Enter run")
            visit.look("what can be done with a model")
            session.write(b"\x1b")
            session.wait_for(lambda: "Enter run" not in session.screen_text())
            session.write(b"\x1bOS")
            session.wait_for("Model details")
            visit.look("details of a model")
            session.write(b"\x1b[F")
            visit.look("details of a model")
            session.write(b"\x1b")
            session.wait_for(lambda: "Model details" not in session.screen_text())
            session.write(b"\x1b[19~")
            session.wait_for("permanently?")
            visit.look("question before a model is deleted")
            session.write(b"\x1b")
            session.wait_for(lambda: "permanently?" not in session.screen_text())
        session.write("\x7f\x7f")
        session.wait_for("Filter by name")
    session.write(b"\x1b")
    session.wait_for("Ask anything")


def choose_each(visit: Visit) -> None:
    """Let one model after the other answer, found by the number its name begins with."""
    for place, payload in enumerate(visit.payloads):
        _choose(visit, place, payload)


def _choose(visit: Visit, place: int, payload: Payload) -> None:
    """Take the suggestion into the input, then let that model answer."""
    session = visit.session
    visit.type(f"/model {place:02}")
    session.wait_for(f"://{place:02}")
    visit.look("suggestions")
    session.write(b"\t")
    taken = re.compile(rf"│ /model [a-z-]+://{place:02}")
    visit.wait_for_match(taken)
    visit.look("input")
    if payload.text.endswith("\\"):  # would continue the line
        session.write(b"\x03")
    else:
        session.write(b"\r")
        session.wait_for(lambda: f" {place:02}" in session.screen_text().partition("\n")[0])
        visit.look("header")
        session.wait_for("Now using")
        visit.look("note")
    session.wait_for("Ask anything")


def hub_models(visit: Visit) -> None:
    """Repositories of a hub: what a search says of them, their files, and why it fails."""
    session, count = visit.session, len(visit.payloads)
    visit.settle("No models found")
    visit.send("/pull")
    session.wait_for("Find models")
    for half in HALVES:
        _search_hub(visit, half)
        mine = [place for place in range(count) if half_of(place, count) == half]
        session.wait_for(f"someone/{half}-{mine[0]:02}")
        seen: set[str] = set()
        for _row in mine:
            session.wait_for(lambda: _report(visit) not in {"", *seen})  # noqa: B023 -- at once
            seen.add(_report(visit))
            visit.look("licence of a model")
            session.write(b"\x1b[B")
    _search_hub(visit, FILES)
    session.wait_for("available at")
    session.write(b"\x1b[A" * count)
    _look_into(visit)
    session.write(b"\x1b[A" * count)
    session.wait_for("    00")  # the first row
    for _row in range(count):
        visit.look("names of files")
        session.write(b"\x1b[B")
        sleep(0.05)
    visit.look("names of files")
    session.write(b"\x1b")
    session.wait_for(lambda: "Enter download" not in session.screen_text())
    _look_into(visit)
    session.write(b"\r")
    session.wait_for(lambda: re.search("Downloads|refused name", session.screen_text()) is not None)
    visit.look("row of a download")
    _search_hub(visit, FAILING)
    session.wait_for("local results")
    visit.look("error of a hub")
    session.write(b"\x1b")
    session.wait_for("Ask anything")


def _look_into(visit: Visit) -> None:
    session = visit.session
    session.write(b"\r")
    session.wait_for("Enter download")
    session.wait_for("parameters")
    session.wait_for(lambda: "Loading the list" not in session.screen_text())


def _search_hub(visit: Visit, words: str) -> None:
    if "Search, or enter" not in visit.session.screen_text():
        visit.session.write(b"\x15")
        visit.session.wait_for("Search, or enter")
    visit.session.write(words)


def _report(visit: Visit) -> str:
    """Give the number of the repository that the line below the list is about."""
    found = re.search(r"^ +b([0-9]{2})", visit.session.screen_text(), re.MULTILINE)
    return found[1] if found else ""


# The doors of a home, of the environment and of the command line


def problems(visit: Visit) -> None:
    """What is wrong with the settings, said at the start."""
    visit.settle("No models found")
    # a long sentence is painted in more than one frame
    last = f"e{len(visit.payloads) - 1:02}"
    visit.session.wait_for(lambda: last in re.sub(r"[\s▌]", "", visit.session.screen_text()))
    visit.look("problems")


def broken(visit: Visit) -> None:
    """What is said of a file of settings that cannot be read: where, and never its text."""
    visit.settle("Nothing of it is")
    visit.session.wait_for("fixed.")
    visit.look("problems")


def remembered(visit: Visit) -> None:
    """Models used before: in the suggestions, and taken up again with one key."""
    session = visit.session
    visit.settle("No models found")
    for place in range(len(visit.payloads)):
        visit.type(f"/model {place:02}")
        session.wait_for(f"://{place:02}")
        visit.look("remembered suggestions")
        session.write(b"\x03")
        session.wait_for("Ask anything")
    session.write(b"\x1b[12~")
    session.wait_for(lambda: "▌" in session.screen_text())
    visit.look("remembered model")


def model_files(visit: Visit) -> None:
    """Files of the models folder wherever they are listed; the picker leaves out unusable ones."""
    visit.settle("No models found")
    visit.new_chat()
    _models_screen(visit)
    choose_each(visit)
    visit.ask("unusable file", "hi", "not a usable GGUF file")


def themes(visit: Visit) -> None:
    """Names in the suggestions and in the picker; what is wrong with a file below it."""
    session = visit.session
    visit.settle("No models found")
    visit.send("/theme")
    session.wait_for("Choose a theme")
    for place in range(len(visit.payloads)):
        session.write(b"\x1b[H" if place == 0 else b"\x1b[B")
        named = re.compile(rf"The theme[\s│]+{place:02}" if place % 5 < 4 else f"│ +{place:02}")
        visit.wait_for_match(named)
        visit.look("theme picker")
    session.write(b"\x1b")
    session.wait_for(lambda: "Choose a theme" not in session.screen_text())
    for place, payload in enumerate(visit.payloads):
        visit.type(f"/theme {place:02}")
        visit.wait_for_two(f"{place:02}")
        # The list is narrowed a moment after the letters are there.
        with suppress(AssertionError):
            session.wait_for(f"{place:02}{payload.named}"[:NAME_SEEN], timeout=3)
        visit.look("theme suggestions")
        session.write(b"\x03")
        session.wait_for("Ask anything")
    for place, payload in enumerate(visit.payloads):
        if place % 5 or "\r" in payload.text or payload.text.endswith("\\"):
            continue
        visit.new_chat()
        visit.type(f"/theme {place:02}")
        visit.wait_for_two(f"{place:02}")
        session.write(b"\t\r")
        session.wait_for("cannot be used")
        visit.look("theme problem")


def keys(visit: Visit) -> None:
    """Keys that somebody chose, in the status line and on the help page."""
    visit.settle("No models found")
    visit.look("status line")
    visit.send("/help")
    visit.session.wait_for("Up Down PgUp PgDn scroll")
    visit.look("help page")
    visit.session.write(b"\x1b")
    visit.session.wait_for(lambda: "PgUp PgDn scroll" not in visit.session.screen_text())


def typed(visit: Visit) -> None:
    """Pasted prompts, long and short, and commands with hostile arguments."""
    session = visit.session
    visit.settle("Chatting with")
    texts = [marked(p, place) for place, p in enumerate(visit.payloads)]
    for command in ("/theme ", "/set ", "/model nope:", "/no"):
        visit.new_chat()
        for text in texts[:20:2]:
            visit.paste(f"{command}{text}")
            session.wait_for(f"{text[:3]}")
            visit.send_pasted()
            session.wait_for("Ask anything")
            if command == "/no":  # refused, or a prompt where it cannot be a command's name
                visit.wait_for_end("Unknown command", "first token")
            visit.look(f"argument of {command.split()[0]}")
    visit.new_chat()
    visit.paste("\n".join(texts))
    session.wait_for(texts[-1][:3] if len(texts) < FOLD_OVER_LINES else "Pasted text #")
    visit.send_pasted()
    is_folded = len(texts) >= FOLD_OVER_LINES
    session.wait_for(lambda: ("▸ b00" if is_folded else "▌ b00") in session.screen_text())
    visit.settle("Hello.")
    if is_folded:
        session.write(b"\x1b[1;3A\x1b[1;3A")
        session.write(b" ")
        session.wait_for(lambda: f"e{len(texts) - 1:02}" in session.screen_text())
    visit.look("pasted prompt")


def environment_values(visit: Visit) -> None:
    """Variables that cannot be used, by name and by value."""
    visit.settle("There is no model named")
    visit.look("variables")


def history(visit: Visit) -> None:
    """Earlier prompts, brought back one by one and put aside again."""
    visit.settle("No models found")
    for place in range(len(visit.payloads)):
        visit.session.write(b"\x1b[A")
        visit.session.wait_for(f"│ b{place:02}")
        visit.look("earlier prompts")
    visit.session.write(b"\x03")
    visit.session.wait_for("Ask anything")

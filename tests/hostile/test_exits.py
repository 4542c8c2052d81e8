"""The same texts on every way out but the screen: plain text, whatever came in."""

import argparse
import base64
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ollm_tui.cli.arguments import build_parser
from ollm_tui.tui.crash import write_report
from tests.e2e.conftest import OLLM, ask, environment
from tests.e2e.lines import END_OF_A_LIST, OF_THE_EDITOR, prompted
from tests.hostile import homes
from tests.hostile.payloads import PAYLOADS, marked, unseen
from tests.hostile.server import MODEL, hostile_server
from tests.support.forked import Forks
from tests.support.http_server import in_thread
from tests.support.pty_session import PtySession
from tests.support.seeds import sampled
from tests.support.vt import grammar, tokens

pytestmark = [pytest.mark.slow, pytest.mark.pty]

ARGUMENTS = homes.fit_for_arguments(PAYLOADS)
ALL = "".join(marked(p, place) for place, p in enumerate(ARGUMENTS))

BREAKS = {"c1-next-line", "form-feed"}
"""Where everything has to stand in one line, what would end it is a blank."""


def controls(text: str) -> set[str]:
    """Give the characters that a terminal would obey, or that turn or hide text."""
    return {letter for letter in text if letter != "\n" and _is_control(ord(letter))}


def _is_control(code: int) -> bool:
    return (
        code < 0x20
        or 0x7F <= code < 0xA0
        or 0x202A <= code <= 0x202E
        or 0xD800 <= code < 0xE000
        or 0xE0000 <= code < 0xE0080
    )


@dataclass(frozen=True)
class World:
    """A home and a hostile server."""

    home: Path
    url: str
    forks: Forks

    def run(self, *arguments: str, stdin: bytes | None = None) -> tuple[str, str]:
        """Run the program without a terminal; give both its outputs."""
        done = self.forks.run(
            arguments,
            environ={"PATH": "/usr/bin:/bin", **environment(self.home), "OLLAMA_HOST": self.url},
            cwd=self.home,
            given=stdin or b"",
            timeout_s=30,
        )
        assert b"Traceback" not in done.stderr
        return done.stdout.decode(), done.stderr.decode()

    def ask(self, prompt: str, *arguments: str) -> tuple[str, str]:
        return self.run("--model", f"local://{MODEL}", *arguments, "-p", prompt)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, forks: Forks) -> Iterator[World]:
    home = homes.make_home(tmp_path_factory.mktemp("world"))
    with in_thread(hostile_server(PAYLOADS)) as server:
        yield World(home, server.url, forks)


@dataclass(frozen=True)
class Exit:
    """What comes out there, and which payloads of a text or a list of names do not show in it."""

    give: Callable[[World], str]
    missing: Callable[[str], list[str]] = lambda _text: []


def _texts(text: str) -> list[str]:
    return unseen(PAYLOADS, text)


def _arguments(text: str) -> list[str]:
    return unseen(ARGUMENTS, text)


def _lines(text: str) -> list[str]:
    return [name for name in unseen(PAYLOADS, text) if name not in BREAKS]


def _names(text: str) -> list[str]:
    shown = {p.name: f"{place:02}{p.shown}" for place, p in enumerate(PAYLOADS)}
    return [name for name, sign in shown.items() if sign not in text and name not in BREAKS]


def _tool(world: World, name: str, *arguments: str) -> str:
    if not (world.home / "files").exists():
        homes.with_files_to_use(world.home, homes.fit_for_files(PAYLOADS))
    return "".join(world.ask(f"use {name}", "--tools", "all", *arguments))


def _spelled_json(shown: str) -> list[str]:
    """The results are there, one JSON object a line."""
    results = [json.loads(line) for line in shown.splitlines() if '"tool_call_result"' in line]
    return [] if results and "»e" in str(results) else ["no result"]


def _settings(world: World, *command: str) -> str:
    homes.with_settings(world.home, PAYLOADS)
    try:
        return "".join(world.run("config", *command))
    finally:
        (world.home / "config" / "ollm" / "config.toml").unlink()


def _failures(world: World) -> str:
    return "".join(world.ask(f"status 401 {part}")[1] for part in range(3))


def _log(world: World) -> str:
    folder = world.home / "data" / "ollm" / "models"
    folder.rmdir()
    folder.symlink_to(folder)  # which no program can list
    try:
        world.run("models", "list")
    finally:
        folder.unlink()
        folder.mkdir()
    code = (
        "import logging, sys\n"
        "from pathlib import Path\n"
        "from ollm_tui.cli.log import logging_to\n"
        "with logging_to(Path('hostile.log')):\n"
        "    logging.getLogger('ollm_tui').warning('%s', sys.argv[1])\n"
    )
    env = {"PYTHONPATH": environment(world.home)["PYTHONPATH"]}
    subprocess.run([OLLM[0], "-c", code, ALL], env=env, cwd=world.home, check=True)
    return (world.home / "hostile.log").read_text("utf-8")


def _crash_report(world: World) -> str:
    try:
        raise RuntimeError(ALL)
    except RuntimeError as error:
        return write_report(error, world.home / "crashes", str).read_text("utf-8")


def _chats(*arguments: str, missing: Callable[[str], list[str]] = lambda _text: []) -> Exit:
    """Run a command about saved chats in a home that has hostile ones."""

    def give(world: World) -> str:
        home = world.home / "chats"
        if not home.exists():
            homes.with_chats(homes.make_home(home), PAYLOADS)
            (home / "hostile.json").write_text(json.dumps([{"mapping": {ALL: ALL}, "title": ALL}]))
            (home / f"{ARGUMENTS[0].text}.json").write_text(ALL, "utf-8", "replace")
        typed = [one.replace("HOME", str(home)) for one in arguments]
        return "".join(World(home, world.url, world.forks).run("chats", *typed))

    return Exit(give, missing)


def _exported(suffix: str) -> Exit:
    """Export to a file, and read what is in it."""
    written = _chats("export", "last", "--force", "-o", f"HOME/out{suffix}")

    def give(world: World) -> str:
        written.give(world)
        return (world.home / "chats" / f"out{suffix}").read_text("utf-8")

    return Exit(give, _texts if suffix == ".md" else lambda _text: [])


# SQLite would end a title there, so that it is saved as a sign of its own.
def _titles(text: str) -> list[str]:
    return [name for name in _names(text) if name != "nul"]


CHATS: Mapping[str, Exit] = {
    "list": _chats("list", "--limit", "100", missing=_titles),
    "list as JSON": _chats("list", "--limit", "100", "--json"),
    "show": _chats("show", "last", missing=_texts),
    "show as JSON": _chats("show", "last", "--json"),
    "show of an unknown chat": _chats("show", ALL[:200]),
    "search": _chats("search", "everything"),
    "search of hostile texts": _chats("search", "b00*"),
    "search as JSON": _chats("search", "b00*", "--json"),
    "search of hostile words": _chats("search", ALL[:500]),
    "export": _chats("export", "last", missing=_texts),
    "export as JSON": _chats("export", "last", "--format", "json"),
    "export as HTML": _chats("export", "last", "--format", "html"),
    **{f"export to a file {suffix}": _exported(suffix) for suffix in (".md", ".json", ".html")},
    "export to a hostile name": _chats("export", "last", "-o", f"HOME/missing/{ALL[:80]}.md"),
    "import": _chats("import", "HOME/hostile.json"),
    "import of a hostile name": _chats("import", f"HOME/{ARGUMENTS[0].text}.json"),
    "rm": _chats("rm", "last"),
    "rm with yes": _chats("rm", "--yes", "last"),
    "list of deleted chats": _chats("list", "--deleted"),
    "undelete": _chats("undelete", "last"),
    "purge": _chats("purge"),
    "restore": _chats("restore"),
    "rename": _chats("rename", "last", ALL[:200]),
    "tag": _chats("tag", "last", "home"),
    "tag of a hostile name": _chats("tag", "last", ALL[:60]),
    "pin": _chats("pin", "last"),
    "unpin": _chats("unpin", "last"),
    "archive": _chats("archive", "last"),
    "unarchive": _chats("unarchive", "last"),
    "restore of a hostile day": _chats("restore", ALL[:80]),
}
"""What the commands about saved chats print, by the action and what is special."""

EXITS: Mapping[str, Exit] = {
    "answer on standard output": Exit(lambda world: world.ask("say")[0], _texts),
    "answer byte by byte": Exit(lambda world: world.ask("bytewise")[0], _texts),
    "answer as JSON": Exit(lambda world: world.ask("say", "--json")[0]),
    "thinking as JSON": Exit(lambda world: world.ask("think", "--json")[0]),
    "call as JSON": Exit(lambda world: "".join(world.ask("call", "--json"))),
    "call as text": Exit(lambda world: "".join(world.ask("call"))),
    "unknown tool": Exit(lambda world: "".join(world.ask("call", "--tools", "all"))),
    "tool that is refused": Exit(
        lambda world: "".join(world.ask("use calculate", "--tools", "all"))
    ),
    "file that a tool reads": Exit(lambda world: _tool(world, "read_file")),
    "names that a tool lists": Exit(lambda world: _tool(world, "list_directory", "--json")),
    "lines that a tool finds": Exit(lambda world: _tool(world, "search_files")),
    "tool calls as JSON": Exit(
        lambda world: "".join(world.ask("call", "--tools", "all", "--json"))
    ),
    "tool results as JSON": Exit(lambda world: _tool(world, "read_file", "--json"), _spelled_json),
    "chat gone on with": Exit(lambda world: "".join(world.ask("say", "-c"))),
    "failure as JSON": Exit(lambda world: "".join(world.ask("status 401 0", "--json"))),
    "failures on standard error": Exit(_failures, _lines),
    "web page": Exit(lambda world: "".join(world.ask("html"))),
    "reason": Exit(lambda world: "".join(world.ask("reason"))),
    "redirect": Exit(lambda world: "".join(world.ask("redirect"))),
    "list of models": Exit(lambda world: world.run("models", "list")[0], _names),
    "list of models as JSON": Exit(lambda world: world.run("models", "list", "--json")[0]),
    "wrong settings": Exit(lambda world: _settings(world, "check"), _texts),
    "settings": Exit(lambda world: _settings(world, "show")),
    "settings as JSON": Exit(lambda world: _settings(world, "show", "--json")),
    "settings file": Exit(lambda world: world.run("config", "path", "--config", ALL)[0]),
    "missing settings file": Exit(lambda world: "".join(world.run("--config", ALL, "-p", "x"))),
    "unknown command": Exit(lambda world: "".join(world.run(ALL))),
    "unknown option": Exit(lambda world: "".join(world.run(f"--{ALL}"))),
    "model on the command line": Exit(lambda world: world.run("--model", ALL, "-p", "x")[1]),
    "provider": Exit(lambda world: world.run("--provider", ALL, "-p", "x")[1]),
    "address": Exit(lambda world: world.run("--host", ALL, "-p", "x")[1]),
    "key": Exit(lambda world: "".join(world.run("--host", world.url, "--api-key", ALL, "-p", "x"))),
    "wheel": Exit(lambda world: "".join(world.run("models", "starter", "--wheel", ALL[:80]))),
    "piped prompt": Exit(lambda world: "".join(world.run("-p", "-", stdin=ALL.encode()))),
    "log": Exit(_log, _arguments),
    "crash report": Exit(_crash_report, _arguments),
    **{f"chats {name}": way_out for name, way_out in CHATS.items()},
}


@pytest.mark.parametrize("name", sampled(EXITS, 6))
def test_what_comes_out_is_plain_text(name: str, world: World) -> None:
    way_out = EXITS[name]
    text = way_out.give(world)
    assert text.strip()
    assert controls(text) == set()
    assert way_out.missing(text) == []


def test_every_command_about_chats_has_an_exit() -> None:
    chats = _commands_of(_commands_of(build_parser())["chats"])
    assert {name.partition(" ")[0] for name in CHATS} == chats.keys()


def _commands_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    (commands,) = (one.choices for one in parser._actions if isinstance(one.choices, dict))
    return commands


def test_thinking_beside_an_answer_only_dims(world: World) -> None:
    env = environment(world.home) | {"OLLAMA_HOST": world.url}
    argv = [*OLLM, "--model", f"local://{MODEL}", "-p", "think"]
    with PtySession(argv, env, world.home, (120, 150), world.forks) as session:
        assert session.exit_status() == 0
        assert grammar(session.raw) <= {"SGR 2", "SGR 0", "C0 0d", "C0 0a"}
        assert unseen(PAYLOADS, session.screen_text()) == []


def test_lines_for_a_screen_reader_are_plain_text(world: World) -> None:
    env = environment(world.home) | {"OLLAMA_HOST": world.url}
    argv = [*OLLM, "--screen-reader", "--model", f"local://{MODEL}"]
    with PtySession(argv, env, world.home, (120, 150), world.forks) as session:
        prompted(session)
        before = 0
        said: dict[str, str] = {}
        for prompt in ("say", "think", "call", "fail 0", "status 401 0", "html", "reason"):
            prompted(session, typed=f"{prompt}\r")
            said[prompt] = OF_THE_EDITOR.sub(b"", session.raw[before:]).decode()
            before = len(session.raw)
        prompted(session, prompt=END_OF_A_LIST, typed="/chats\r")
        prompted(session, typed="\r")
        raw = OF_THE_EDITOR.sub(b"", session.raw).decode()
    assert controls(raw.replace("\r", "")) == set()
    # Words that are read aloud have no form feeds, and Markdown has another sign for NUL.
    assert {*unseen(PAYLOADS, said["say"] + said["think"])} <= BREAKS | {"nul"}


def test_the_clipboard_is_written_by_a_copy_command_alone_and_with_plain_text(
    world: World,
) -> None:
    env = environment(world.home) | {"OLLAMA_HOST": world.url}
    argv = [*OLLM, "--model", f"local://{MODEL}"]
    with PtySession(argv, env, world.home, (120, 150), world.forks) as session:
        session.wait_for("Chatting with")
        ask(session, "say")
        session.wait_for(f"»e{len(PAYLOADS) - 1:02}", 20)
        session.wait_for("● ready")
        assert copied(session.raw) == []
        ask(session, "/copy")
        session.wait_for(lambda: bool(copied(session.raw)))
        [text] = copied(session.raw)
    assert controls(text) == set()
    assert unseen(PAYLOADS, text) == []


def copied(raw: bytes) -> list[str]:
    """Give the texts that the program put on the clipboard."""
    strings = [token.raw for token in tokens(raw) if token.kind == "string"]
    found = [text[2:].rstrip("\a\x1b\\").split(";") for text in strings if text[2:4] == "52"]
    return [base64.b64decode(parts[2]).decode() for parts in found]

"""`ollm chats export`, `import` and `rm`: the real program on a store of its own."""

import json
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Ollm
from tests.exchange import samples


def imported(ollm: Ollm, folder: Path) -> str:
    """Import one chat and give its id."""
    path = samples.written(folder / "conversations.json", [samples.chatgpt()])
    assert ollm("chats", "import", str(path)).returncode == 0
    (one,) = json.loads(ollm("chats", "list", "--json").stdout)
    return str(one["id"])


@pytest.mark.parametrize("action", ["export", "rm"])
def test_a_home_without_chats_says_so(action: str, ollm: Ollm) -> None:
    done = ollm("chats", action, "last")
    assert (done.returncode, done.stderr) == (1, "ollm: No saved chats yet.\n")


def test_chats_are_imported_once_and_listed(ollm: Ollm, tmp_path: Path) -> None:
    files = [str(path) for path in samples.all_samples(tmp_path)]
    done = ollm("chats", "import", *files)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "ollm: Imported 9 chats (34 messages).\n"
    again = ollm("chats", "import", *files)
    assert again.stderr == ("ollm: Imported 0 chats (0 messages). 9 chats were there already.\n")
    listed = json.loads(ollm("chats", "list", "--json").stdout)
    assert len(listed) == 9
    (numbers,) = (one for one in listed if one["title"] == "Numbers")
    assert (numbers["model"], numbers["messages"]) == ("qwen3", 2)
    assert ollm("chats", "search", "purr", "model:llama3").stdout


def test_what_cannot_be_imported_is_said_and_the_rest_is_there(ollm: Ollm, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("hello")
    good = samples.written(tmp_path / "good.json", [samples.chatgpt(), {"title": "Odd\x1b"}])
    done = ollm("chats", "import", "bad.json", str(good), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["chats"] == 1
    assert done.stderr.splitlines() == [
        "ollm: bad.json: It is not JSON with chats.",
        f"ollm: {good}: Chat 2 (Odd⟦U+001B⟧): It is of no program that ollm knows.",
    ]


def test_a_chat_is_shown_and_written_in_each_format(ollm: Ollm, tmp_path: Path) -> None:
    chat_id = imported(ollm, tmp_path)
    assert "A tiger." in ollm("chats", "show", chat_id[-8:]).stdout
    text = ollm("chats", "export", chat_id[-8:]).stdout
    assert text.startswith("# A branch\n")
    assert ("A tiger." in text, "A cat." in text) == (True, False)
    assert "A cat." in ollm("chats", "export", "last", "--tree").stdout
    data = json.loads(ollm("chats", "export", "last", "--format", "json").stdout)
    assert (data["format"], len(data["messages"])) == ("ollm-chat", 6)
    assert (
        len(
            json.loads(ollm("chats", "export", "last", "--format", "json", "--branch").stdout)[
                "messages"
            ]
        )
        == 5
    )
    done = ollm("chats", "export", "last", "-o", "page.html")
    assert done.stderr.startswith("ollm: Saved page.html (")
    page = tmp_path / "page.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_a_file_is_replaced_only_with_force(ollm: Ollm, tmp_path: Path) -> None:
    imported(ollm, tmp_path)
    (tmp_path / "a.md").write_text("mine")
    done = ollm("chats", "export", "last", "-o", "a.md")
    assert (done.returncode, done.stderr) == (
        2, "ollm: a.md exists already. Use --force to replace it.\n",
    )  # fmt: skip
    assert (tmp_path / "a.md").read_text() == "mine"
    assert ollm("chats", "export", "last", "-o", "a.md", "--force").returncode == 0
    assert (tmp_path / "a.md").read_text().startswith("# A branch")


def test_an_export_goes_to_another_home(ollm: Ollm, tmp_path: Path) -> None:
    imported(ollm, tmp_path)
    first = ollm("chats", "export", "last", "--format", "json").stdout
    (tmp_path / "own.json").write_text(first)
    assert ollm("chats", "rm", "last", "--yes").stderr.startswith("ollm: Deleted 1 chat.")
    assert ollm("chats", "import", "own.json").returncode == 0
    assert ollm("chats", "export", "last", "--format", "json").stdout == first


def test_deleting_asks_first_and_needs_a_chat(ollm: Ollm, tmp_path: Path) -> None:
    imported(ollm, tmp_path)
    assert ollm("chats", "rm", "last").returncode == 3
    done = ollm("chats", "rm", "nothing", "--yes")
    assert (done.returncode, done.stderr) == (
        1, "ollm: There is no such chat: nothing. `ollm chats list` shows the ids.\n",
    )  # fmt: skip
    assert len(ollm("chats", "list").stdout.splitlines()) == 2

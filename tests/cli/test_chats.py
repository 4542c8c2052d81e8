"""`ollm chats`: search in saved chats, list them and print one."""

import json
from datetime import date
from pathlib import Path

import anyio
import pytest

from ollm_tui.cli import main
from ollm_tui.config.paths import default_paths
from ollm_tui.store.conversations import FILE_NAME, open_store
from ollm_tui.store.copies.files import copies_folder, make_copy
from ollm_tui.store.search.index_file import IndexPlace
from tests.cli.conftest import Run
from tests.store.rig import save_chat
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Server


@pytest.fixture
def chats(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["chats", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def saved(own_home: Path) -> str:
    """Return the id of a saved chat."""

    async def save() -> str:
        async with open_store(default_paths().data_dir / FILE_NAME) as store:
            return await save_chat(store, "What is crème brûlée?", "And\x1b[31m cheese?")

    return anyio.run(save)


def test_search_prints_the_messages_that_match(chats: Run, saved: str) -> None:
    code, out, err = chats("search", "creme", "role:user")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first.endswith(f"  user  What is crème brûlée?  ({saved})")
    assert second == "    What is crème brûlée?"


def test_search_gives_json_lines_with_the_places_of_the_matches(chats: Run, saved: str) -> None:
    code, out, _ = chats("search", "creme brulee", "--json", "--limit", "1")
    (line,) = map(json.loads, out.splitlines())
    assert code == 0
    assert line["type"] == "match"
    assert line["chat"] == saved
    assert line["role"] == "assistant"
    (mark,) = line["marks"]
    assert line["text"][slice(*mark)] == "crème brûlée"


def test_words_in_quotation_marks_are_searched_in_their_order(chats: Run, saved: str) -> None:
    assert chats("search", "brulee creme")[0] == 1
    assert chats("search", "brulee", "creme")[0] == 0


@pytest.mark.usefixtures("saved")
def test_what_a_model_wrote_does_not_reach_the_terminal_as_it_is(chats: Run) -> None:
    _, out, _ = chats("search", "cheese")
    assert "\x1b" not in out
    assert "␛[31m cheese" in out


@pytest.mark.usefixtures("saved")
def test_no_match_is_said_and_exits_with_1(chats: Run) -> None:
    assert chats("search", "nowhere") == (1, "", "ollm: No message matches.\n")


@pytest.mark.usefixtures("own_home")
def test_without_chats_nothing_is_made(chats: Run) -> None:
    assert chats("search", "words")[0] == 1
    assert chats("list") == (1, "", "ollm: No saved chats yet.\n")
    assert chats("show", "words") == (1, "", "ollm: No saved chats yet.\n")
    assert not (default_paths().data_dir / FILE_NAME).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search"], "There is nothing to search for."),
        (["search", "after:soon"], "after:soon is not a date. Write it as after:2026-03-31."),
        (["search", "word", "--limit", "0"], "--limit takes a whole number from 1."),
    ],
)
@pytest.mark.usefixtures("own_home")
def test_a_search_that_makes_no_sense_is_wrong_usage(
    chats: Run, arguments: list[str], message: str
) -> None:
    code, _, err = chats(*arguments)
    assert code == 2
    assert message in err


def test_list_and_show(chats: Run, saved: str) -> None:
    code, out, _ = chats("list")
    assert code == 0
    assert out.splitlines()[1].startswith(saved)
    assert json.loads(chats("list", "--json")[1])[0]["messages"] == 4
    code, out, _ = chats("show", saved)
    assert code == 0
    assert out.startswith("user:\nWhat is crème brûlée?\n\nassistant:\nAbout What is crème brûlée?")
    lines = [json.loads(line) for line in chats("show", saved, "--json")[1].splitlines()]
    assert [line["role"] for line in lines] == ["user", "assistant"] * 2


@pytest.mark.usefixtures("saved")
def test_a_chat_that_does_not_exist_is_an_error(chats: Run) -> None:
    code, _, err = chats("show", "none")
    assert code == 1
    assert "There is no such chat" in err


@pytest.fixture
def two(own_home: Path) -> tuple[str, str]:
    """Return the ids of two saved chats, the older one first."""

    async def save() -> tuple[str, str]:
        async with open_store(default_paths().data_dir / FILE_NAME) as store:
            return await save_chat(store, "Apples", "more"), await save_chat(store, "Bananas")

    return anyio.run(save)


def listed(chats: Run, *arguments: str) -> list[str]:
    return [chat["title"] for chat in json.loads(chats("list", "--json", *arguments)[1])]


def test_chats_are_marked_and_listed_by_their_marks(chats: Run, two: tuple[str, str]) -> None:
    first, second = two
    assert chats("tag", first, "Fruit", "#red")[:2] == (0, "#fruit #red\n")
    assert chats("tag", second, "fruit")[0] == 0
    assert chats("pin", first)[2] == "ollm: Pinned 1 chat.\n"
    assert listed(chats) == ["Apples", "Bananas"]
    assert listed(chats, "--tag", "red") == ["Apples"]
    assert listed(chats, "tag:fruit", "ban") == ["Bananas"]
    assert listed(chats, "--pinned") == ["Apples"]
    assert chats("unpin", first)[0] == 0
    assert listed(chats) == ["Bananas", "Apples"]
    assert listed(chats, "--sort", "title") == ["Apples", "Bananas"]
    assert listed(chats, "--sort", "messages", "--reverse") == ["Bananas", "Apples"]
    assert chats("archive", first, second)[2] == "ollm: Archived 2 chats.\n"
    assert chats("list")[0] == 1
    assert sorted(listed(chats, "--archived")) == ["Apples", "Bananas"]
    assert chats("unarchive", second)[0] == 0
    assert listed(chats) == ["Bananas"]
    assert chats("tag", first, "--remove", "RED")[1] == "#fruit\n"
    line = next(line for line in chats("list", "--archived")[1].splitlines() if first in line)
    assert line.endswith("Apples  #fruit")


def test_a_chat_is_renamed(chats: Run, two: tuple[str, str]) -> None:
    assert chats("rename", two[0], "All", "my\x1b[31m fruit")[0] == 0
    assert listed(chats, "my") == ["All my\x1b[31m fruit"]
    assert "\x1b" not in chats("list")[1]
    assert chats("rename", two[0], " ")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("list", "after:never"), "after:never is not a date."),
        (("list", "--tag", "a b"), "'a b' is not a valid tag."),
        (("tag", "last", "!"), "'!' is not a valid tag."),
        (("pin", "none"), "There is no such chat"),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused(
    chats: Run, two: tuple[str, str], arguments: tuple[str, ...], sentence: str
) -> None:
    code, _, err = chats(*arguments)
    assert code in {1, 2}
    assert sentence in err
    assert listed(chats, "--sort", "title") == ["Apples", "Bananas"]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--chat", "none"), "There is no such chat: none."),
        (("--chat", "last", "-c"), "leave one out"),
        (("--private", "-c"), "--private keeps nothing"),
        (("--private", "--chat", "last"), "--private keeps nothing"),
    ],
)
def test_a_chat_that_cannot_be_continued_is_refused_before_anything_opens(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    assert main([*arguments, "-p", "hi"]) in {1, 2}
    assert sentence in capsys.readouterr().err


@pytest.fixture
def server() -> OllamaServer:
    server = OllamaServer()
    server.models["nomic:latest"] = ["embedding"]
    return server


def test_similar_messages_follow_those_that_match(chats: Run, saved: str, served: Server) -> None:
    arguments = ("search", "--similar", "cheese?", "--host", served.url)
    code, out, err = chats(*arguments, "--json")
    assert (code, err) == (0, "")
    listed = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in listed] == ["match"] * 2 + ["similar"] * 2
    assert len({line["message"] for line in listed}) == 4
    assert 0 < listed[-1]["similarity"] <= listed[-2]["similarity"] <= 1
    embedded = [one for one in served.received if one.path == "/api/embed"]
    assert chats(*arguments)[1].count("  similar ") == 2
    again = [one for one in served.received if one.path == "/api/embed"]
    assert len(again) == len(embedded) + 1  # only what is searched: messages keep their vectors


def test_similar_messages_need_a_model_of_this_machine(
    chats: Run, saved: str, served: Server, server: OllamaServer
) -> None:
    server.models["other:latest"] = ["embedding"]
    code, out, err = chats("search", "--similar", "cheese?", "--host", served.url)
    assert (code, out) == (1, "")
    assert "There are 2 embedding models" in err
    assert "or with `embedding` below [defaults] in the settings." in err


def test_chats_are_not_sent_to_an_internet_service_for_the_search(
    chats: Run, saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    path = tmp_path / "settings.toml"
    path.write_text('[defaults]\nembedding = "openai://text-embedding-3-small"\n')
    code, out, err = chats("search", "--similar", "cheese?", "--config", str(path))
    assert (code, out) == (1, "")
    assert "is an internet service, to which no chats are sent for the search." in err


def test_restore_lists_the_copies_and_puts_one_back(chats: Run, saved: str) -> None:
    path = default_paths().data_dir / FILE_NAME
    assert "No copies yet." in chats("restore")[2]
    make_copy(path, date(2026, 11, 24), lambda: False)
    _, out, err = chats("restore")
    assert "2026-11-24" in out
    assert "ollm chats restore DATE" in err
    assert chats("rm", saved, "--yes")[0] == 0
    assert "There is no terminal for confirmation." in chats("restore", "2026-11-24")[2]
    code, _, err = chats("restore", "2026-11-24", "--yes")
    assert code == 0
    assert "Restored 1 chat with 4 messages of 2026-11-24." in err
    assert "chats-replaced-" in err
    assert chats("show", saved)[0] == 0


def test_purge_reaches_the_copies_and_names_one_that_it_cannot_change(
    chats: Run, saved: str
) -> None:
    path = default_paths().data_dir / FILE_NAME
    for day in (23, 24):
        make_copy(path, date(2026, 11, day), lambda: False)
    good, damaged = (copies_folder(path) / f"chats-2026-11-{day}.db" for day in (23, 24))
    damaged.write_bytes(damaged.read_bytes()[:8192])
    assert chats("search", "cheese")[0] == 0
    index = IndexPlace(path).index
    assert chats("rm", saved, "--yes")[0] == 0
    assert b"cheese" in good.read_bytes()
    assert b"cheese" in index.read_bytes()
    code, _, err = chats("purge", "--yes")
    assert code == 1
    assert b"cheese" not in good.read_bytes()
    assert b"cheese" not in index.read_bytes()
    assert b"cheese" not in path.read_bytes()
    assert "Removed 4 messages permanently." in err
    assert "chats-2026-11-24.db may still have them: it is damaged." in err
    assert f"To remove the whole copy: rm {damaged}" in err
    assert chats("purge", "--yes")[2] == "ollm: Nothing to remove.\n"


@pytest.mark.parametrize(
    ("typed", "sentence"), [("monday", "not a date"), ("2026-11-23", "no copy of 2026-11-23")]
)
def test_restore_refuses_another_day(chats: Run, saved: str, typed: str, sentence: str) -> None:
    code, _, err = chats("restore", typed)
    assert code == 2
    assert sentence in err

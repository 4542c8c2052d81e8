"""`ollm chats`: search in saved chats, list them and print one."""

import json
from pathlib import Path

import anyio
import pytest

from ollm_tui.cli import main
from ollm_tui.config.paths import default_paths
from ollm_tui.store.conversations import FILE_NAME, open_store
from tests.cli.conftest import Run
from tests.store.rig import save_chat


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

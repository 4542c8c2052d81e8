"""`ollm -p -c` makes room in the chat by itself, where the settings say so."""

import json
from functools import partial
from pathlib import Path

import anyio

from tests.cli.conftest import Ollm
from tests.cli.fake_ollama import DONE, FakeOllama, text_line
from tests.cli.test_tools import save_a_chat


def test_a_chat_that_is_continued_makes_room_with_one_line(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(
        '[chat]\nmake_room = "summarise"\n[models."local://tiny:1b"]\ncontext = 500\n'
    )
    asked = ["--host", fake.url, "--model", "local://tiny:1b", "--config", str(settings), "-c"]
    anyio.run(partial(save_a_chat, fake.url))
    fake.lines = [text_line("They said much. " * 30), DONE]
    for _turn in range(2):
        assert ollm(*asked, "-p", "What else?" + " And?" * 60).returncode == 0
    fake.lines = [text_line("They greeted."), DONE]
    fake.requests.clear()
    done = ollm(*asked, "-p", "And now?" + " Well?" * 60)
    assert done.stdout == "They greeted.\n"
    assert " earlier messages were summarised to make room." in done.stderr
    *summaries, prompt = fake.requests
    assert summaries[-1]["messages"][0]["content"].startswith("You summarise")
    assert prompt["messages"][0]["content"].startswith("Summary of the conversation so far:")
    assert "What else?" in json.dumps(summaries)

    fake.requests.clear()
    done = ollm(*asked, "--json", "-p", "hm")
    assert '"compacted"' not in done.stdout, "there is room now"

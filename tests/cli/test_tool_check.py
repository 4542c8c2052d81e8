"""`ollm models tool-check`: what is printed and kept, and what the chats do with it."""

import json
from pathlib import Path

import pytest

from ollm_tui.cli import main
from tests.chat.test_tool_check import MODELS
from tests.support.engine import needs_engine
from tests.support.tiny_gguf import write_scripted

pytestmark = [pytest.mark.engine, needs_engine]


@pytest.fixture
def as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model that calls tools only where they are described in text."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "files").mkdir()
    template, replies, _way = MODELS["as-text"]
    write_scripted(tmp_path / "files" / "able.gguf", template, after=replies)
    settings = f'[embedded]\nthreads = 1\nmodel_folders = ["{tmp_path / "files"}"]\n'
    (tmp_path / "config" / "ollm").mkdir(parents=True)
    (tmp_path / "config" / "ollm" / "config.toml").write_text(settings)
    return "embedded://able"


def test_the_scores_are_printed_kept_and_used(
    as_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "tool-check", as_text, "--runs", "1"]) == 0
    out, err = capsys.readouterr()
    assert "calls as text  5 of 5" in out
    assert "built-in://able works best with calls as text: its chats use them." in out
    assert "native calls, one call: called no tool" in err
    main(["models", "show", as_text])
    assert "calls as text 5 of 5; chats use calls as text; checked on" in capsys.readouterr().out
    main(["models", "list", "--json"])
    [listed] = json.loads(capsys.readouterr().out)
    assert listed["details"]["tool_check"]["scores"]["react"]["passed"] == 5
    # the tools of a chat are described to it in text now
    question = "Tell me what train it is"
    assert main(["-p", question, "--tools", "current_time", "--json", "--model", as_text]) == 0
    answer, _err = capsys.readouterr()
    assert '"find_train"' in answer
    assert "not offered" in answer


def test_a_result_that_cannot_be_kept_is_shown_all_the_same(
    as_text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "no folder"))
    assert main(["models", "tool-check", as_text, "--runs", "2"]) == 1
    out, err = capsys.readouterr()
    assert "calls as text  10 of 10" in out
    assert err.count("native calls, one call: called no tool") == 1, "of two attempts"
    assert "its chats use them" not in out
    assert "The result cannot be kept: a part of its path is not a folder." in err


def test_a_wrong_number_of_runs_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "tool-check", "any", "--runs", "0"]) == 2
    assert "--runs takes 1 to 100" in capsys.readouterr().err

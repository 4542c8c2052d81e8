"""Remembered choices."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.runtime.choices import RECENT_LIMIT, Choices, load_choices, save_choices


def test_choices_survive_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "state" / "choices.json"
    save_choices(file, Choices().with_model("local://a").with_model("local://b"))
    assert load_choices(file).recent_models == ("local://b", "local://a")
    assert load_choices(file).last_model == "local://b"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["choices.json"]


@given(models=st.lists(st.sampled_from("abcdefghijklmnopq")))
def test_recent_models_hold_each_once_newest_first(models: list[str]) -> None:
    choices = Choices()
    for model in models:
        choices = choices.with_model(model)
    newest_first = list(dict.fromkeys(reversed(models)))[:RECENT_LIMIT]
    assert list(choices.recent_models) == newest_first


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"recent_models": 3}', '{"recent_models": [1, null, ""]}']
)
def test_a_damaged_file_counts_as_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "choices.json"
    file.write_text(text)
    assert load_choices(file) == Choices()


def test_a_missing_file_counts_as_none(tmp_path: Path) -> None:
    assert load_choices(tmp_path / "none.json") == Choices()


def test_how_a_model_takes_tools_survives_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "choices.json"
    choices = Choices().with_model("local://a").with_tool_mode("local://a", "react")
    save_choices(file, choices)
    assert load_choices(file) == choices
    assert dict(load_choices(file).with_tool_mode("local://a", "native").tool_modes) == {
        "local://a": "native"
    }

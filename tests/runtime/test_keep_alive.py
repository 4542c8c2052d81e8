"""How long a model is kept: all ways to say it accept, refuse and normalize the same."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ollm_tui.commands.host import OptionRefused
from ollm_tui.commands.options import change_option
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.ollama.to_wire import chat_body
from ollm_tui.runtime.manager import read_keep_alive
from ollm_tui.store.options_json import settings_of

ACCEPTED = {
    "10m": ("10m", 600),
    " 1H30m ": ("1h30m", 5400),
    "1.5h": ("1.5h", 5400),
    "1h0.5m250ms": ("1h0.5m250ms", 3630.25),
    "5us": ("5us", 5e-6),
    "20ns": ("20ns", 2e-8),
    "90": (90, 90),
    "300.0": (300, 300),
    "0.5": (0.5, 0.5),
    "8999999999": (8_999_999_999, 8_999_999_999),
    "-1": (-1, None),
    "-0.5": (-1, None),
    "-5m": (-1, None),
    "-9999999999h": (-1, None),
    "forever": (-1, None),
    " Forever": (-1, None),
    "for ever": (-1, None),
}
"""What is typed, what is sent to Ollama, and how many seconds the built-in engine keeps a model."""
REFUSED = [
    " ", "soon", "10 minutes", "1h 30m", "1d", "1e9", "٣m", "10m\n5", "m", "-", "--1", "+5", ".5",
    "5.", "1_0", "nan", "inf", "-inf", "infinity", "true", "9000000001", "9999999999h", "9" * 5000,
]  # fmt: skip


def in_dialog_and_command_line(text: str, _folder: Path) -> object:
    return read_keep_alive(text)


def in_chat(text: str, _folder: Path) -> object:
    return change_option(GenerationOptions(), "keep_alive", text)[0].keep_alive


def in_settings(text: str, folder: Path) -> object:
    paths = AppPaths(folder, folder, folder, folder)
    paths.config_file.write_text(f"[options]\nkeep_alive = {json.dumps(text)}\n")
    paths.config_file.chmod(0o600)
    loaded = load_config(paths, {})
    if loaded.problems:
        raise ValueError(*loaded.problems)
    return loaded.config.options.to_options().keep_alive


def in_environment(text: str, folder: Path) -> object:
    paths = AppPaths(folder, folder, folder, folder)
    loaded = load_config(paths, {"OLLM_OPTIONS__KEEP_ALIVE": text})
    if loaded.problems:
        raise ValueError(*loaded.problems)
    return loaded.config.options.to_options().keep_alive


def in_program(text: str, _folder: Path) -> object:
    return GenerationOptions(keep_alive=text).keep_alive


def in_saved_chat(text: str, _folder: Path) -> object:
    options = json.dumps({"generation": {"keep_alive": text, "seed": 7}})
    saved = settings_of(None, None, options).options
    assert saved.seed == 7, "what else was saved stays"
    if saved.keep_alive is None:
        raise ValueError("dropped")
    return saved.keep_alive


WAYS: Mapping[str, Callable[[str, Path], object]] = {
    way.__name__: way
    for way in (
        in_dialog_and_command_line,
        in_chat,
        in_settings,
        in_environment,
        in_program,
        in_saved_chat,
    )
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("typed", ACCEPTED)
def test_a_time_is_the_same_wherever_it_is_given(way: str, typed: str, tmp_path: Path) -> None:
    assert WAYS[way](typed, tmp_path) == ACCEPTED[typed][0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("typed", REFUSED)
def test_what_is_no_time_is_refused_everywhere(way: str, typed: str, tmp_path: Path) -> None:
    with pytest.raises((AIError, OptionRefused, ValueError)) as refused:
        WAYS[way](typed, tmp_path)
    words = str(refused.value).replace(str(tmp_path), "")
    assert len(words) < 200
    assert "\n" not in words


@pytest.mark.parametrize("typed", ACCEPTED)
def test_engines_get_a_time_that_they_understand(typed: str) -> None:
    sent, seconds = ACCEPTED[typed]
    options = GenerationOptions(keep_alive=typed)
    assert (
        chat_body(Request(model="m", messages=[Message("user", "hi")], options=options))[
            "keep_alive"
        ]
        == sent
    )
    usual = EmbeddedSettings(idle_unload_s=1)
    for keep_alive in (typed, options.keep_alive):
        assert usual.idle_unload_after(keep_alive) == (
            None if seconds is None else pytest.approx(seconds)
        )


@pytest.mark.parametrize("typed", [*REFUSED, True, float("nan"), float("inf"), 10**400])
def test_the_engine_refuses_what_is_no_time(typed: str | float) -> None:
    with pytest.raises(AIError, match=r"^keep_alive must be .*\.$"):
        EmbeddedSettings().idle_unload_after(typed)


@pytest.mark.parametrize("typed", ["", "soon", "10 minutes"])
def test_a_refusal_says_what_is_accepted(typed: str) -> None:
    with pytest.raises(AIError, match="not a valid duration") as caught:
        read_keep_alive(typed)
    assert caught.value.hint == 'It must be a number of seconds, text like "5m", or "forever".'


@pytest.mark.parametrize("typed", ["0", "0s", "-0", "-0s", "0h0m"])
def test_no_time_at_all_is_no_load(typed: str, tmp_path: Path) -> None:
    with pytest.raises(AIError, match="would unload"):
        read_keep_alive(typed)
    for name in ("in_chat", "in_settings", "in_program", "in_saved_chat"):
        WAYS[name](typed, tmp_path)
    assert EmbeddedSettings().idle_unload_after(typed) == 0

"""Broken files: the app starts, says file and line and key, and never touches the file."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ollm_tui.config.early import early_settings
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.schema import AppConfig
from ollm_tui.sections.reading import read_section
from ollm_tui.sections.section import MistakesError
from tests.config.conftest import Load

SECRET = "sk-canary-0123456789"

# name: (text, line that is named, what the sentence must hold)
BROKEN: dict[str, tuple[str | bytes, int | None, str]] = {
    "unknown key": ('them = "x"', 1, "`them`. Did you mean `theme`?"),
    "unknown key in a table": ("[ui]\n\nmose = true", 3, "`ui.mose`. Did you mean `mouse`?"),
    "unknown table": ("[colours]\na = 1\nb = 2", 2, "Unknown setting `colours`. Available"),
    "unknown provider key": (
        '[providers.a]\nbase_url = "http://a"\napikey = "' + SECRET + '"',
        3,
        "Did you mean `api_key`?",
    ),
    "unknown embedded key": (
        "[embedded]\nthread = 1",
        2,
        "`embedded.thread`. Did you mean `threads`",
    ),
    "number for text": ("theme = 5", 1, "`theme` must be text"),
    "date for text": ("theme = 2020-01-01", 1, "`theme` must be text"),
    "empty text": ('theme = ""', 1, "`theme` must be some text"),
    "text for a switch": ('[ui]\nmouse = "maybe"', 2, "true or false"),
    "switch for a number": ("[options]\ntop_k = true", 2, "`options.top_k` must be a number"),
    "fraction for a whole number": ("[options]\ntop_k = 1.5", 2, "a whole number"),
    "text for a number": ('[options]\ntemperature = "' + SECRET + '"', 2, "a number"),
    "not a number": ("[options]\ntemperature = nan", 2, "finite"),
    "infinite": ("[embedded]\nidle_unload_s = inf", 2, "finite"),
    "too large": ("[options]\ntop_p = 3", 2, "at most 1"),
    "too small": ("[embedded]\ncontext = 1", 2, "at least 256"),
    "text for a list": ('[options]\nstop = "x"', 2, "a list"),
    "value for a table": ("ui = 5", 1, "`ui` must be a table"),
    "value for all providers": ("providers = 5", 1, "`providers` must be a table"),
    "value for a provider": ("[providers]\na = 5", 2, "`providers.a` must be a table"),
    "unknown kind": ('[providers.a]\nkind = "olama"', 2, "must be one of 'ollama'"),
    "no address at all": ('[providers.a]\nbase_url = "http://a b"', 2, "cannot have spaces"),
    "reserved body key": ('[options.extra_body]\nmodel = "x"', 2, "may not set model"),
    "reserved body key of a provider": (
        '[providers.vllm.extra_body]\nmodel = "x"',
        2,
        "may not set model",
    ),
    "body key of Ollama": (
        '[providers.a]\nkind = "ollama"\nextra_body = { x = 1 }',
        3,
        "servers of other kinds",
    ),
    "keys that are numbers": ("[keymap]\nsend = 1", 2, "`keymap.send` must be text"),
    "alias to nowhere": ('[aliases]\na = "lcal"', 2, "Did you mean `local`?"),
    "provider that is not there": ('provider = "lmstudo"', 1, "Did you mean `lmstudio`?"),
    "name that is no name": ('[providers."a b"]\nbase_url = "http://a"', 2, "letters, digits"),
    "variable outside a provider": ('model = "${NOPE}"', 1, "${NOPE} is not set"),
    "not TOML": ("[ui\nmouse = 1", 1, "not valid TOML"),
    "unclosed text": ('theme = "' + SECRET, 1, "not valid TOML"),
    "key twice": ('theme = "a"\ntheme = "b"', 2, "not valid TOML"),
    "not UTF-8": (b'theme = "a"\nmodel = "\xff"', 2, "not UTF-8"),
    "huge number": (b"[options]\nseed = " + b"9" * 5000, None, "too large, or is nested too deep"),
    "deep nesting": (b"model = " + b"[" * 100_000, None, "too large, or is nested too deep"),
    "huge file": (b"#" * 1_000_001, None, "over 1000 kB"),
    "lone surrogate": ('theme = "\\ud800"', 1, "not valid TOML"),
    "NUL": (b'theme = "\x00"', 1, "not valid TOML"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_line_and_key_and_left_alone(
    name: str, load: Load, paths: AppPaths
) -> None:
    text, line, sentence = BROKEN[name]
    begin = time.monotonic()
    loaded = load(text)
    assert time.monotonic() - begin < 1
    assert loaded.problems, "nothing was said"
    problem = loaded.problems[0]
    assert sentence in str(problem)
    assert problem.origin.name == str(paths.config_file)
    assert problem.origin.line == line
    assert "\n" not in str(problem)
    assert SECRET not in "".join(map(str, loaded.all_problems)) + repr(loaded)
    assert loaded.config.theme == "dusk"
    assert loaded.config.providers["local"].problem is None
    assert paths.config_file.read_bytes() == (text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize("name", BROKEN)
def test_the_first_frame_comes_whatever_the_file_holds(
    name: str, paths: AppPaths, write: Callable[[str | bytes], Path]
) -> None:
    write(BROKEN[name][0])
    assert isinstance(early_settings(paths, {}).theme, str)


def test_every_mistake_is_reported_and_everything_else_is_used(load: Load) -> None:
    loaded = load(
        'them = "x"\nmodel = "local://m"\n[ui]\nmouse = "maybe"\nanimations = false\n'
        "[options]\ntop_p = 9\nseed = 7\n"
    )
    assert [problem.key for problem in loaded.problems] == ["them", "ui.mouse", "options.top_p"]
    assert loaded.config.model == "local://m"
    assert not loaded.config.ui.animations
    assert loaded.config.options.to_options().seed == 7


def test_the_value_below_a_bad_one_counts(load: Load) -> None:
    loaded = load("[options]\nseed = 7", {"OLLM_OPTIONS__SEED": "seven"})
    assert loaded.config.options.seed == 7
    assert [str(p.origin) for p in loaded.problems] == ["OLLM_OPTIONS__SEED"]


def test_a_file_that_begins_with_a_byte_order_mark_and_has_windows_line_ends_is_read(
    load: Load,
) -> None:
    loaded = load('\ufefftheme = "paper"\r\n[ui]\r\nmouse = false\r\n'.encode())
    assert loaded.problems == ()
    assert (loaded.config.theme, loaded.config.ui.mouse) == ("paper", False)
    assert str(loaded.origin_of("ui.mouse")).endswith("config.toml:3")


def test_a_folder_or_an_unreadable_file_in_its_place_is_a_problem_too(paths: AppPaths) -> None:
    paths.config_file.mkdir()
    loaded = load_config(paths, {})
    assert "cannot be read" in str(loaded.problems[0])
    assert early_settings(paths, {}).problem is not None


def test_no_file_is_no_problem(load: Load) -> None:
    assert load().problems == ()


def test_a_file_named_on_the_command_line_has_to_be_there(paths: AppPaths, tmp_path: Path) -> None:
    from ollm_tui.config.flags import Flags

    loaded = load_config(paths, {}, Flags(config_path=tmp_path / "none.toml"))
    assert "There is no file" in str(loaded.problems[0])
    assert str(loaded.problems[0].origin) == "--config"


def test_a_validation_error_that_escapes_shows_no_value() -> None:
    with pytest.raises(MistakesError) as caught:
        read_section(AppConfig, {"providers": {"a": {"api_key": [SECRET], "priority": SECRET}}})
    assert SECRET not in str(caught.value) + repr(caught.value) + repr(caught.value.mistakes)

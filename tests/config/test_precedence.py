"""Command line over environment over file over defaults, and every value knows its place."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.origin import Layers, Origin, Setting, leaves
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.schema import AppConfig
from tests.config.conftest import Load

words = st.text("abcdefgh-_.", min_size=1, max_size=8)
values = st.one_of(st.none(), words)
KEYS = ("theme", "model", "system_prompt")


# Feature: stage-11-vllm-openai, Property 16: Configuration Precedence
# Feature: stage-11-vllm-openai, Property 17: CLI Flag Precedence
@settings(max_examples=150)
@given(
    file=st.fixed_dictionaries(dict.fromkeys(KEYS, values)),
    environment=st.fixed_dictionaries(dict.fromkeys(KEYS, values)),
    flags=st.fixed_dictionaries(dict.fromkeys(KEYS, values)),
)
def test_the_highest_place_that_says_something_counts(
    file: dict[str, str | None],
    environment: dict[str, str | None],
    flags: dict[str, str | None],
    paths: AppPaths,
    write: Callable[[str], Path],
) -> None:
    write("".join(f"{key} = {json.dumps(v)}\n" for key, v in file.items() if v is not None))
    environ = {f"OLLM_{key.upper()}": v for key, v in environment.items() if v is not None}
    on_line = Flags(theme=flags["theme"], model=flags["model"], system=flags["system_prompt"])
    loaded = load_config(paths, environ, on_line)
    for key in KEYS:
        places = [
            (flags[key], "flag"),
            (environment[key], "environment"),
            (file[key], "file"),
            (getattr(AppConfig(), key), "default"),
        ]
        value, kind = next((v, k) for v, k in places if v is not None or k == "default")
        assert getattr(loaded.config, key) == value
        assert loaded.origin_of(key).kind == kind


# Feature: stage-11-vllm-openai, Property 15: Environment Variable Substitution
@settings(max_examples=100)
@given(value=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30))
def test_a_reference_is_replaced_by_what_the_variable_holds(
    value: str, paths: AppPaths, write: Callable[[str], Path]
) -> None:
    write('system_prompt = "<${SOME_NAME}> $${SOME_NAME}"\n')
    loaded = load_config(paths, {"SOME_NAME": value})
    assert loaded.config.system_prompt == f"<{value}> ${{SOME_NAME}}"


# Feature: stage-11-vllm-openai, Property 14: Configuration Schema Validation
@settings(max_examples=100)
@given(host=st.from_regex(r"[a-z]{1,9}(\.[a-z]{2,4})?", fullmatch=True), key=words)
def test_address_and_key_of_any_server_are_accepted(
    host: str, key: str, paths: AppPaths, write: Callable[[str], Path]
) -> None:
    write(
        f'[providers.vllm]\nbase_url = "https://{host}"\napi_key = "{key}"\n'
        f'[providers.openai-compatible]\nbase_url = "http://{host}:8000/v1"\napi_key = "{key}"\n'
    )
    loaded = load_config(paths, {})
    assert loaded.problems == ()
    assert key_of(loaded, "vllm") == key_of(loaded, "openai-compatible") == key


def key_of(loaded: LoadedConfig, name: str) -> str | None:
    key = loaded.config.providers[name].api_key
    return key.get_secret_value() if key else None


def test_each_value_names_its_flag_variable_or_line(load: Load, paths: AppPaths) -> None:
    loaded = load(
        'theme = "paper"\n\n[providers.gpu]\nbase_url = "http://gpu"\n',
        {"OLLM_UI__MOUSE": "false", "OLLAMA_HOST": "box"},
        Flags(model="m"),
    )
    places = {key: str(origin) for key, origin in loaded.origins.items()}
    assert places == {
        "theme": f"{paths.config_file}:1",
        "providers.gpu.base_url": f"{paths.config_file}:4",
        "ui.mouse": "OLLM_UI__MOUSE",
        "providers.local.base_url": "OLLAMA_HOST",
        "model": "--model",
    }
    assert str(loaded.origin_of("ui.animations")) == "default"


def test_lines_are_found_across_every_way_to_write_toml(load: Load, paths: AppPaths) -> None:
    loaded = load(
        "# theme = 'x'\n"
        'system_prompt = """\nui = 1\n[keymap]\n"""\n'
        "[options] # see [ui]\n"
        'stop = [ # "a"\n  "b=]", \'c"\',\n]\n'
        "seed = 1\n"
        "ui.mouse = 1\n"
        '["keymap"]\n"chat.send" = "f2"\n'
        "[providers]\nx = { base_url = 'http://x', headers = { A = 'b' } }\n"
    )
    lines = {key: origin.line for key, origin in loaded.origins.items()}
    assert lines["system_prompt"] == 2
    assert lines["options.stop"] == 7
    assert lines["options.seed"] == 10
    assert lines['keymap."chat.send"'] == 13
    assert lines["providers.x.base_url"] == lines["providers.x.headers.A"] == 15
    assert loaded.problems[0].origin.line == 11


def test_ids_of_keys_may_stand_without_quotes(load: Load) -> None:
    assert load('[keymap]\nchat.send = "f2"\n').config.keymap == {"chat.send": "f2"}


@pytest.mark.parametrize("empty", ["OLLAMA_HOST", "OLLM_THEME", "VLLM_API_KEY"])
def test_an_empty_variable_says_nothing(empty: str, load: Load) -> None:
    loaded = load("", {empty: ""})
    assert loaded.origins == {}
    assert loaded.config.to_dict() == AppConfig().to_dict()


def test_settings_made_without_the_loader_ignore_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLM_THEME", "paper")
    assert AppConfig().theme == "dusk"


def test_a_value_that_is_no_table_hides_what_lies_below_it_until_it_is_dropped() -> None:
    layers = Layers()
    low = Setting(("ui", "mouse"), False, Origin("default"), 0)
    high = Setting(("ui",), 5, Origin("file"), 1)
    layers.add(low)
    layers.add(high)
    assert layers.nested() == {"ui": 5}
    layers.drop(high)
    assert layers.nested() == {"ui": {"mouse": False}}


def test_leaves_are_found_at_any_depth() -> None:
    assert dict(leaves({"a": {"b": {}, "c": 1}, "d": []})) == {
        ("a", "b"): {},
        ("a", "c"): 1,
        ("d",): [],
    }

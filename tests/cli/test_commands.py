"""`ollm config`, `ollm models`, `--help`, `--version`: what they print and what they load."""

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ollm_tui import __version__
from ollm_tui.cli.arguments import Arguments, build_parser, parse
from ollm_tui.cli.dispatch import usual_flags
from ollm_tui.cli.output import Output
from ollm_tui.config.flags import Flags
from tests.cli.conftest import Ollm, environment
from tests.cli.fake_ollama import FakeOllama

HEAVY = {"textual", "rich", "httpx", "pydantic", "pydantic_settings", "anyio", "tomlkit"}
BESIDE = {"textual", "rich", "click", "pygments", "pydantic", "pydantic_core", "dotenv"}
"""What draws a screen, and what reads settings that are not plainly right: none are."""
BESIDE |= {"importlib.metadata", "yaml", "tiktoken"}
BESIDE |= {"ollm_tui.attachments.attachment", "ollm_tui.models.family_schema"}
BESIDE |= {"ollm_tui.runtime.tools.own_tools"}
"""What looks for plugins, reads families, counts as OpenAI and attaches files, without any."""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["config", "--help"], ["config", "path"]]
)
def test_cheap_commands_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom ollm_tui.cli import main\n"
        f"code = main({arguments!r})\n"
        f"print(code, sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr == "0 []\n"
    assert done.stdout


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["-c"],
        ["--continue"],
        *(["--model", name] for name in ("x", "a b", "run", "@x", "local://qwen3:8b")),
    ],
)
def test_a_usual_start_is_read_as_the_parser_reads_it(typed: list[str]) -> None:
    assert usual_flags(typed) == parse(typed).flags


@pytest.mark.parametrize("typed", [["--model"], ["--model", ""], ["--model", "-c"], ["-c", "-c"]])
def test_another_start_is_left_to_the_parser(typed: list[str]) -> None:
    assert usual_flags(typed) is None


def test_a_run_without_a_screen_loads_nothing_that_draws_one(fake: FakeOllama) -> None:
    code = (
        "import sys\nfrom ollm_tui.cli import main\n"
        f"sys.argv[1:] = ['--host', {fake.url!r}, '--model', 'local://tiny:1b', '-p', 'x']\n"
        "main()\n"
        f"print({BESIDE!r} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("Hello there.\n", "set()\n")


def test_a_start_without_arguments_reads_none() -> None:
    given = parse([])
    assert given == Arguments(flags=Flags())
    code = (
        "import sys, ollm_tui.tui, ollm_tui.tui.terminal\n"
        "ollm_tui.tui.terminal.check_terminal = lambda: None\n"
        "ollm_tui.tui.run_tui = lambda flags, keep, frame: 7 if 'argparse' in sys.modules else 3\n"
        "from ollm_tui.cli import main\nsys.exit(main([]))"
    )
    terminal, other_end = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment(), stdin=other_end, check=False
        )
    finally:
        os.close(terminal)
        os.close(other_end)
    assert done.returncode == 3


def test_a_command_that_ends_looks_for_no_garbage() -> None:
    code = (
        "import atexit, gc, sys\nfrom ollm_tui.cli import main\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0, file=sys.stderr))\n"
        "sys.argv = ['ollm', 'config', 'path']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr == "True\n"


def test_the_version_is_the_package_s(ollm: Ollm) -> None:
    assert ollm("--version").stdout == f"ollm {__version__}\n"


def test_settings_are_shown_with_their_places_and_without_secrets(
    ollm: Ollm, tmp_path: Path
) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        '[providers.w]\nbase_url = "http://me:sk-pw@w"\napi_key = "sk-key"\n'
        'headers = { X = "sk-head" }\n'
    )
    file.chmod(0o600)
    for extra in ([], ["--json"]):
        done = ollm("config", "show", "--config", str(file), *extra, OLLM_THEME="paper")
        assert done.returncode == 0
        assert "sk-" not in done.stdout + done.stderr
    rows = {row["key"]: (row["value"], row["origin"]) for row in json.loads(done.stdout)}
    assert rows["theme"] == ("paper", "OLLM_THEME")
    assert rows["model"] == ("not set", "default")
    assert rows["providers.w.base_url"] == ("http://«set»@w", f"{file}:2")
    assert rows["providers.w.api_key"] == ("«set»", f"{file}:3")
    assert rows["providers.w.headers.X"] == ("«set»", f"{file}:4")


def test_a_secret_among_further_keys_of_the_request_is_not_shown(
    ollm: Ollm, tmp_path: Path
) -> None:
    file = tmp_path / "ollm.toml"
    file.write_text(
        '[options.extra_body]\nuser_token = "${MINE}"\nauth = { value = "sk-canary" }\n'
        "max_new_tokens = 7\n"
    )
    shown = ollm("config", "show", "--config", str(file), MINE="sk-canary").stdout
    assert "canary" not in shown
    assert "options.extra_body.user_token" in shown
    assert ["options.extra_body.max_new_tokens", "7"] in [x.split()[:2] for x in shown.splitlines()]


def test_the_path_is_printed_whether_the_file_is_there_or_not(ollm: Ollm, tmp_path: Path) -> None:
    assert ollm("config", "path").stdout == f"{tmp_path}/home/.config/ollm/config.toml\n"
    assert ollm("config", "path", OLLM_CONFIG="/x.toml").stdout == "/x.toml\n"


def test_the_other_places_are_printed_too(ollm: Ollm, tmp_path: Path) -> None:
    home = tmp_path / "home"
    places = {
        "models": ".data/ollm/models",
        "themes": ".config/ollm/themes",
        "data": ".data/ollm",
        "state": ".state/ollm",
    }
    for place, path in places.items():
        assert ollm("config", "path", "--of", place).stdout == f"{home / path}\n"
    wrong = ollm("config", "path", "--of", "model")
    assert wrong.returncode == 2
    assert wrong.stderr == "ollm: --of does not take 'model'. Did you mean 'models'?\n"


def test_a_servers_words_are_ended_before_the_hint() -> None:
    errors = io.StringIO()
    Output(err=errors).error("model not found", "Choose another.")
    Output(err=errors).error("It broke.", "Ask again.")
    assert errors.getvalue() == (
        "ollm: model not found. Choose another.\nollm: It broke. Ask again.\n"
    )


def test_the_schema_is_json_with_a_description_of_every_key(ollm: Ollm) -> None:
    schema = json.loads(ollm("config", "schema").stdout)
    assert all(field.get("description") for field in schema["properties"].values())
    assert "base_url" in schema["$defs"]["ProviderSettings"]["properties"]


def test_check_lists_every_problem_and_its_code_tells(ollm: Ollm, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('theme = 5\n[providers.w]\nbase_url = "http://w"\napi_key_env = "NOPE"\n')
    done = ollm("config", "check", "--config", str(file))
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"error: {file}:1: `theme` must be text in quotes.",
        f"error: {file}:4: `providers.w.api_key_env` names NOPE, which is not set.",
    ]
    file.write_text("")
    done = ollm("config", "check", "--config", str(file))
    assert (done.returncode, done.stdout) == (0, f"{file}: no problems found.\n")


def test_models_are_listed_with_what_is_known(ollm: Ollm, fake: FakeOllama) -> None:
    done = ollm("models", "list", "--host", fake.url)
    assert done.returncode == 0
    assert "ollama://tiny:1b  1 MB" in done.stdout
    listed = json.loads(ollm("models", "list", "--json", "--host", fake.url).stdout)
    ours = next(entry for entry in listed if entry["provider"] == "local")
    assert (ours["model"], ours["size_bytes"]) == ("local://tiny:1b", 1_234_567)


def test_no_models_at_all_is_an_error_with_the_reason(ollm: Ollm) -> None:
    done = ollm("models", "list", "--host", "http://127.0.0.1:1")
    assert done.returncode == 1
    assert "does not answer" in done.stderr
    assert "No models found." in done.stderr


def test_a_wheel_that_is_not_there_is_one_line(ollm: Ollm, tmp_path: Path) -> None:
    done = ollm("models", "starter", "--wheel", str(tmp_path / "none.whl"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_columns_are_as_wide_as_they_are_drawn() -> None:
    out = io.StringIO()
    Output(out).table(("MODEL", "SIZE"), [("日本語", "1 kB"), ("tiny", "2 kB")])
    assert out.getvalue().splitlines() == ["MODEL   SIZE", "日本語  1 kB", "tiny    2 kB"]


def test_the_parser_of_a_command_line_has_only_the_commands_that_were_typed() -> None:
    whole, asked = build_parser(), build_parser(["-p", "x"])
    assert asked.format_help() == whole.format_help()
    assert len(_parsers(whole)) > 60
    assert _parsers(asked) == []
    assert _parsers(build_parser(["models", "ls"])) == [
        "ollm models",
        "ollm models list",
        "ollm list",
    ]


def _parsers(parser: argparse.ArgumentParser) -> list[str]:
    found: dict[str, None] = {}
    for action in parser._actions:
        for one in action.choices.values() if isinstance(action.choices, dict) else ():
            if isinstance(one, argparse.ArgumentParser):
                found |= dict.fromkeys([one.prog, *_parsers(one)])
    return list(found)

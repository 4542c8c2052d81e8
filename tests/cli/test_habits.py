"""Commands as Ollama has them, completion in shells and the manual page."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ollm_tui.cli.arguments import Arguments, parse
from ollm_tui.cli.command_tree import command_tree
from ollm_tui.cli.completion import PROGRAMS, bash_script, fish_script, zsh_script
from ollm_tui.cli.man_page import man_page
from ollm_tui.cli.output import UsageError
from tests.cli.conftest import Ollm
from tests.cli.fake_ollama import FakeOllama

SHELL_SCRIPTS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("list", "models list"),
        ("ls", "models list"),
        ("ls llama --sort size", "models list llama --sort size"),
        ("models ls", "models list"),
        ("ls --sort size llama", "models list llama --sort size"),
        ("show m --template", "models show m --template"),
        ("pull m --quant Q4_K_M", "models pull m --quant Q4_K_M"),
        ("rm m -y", "models rm m -y"),
        ("cp m n", "models cp m n"),
        ("ps --json", "models ps --json"),
        ("--json ps", "--json models ps"),
        ("stop m", "models unload m"),
        ("run m", "--model m"),
        ("run m why is it so", "--model m -p why·is·it·so"),
        ("run m -p why --image a.png", "--model m -p why --image a.png"),
        ("run m --json hi", "--model m --json -p hi"),
    ],
)
def test_a_command_of_ollama_means_the_same_here(typed: str, same: str) -> None:
    words = [word.replace("·", " ") for word in same.split()]
    assert parse(typed.split()) == parse(words)


@pytest.mark.parametrize("typed", ["run m a -p b", "run m --model n"])
def test_run_takes_model_and_prompt_once(typed: str) -> None:
    with pytest.raises(UsageError):
        parse(typed.split())


@pytest.mark.parametrize(
    ("typed", "meant"), [("delete", "rm"), ("remove", "rm"), ("download", "pull"), ("chat", "run")]
)
def test_the_command_nearest_in_meaning_is_named(typed: str, meant: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse([typed])
    assert refused.value.hint == f"Did you mean '{meant}'?"


def test_run_answers_a_prompt_and_lists_models(ollm: Ollm, fake: FakeOllama) -> None:
    done = ollm("run", "local://tiny:1b", "say", "hi", "--host", fake.url)
    assert (done.stdout, done.stderr, done.returncode) == ("Hello there.\n", "", 0)
    assert fake.requests[-1]["messages"][-1]["content"] == "say hi"
    piped = ollm("run", "local://tiny:1b", "--host", fake.url, stdin="from a pipe")
    assert piped.stdout == "Hello there.\n"


def test_the_version_has_a_short_option(ollm: Ollm) -> None:
    assert ollm("-V").stdout == ollm("--version").stdout


def completed(tmp_path: Path, *words: str) -> list[str]:
    """Ask bash what it would offer behind these words; the last one is being written."""
    script = tmp_path / "completion.bash"
    script.write_text(bash_script(command_tree()))
    asking = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ollm; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", f'source "$0"; {asking}', str(script), "ollm", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("pul",), ["pull"]),
        (("models", "se"), ["search"]),
        (("--model", "list", "models", "un"), ["unload"]),
        (("list", "--sort", ""), ["name", "size", "modified", "context", "provider"]),
        (("completion", ""), ["bash", "zsh", "fish", "-h", "--help"]),
        (("run", "m", "--im"), ["--image"]),
        (("--model", ""), []),
    ],
)
def test_bash_completes_commands_options_and_values(
    words: tuple[str, ...], offered: list[str], tmp_path: Path
) -> None:
    assert completed(tmp_path, *words) == offered


@pytest.mark.parametrize("shell", SHELL_SCRIPTS)
def test_a_script_has_every_command_and_option(shell: str) -> None:
    script = SHELL_SCRIPTS[shell](command_tree())
    for node in command_tree().walk():
        assert node.name in script
        for option in node.options:
            for name in option.names:
                assert (name if shell != "fish" else name.lstrip("-")) in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=30)


def test_the_command_prints_the_script(ollm: Ollm) -> None:
    for shell, script in SHELL_SCRIPTS.items():
        assert ollm("completion", shell).stdout == script(command_tree()).rstrip() + "\n"
    assert ollm("completion", "tcsh").returncode == 2


def test_the_manual_page_has_every_command_and_is_sound(ollm: Ollm) -> None:
    page = man_page()
    assert ollm("man").stdout == page
    for node in command_tree().walk():
        if not node.commands:
            name = " ".join(node.path).replace("-", r"\-")
            assert rf"\fB{name}\fR" in page
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-z"],
            input=page,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == ""


def test_arguments_of_an_alias_are_those_of_the_action() -> None:
    listed: Arguments = parse(["ls"])
    assert (listed.command, listed.action) == ("models", "list")


def test_fish_offers_files_only_where_a_file_is_meant() -> None:
    lines = fish_script(command_tree()).splitlines()
    assert f"complete -c {PROGRAMS[0]} -f" in lines
    by_option = {
        name: [line for line in lines if f" -l {name} " in line] for name in ("image", "model")
    }
    assert by_option["image"]
    assert all(" -F " in line for line in by_option["image"])
    assert by_option["model"]
    assert not any(" -F " in line for line in by_option["model"])

"""A key that is held is shown by no part of the command line, whatever form it has."""

import json
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from ollm_tui.cli.output import Output
from ollm_tui.decode.redact import MARK
from tests.cli.conftest import Ollm
from tests.cli.fake_ollama import FakeOllama
from tests.decode.test_redact import FORMS
from tests.support.seeds import sampled

KEY = "sk-Planted/Canary+4711_é-xyz"
EXITS: dict[str, Callable[[Output, str], None]] = {
    "line": Output.line,
    "note": Output.note,
    "error": lambda output, text: output.error(text, f"Try {text}."),
    "question": Output.question,
    "progress": lambda output, text: output.draw(text[-60:]),
    "table": lambda output, text: output.table(("NAME",), [(text,)]),
    "json": lambda output, text: output.json({"model": text, text: [text]}),
}


@pytest.mark.parametrize("exit_", EXITS)
def test_no_way_out_shows_a_key(exit_: str) -> None:
    for name, form in FORMS.items():
        out, err = StringIO(), StringIO()
        output = Output(out, err)
        output.keep_secret([KEY])
        EXITS[exit_](output, f"model {form(KEY)} not found")
        shown = out.getvalue() + err.getvalue()
        if exit_ == "json":
            shown = json.dumps(json.loads(shown), ensure_ascii=False)
        assert "canary" not in shown.casefold(), name
        assert "yranac" not in shown.casefold(), name
        assert MARK in shown or exit_ == "progress", name


def test_a_word_in_place_of_a_key_does_not_garble_what_is_reported() -> None:
    out = StringIO()
    output = Output(out, StringIO())
    output.keep_secret(["ollama", None, ""])
    output.line("ollama runs")
    output.table(("PROVIDER",), [("ollama",)])
    assert MARK not in out.getvalue()


def shown_by(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stdout + done.stderr).casefold()


COMMANDS = (
    ("-p", "hi", "--model", "{key}"),
    ("-p", "hi", "--model", "planted://{key}"),
    ("-p", "hi", "--model", "local://{key}", "--json"),
    ("-p", "hi", "--provider", "{key}"),
    ("-p", "hi", "--tools", "{key}"),
    ("config", "show", "--model", "{key}"),
    ("config", "show", "--json", "--system", "{key}"),
    ("models", "show", "{key}"),
    ("models", "list"),
    ("models", "list", "--json"),
    ("doctor",),
    ("doctor", "--json"),
    ("{key}",),
)


@pytest.mark.parametrize("arguments", sampled(COMMANDS, 6), ids=" ".join)
def test_a_key_as_a_name_is_not_repeated(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    key = "sk-Planted-Canary-4711xyz"
    settings = tmp_path / "work.toml"
    settings.write_text(
        f'theme = "{key}"\n[providers.planted]\nbase_url = "{fake.url}/v1"\napi_key = "{key}"\n'
        f'[models."{key}"]\ncontext = 4096\n[keymap]\n"{key}" = "f5"\n'
    )
    fake.models = [key, key[::-1], key.upper()]
    given = [argument.format(key=key) for argument in arguments]
    done = ollm(*given, OLLM_CONFIG=str(settings), OLLAMA_HOST=fake.url, WORK_API_KEY=key)
    assert shown_by(done)
    assert "canary" not in shown_by(done)
    assert "yranac" not in shown_by(done)

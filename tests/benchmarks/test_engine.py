"""The benchmark of the built-in engine, with a model of a few hundred kilobytes."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import engine
from benchmarks.terminal.programs import OLLM
from benchmarks.terminal.rows import Row, Rows
from tests.support.engine import MODEL, model_folder, needs_engine

__all__ = ["model_folder"]


@pytest.mark.engine
@needs_engine
def test_without_a_server_the_engine_is_measured_alone_and_that_is_said(
    model_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    loads = iter((0.1, 9.9, 9.9))
    monkeypatch.setattr(engine, "load", lambda: next(loads))
    model = str(model_folder / f"{MODEL}.gguf")
    assert engine.main([model, "--rounds", "2", "--tokens", "8", "--length", "300"]) == 0
    printed = capsys.readouterr().out
    assert "load 0.1" in printed
    assert "Nothing is judged" not in printed, "its own rounds count for nothing"
    assert "No llama-server here: `--server PATH` names one." in printed
    assert "first token of the second question" in printed


def test_a_server_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        engine.main(["model.gguf", "--server", "/none/llama-server"])
    assert "/none/llama-server is not a program" in capsys.readouterr().err


SERVER = """\
import http.server, json, os, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
seen = {"arguments": sys.argv, "spins": os.environ.get("GOMP_SPINCOUNT")}
pathlib.Path(__file__).with_name("seen.json").write_text(json.dumps(seen))
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def test_the_server_gets_the_threads_of_the_engine_and_their_waiting_or_chooses_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    program, log = tmp_path / "llama-server", tmp_path / "log"
    program.write_text(f"#!{sys.executable} -IS\n{SERVER}")
    program.chmod(0o755)
    for threads, spins in ((["--threads", "3"], "300"), ([], None)):
        with (
            log.open("wb") as file,
            engine.running(str(program), tmp_path / "m.gguf", 512, threads, file),
        ):
            seen = json.loads((tmp_path / "seen.json").read_text())
        assert ("--threads" in seen["arguments"]) == bool(threads)
        assert seen["spins"] == spins


def test_the_limits_are_those_of_the_document() -> None:
    rows = [
        Row(name, case, number, {key: value}, load=0.1)
        for number in range(5)
        for case, key in ((engine.WRITING, engine.TOKEN_S), (engine.SECOND, engine.FIRST_S))
        for name, value in ((OLLM, 0.0105), (engine.SERVER, 0.01))
    ]
    lines = engine.figures(has_server=True, rounds=5)
    found = {
        line.what: line.judged(Rows(rows))[1] for line in lines if line.cases[0] != engine.READING
    }
    assert found == {
        "a token of the answer": "MISSED",
        "first token of the second question": "ok",
    }

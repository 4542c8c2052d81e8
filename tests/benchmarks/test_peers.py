"""Peers: how they are fetched, found, and set up to see nothing but the server on loopback."""

import sys
from pathlib import Path

import pytest

from benchmarks.terminal.peers.chats import PEERS, installed_peers
from benchmarks.terminal.peers.install import commands, install, main, reason
from benchmarks.terminal.peers.place import PACKAGES, Package, peers_folder
from benchmarks.terminal.programs import base_environment

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLLM_BENCH_PEERS", str(tmp_path / "peers"))
    return tmp_path / "peers"


def test_only_peers_whose_command_is_there_are_measured(folder: Path) -> None:
    assert installed_peers() == {}
    llm = PACKAGES[0]
    llm.program.parent.mkdir(parents=True)
    llm.program.touch()
    assert list(installed_peers()) == [llm.name]
    assert llm.program.is_relative_to(folder)


@pytest.mark.slow
def test_a_peer_that_brings_no_command_is_left_out_with_the_reason(folder: Path) -> None:
    none = Package("none", "pip", ("pip",), "no-such-command")
    none.folder.mkdir(parents=True)
    assert commands(none, sys.executable)[0][1:3] == ["-m", "venv"]
    assert commands(none, sys.executable)[1][-1] == "pip"
    missing = Package("missing", "pip", (str(folder / "nothing.whl"),), "missing")
    assert "nothing.whl" in install(missing)


def test_a_reason_is_the_last_line_that_speaks_of_an_error() -> None:
    output = "ERROR: needs another Python\nERROR: no matching distribution\n\nWARNING: old\n"
    assert reason(output) == "ERROR: no matching distribution"
    assert reason("") == "no reason given"
    assert len(reason("error " * 100)) <= 160


def test_what_is_there_is_not_fetched_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    llm = PACKAGES[0]
    llm.program.parent.mkdir(parents=True)
    llm.program.touch()
    assert main([llm.name]) == 0
    assert "llm        is there" in capsys.readouterr().out


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_given_the_server_and_a_home_of_its_own(name: str, tmp_path: Path) -> None:
    url = "http://127.0.0.1:5"
    program = PEERS[name](url, tmp_path, ())
    configuration = [*program.argv, *program.env.values(), *program.files.values()]
    assert any("127.0.0.1:5" in text for text in configuration)
    assert all(not Path(file).is_absolute() for file in program.files)
    assert program.argv[0].startswith(str(peers_folder()))


def test_nothing_of_the_callers_environment_reaches_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    environment = base_environment(tmp_path, "/bin")
    assert "secret" not in environment.values()
    assert environment["HOME"] == str(tmp_path)

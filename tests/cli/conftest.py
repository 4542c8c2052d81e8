"""The real program in a process of its own, beside a fake Ollama."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from ollm_tui.cli import main
from tests.cli.fake_ollama import FakeOllama
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Server, in_thread
from tests.support.isolation import guarded_path

if TYPE_CHECKING:
    from tests.support.forked import Forks

READ_BY_PYTHON = re.compile("PYTHON(?!PATH$)|LANG|LC_").match

Run = Callable[..., tuple[int, str, str]]


class Ollm(Protocol):
    def __call__(
        self, *arguments: str, stdin: str | bytes | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]: ...


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": guarded_path(), "PYTHONDEVMODE": "", **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "ollm_tui", *arguments]


@pytest.fixture
def ollm(request: pytest.FixtureRequest, tmp_path: Path) -> Ollm:
    """Run the program: as a copy, or anew where Python itself reads what the test sets."""

    def run(
        *arguments: str, stdin: str | bytes | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        if hasattr(socket, "SOCK_SEQPACKET") and not any(map(READ_BY_PYTHON, environ)):
            forks: Forks = request.getfixturevalue("forks")
            done = forks.run(
                arguments, environ=environment(**environ), cwd=tmp_path, given=given, timeout_s=60
            )
        else:
            streams: dict[str, Any] = (
                {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
            )
            done = subprocess.run(
                command(*arguments),
                capture_output=True,
                env=environment(**environ),
                cwd=tmp_path,
                timeout=60,
                check=False,
                **streams,
            )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run


@pytest.fixture
def fake() -> Iterator[FakeOllama]:
    with FakeOllama().serving() as served:
        yield served


@pytest.fixture
def server() -> OllamaServer:
    return OllamaServer()


@pytest.fixture
def served(server: OllamaServer) -> Iterator[Server]:
    with in_thread(server) as running:
        yield running


@pytest.fixture
def models(served: Server, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `ollm models ...` in this process, with the fake as `local`."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["models", *arguments, "--host", served.url])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run

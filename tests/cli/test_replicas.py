"""A pool of real llama.cpp servers: one is killed in the middle of an answer, another one added."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import Ollm, command, environment
from tests.support import llama_server
from tests.support.engine import MODEL, needs_engine
from tests.support.tiny_gguf import HELLO, write_scripted

pytestmark = [pytest.mark.engine, needs_engine]

LLAMA_SERVER = (sys.executable, "-P", llama_server.__file__)
ASK = ("--model", f"team://{MODEL}")


class Replicas:
    """llama.cpp servers with one model, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._model = folder / f"{MODEL}.gguf"
        write_scripted(self._model)
        self._config = folder / "team.toml"
        self._running = ExitStack()
        self.pids: dict[str, int] = {}
        """Process ids by address."""

    def add(self, port: int | None = 0) -> str:
        """Start one more, and give its address once it is ready."""
        process = self._running.enter_context(
            subprocess.Popen(
                [*LLAMA_SERVER, "-m", self._model, "--alias", MODEL, "--port", str(port)],
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        self._running.callback(process.kill)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        self.pids[url] = process.pid
        return url

    def config(self) -> str:
        """Write the settings of a pool of all that were ever started."""
        pool = f'kind = "openai-compatible"\nbase_urls = {json.dumps([*self.pids])}\n'
        self._config.write_text(f"[providers.team]\n{pool}")
        return str(self._config)

    def kill(self, url: str) -> None:
        os.kill(self.pids[url], signal.SIGKILL)

    def close(self) -> None:
        self._running.close()


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    made = Replicas(tmp_path)
    yield made
    made.close()


@contextmanager
def answering(config: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """An answer without end that has begun."""
    asked = command("--config", config, "-p", "forever", "--json", *ASK)
    with subprocess.Popen(
        asked,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=folder,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any(json.loads(line)["type"] == "text" for line in process.stdout)
        yield process


@pytest.mark.slow
def test_an_answer_of_a_killed_replica_is_cut_and_the_next_ones_come_from_others(
    replicas: Replicas, ollm: Ollm, tmp_path: Path
) -> None:
    dying = replicas.add()
    with answering(replicas.config(), tmp_path) as asked:
        other, added = replicas.add(), replicas.add()
        replicas.kill(dying)
        rest, errors = asked.communicate(timeout=60)
    events = [json.loads(line) for line in rest.splitlines()]
    assert asked.returncode == 1
    assert (events[-1]["type"], events[-1]["error"]["name"]) == ("error", "STREAM_INCOMPLETE")
    assert not [event for event in events if event["type"] == "finish"]
    assert f"The answer was cut off: the connection to team at {shown(dying)} ended" in errors

    everyone = ("--config", replicas.config())
    for _ in range(4):
        done = ollm(*everyone, "-p", "hello", *ASK)
        assert (done.returncode, done.stdout) == (0, f"{HELLO}\n"), done.stderr
    assert f"team://{MODEL}" in ollm(*everyone, "models", "list").stdout
    pool = checked(ollm, *everyone)
    assert (pool["state"], pool["chat_models"]) == ("ok", 1)
    assert (pool["answer"], pool["no_answer"]) == ([shown(other), shown(added)], [shown(dying)])

    replicas.kill(other)
    replicas.kill(added)
    assert checked(ollm, *everyone)["state"] == "failed"
    for arguments in (("models", "list"), ("-p", "hello", *ASK)):
        done = ollm(*everyone, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert "None of the 3 servers of team answers." in done.stderr


def test_a_replica_that_is_back_answers_again(replicas: Replicas, ollm: Ollm) -> None:
    gone, there = replicas.add(), replicas.add()
    replicas.kill(gone)
    before = checked(ollm, "--config", replicas.config())
    replicas.add(port=urlsplit(gone).port)
    after = checked(ollm, "--config", replicas.config())
    assert (before["answer"], before["no_answer"]) == ([shown(there)], [shown(gone)])
    assert (after["answer"], after["no_answer"]) == ([shown(gone), shown(there)], [])


def shown(url: str) -> str:
    """Give an address as the program writes it."""
    return f"localhost:{urlsplit(url).port}"


def checked(ollm: Ollm, *arguments: str) -> dict[str, Any]:
    """Give what doctor says of the pool."""
    report = json.loads(ollm(*arguments, "doctor", "--json").stdout)
    (pool,) = (one for one in report["providers"] if one["name"] == "team")
    assert isinstance(pool, dict)
    return pool

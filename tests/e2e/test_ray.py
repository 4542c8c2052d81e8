"""What the guide to several machines says of Ray Serve: hosts and replicas die and are added.

The program and the settings of the guide are run as they stand there. Processes of this machine
stand for hosts; `make test-ray` installs Ray.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import command
from tests.providers.asking import closed_port
from tests.support import llama_server
from tests.support.engine import MODEL, needs_engine
from tests.support.isolation import guarded_path
from tests.support.pty_session import wait_until
from tests.support.tiny_gguf import HELLO, write_scripted

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "cluster.md").read_text("utf-8")
RAY = ROOT / ".venv-ray" / "bin"
MARK = "OLLM_TEST_OF_RAY"
CLEAR_TICKS = 10
"""How much more the engine that answers has to have done than the others."""
ASK = ("--model", f"team://{MODEL}")

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    needs_engine,
    pytest.mark.skipif(not (RAY / "serve").exists(), reason="`make test-ray` installs Ray"),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc"),
]


class Cluster:
    """A Ray cluster whose hosts are processes, and the command line beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ports = [str(closed_port()) for _ in range(4)]
        model = folder / f"{MODEL}.gguf"
        write_scripted(model)
        self._write("team.py", block_of_guide("python"))
        self._write("c.toml", f'[providers.team]\nbase_url = "{self.url}"\n')
        server = f"{sys.executable} -P {llama_server.__file__} -m {model} --alias {MODEL}"
        self._environ = {
            "PATH": f"{RAY}:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(folder),
            "RAY_USAGE_STATS_ENABLED": "0",
            MARK: str(folder),
            "LLAMA_SERVER": f"{server} -np 2 -c 65536",
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._ports[0]}"

    def start_head(self) -> None:
        names = ("--port", "--dashboard-port", "--ray-client-server-port")
        ports = [word for pair in zip(names, self._ports[1:], strict=True) for word in pair]
        self._run("ray", "start", "--head", "--num-cpus=0", "--temp-dir", str(self.folder), *ports)

    def start_host(self) -> None:
        self._run("ray", "start", f"--address=127.0.0.1:{self._ports[1]}", "--num-cpus=1")

    def deploy(self, replicas: int) -> None:
        """Deploy the settings of the guide with this many replicas, and wait for them."""
        settings = block_of_guide("yaml").replace("0.0.0.0", "127.0.0.1")
        settings = settings.replace("port: 8000", f"port: {self._ports[0]}")
        self._write("team.yaml", settings.replace("replicas: 2", f"replicas: {replicas}"))
        dashboard = f"http://127.0.0.1:{self._ports[2]}"
        self._run("serve", "deploy", "--address", dashboard, str(self.folder / "team.yaml"))
        self.wait_for(replicas)

    def wait_for(self, replicas: int) -> None:
        """Wait until this many engines run, and one answers."""
        assert wait_until(lambda: len(self.engines()) == replicas, timeout=120)
        assert wait_until(self._lists, timeout=60)

    def _lists(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/v1/models", timeout=5) as reply:
                return MODEL in reply.read().decode()
        except OSError:
            return False

    def engines(self) -> dict[int, int]:
        """Give the process ids of the engines, each with its replica's."""
        return {
            pid: parent
            for pid, (parent, words) in processes().items()
            if str(self.folder / MODEL) in words and llama_server.__file__ in words
        }

    def ollm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments) as asked:
            out, errors = asked.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, asked.returncode, out, errors)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command("--config", str(self.folder / "c.toml"), *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": str(self.folder), "PYTHONPATH": guarded_path()},
            cwd=self.folder,
            text=True,
        )

    def checked(self) -> dict[str, Any]:
        """Give what doctor says of the cluster."""
        report = json.loads(self.ollm("doctor", "--json").stdout)
        (team,) = (one for one in report["providers"] if one["name"] == "team")
        assert isinstance(team, dict)
        return team

    def stop(self) -> None:
        """Kill every process of the cluster."""
        assert wait_until(self._is_stopped, timeout=30)

    def _is_stopped(self) -> bool:
        found = processes()
        own = {pid for pid in found if is_marked(pid, self.folder)}
        own |= {pid for pid, (parent, _) in found.items() if parent in own}
        for pid in own - {os.getpid()}:
            kill(pid)
        return not own

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [RAY / program, *arguments],
            env=self._environ,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode()


def block_of_guide(kind: str) -> str:
    """Give the one block of a kind that the guide shows."""
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert isinstance(text, str)
    return text


def processes() -> dict[int, tuple[int, str]]:
    """Give the parent and the command line of every process."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if state not in "ZX":
                found[int(folder.name)] = (int(parent), words)
    return found


def is_marked(pid: int, folder: Path) -> bool:
    try:
        return f"{MARK}={folder}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def work_of(pid: int) -> int:
    """Give the processor time that a process has used, in ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two hosts with a replica each; the folder's name is short, for Ray makes sockets in it."""
    folder = Path(tempfile.mkdtemp(prefix="ray"))
    made = Cluster(folder)
    try:
        made.start_head()
        made.start_host()
        made.start_host()
        made.deploy(2)
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def answering(cluster: Cluster) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """An answer that has begun, and the engine that gives it."""
    before = {engine: work_of(engine) for engine in cluster.engines()}
    with cluster.start("-p", "forever", "--json", *ASK) as asked:
        assert asked.stdout is not None
        assert any(json.loads(line)["type"] == "text" for line in asked.stdout)
        busy: list[int] = []

        def is_clear() -> bool:
            done = {engine: work_of(engine) - ticks for engine, ticks in before.items()}
            busy[:] = sorted(done, key=done.__getitem__)
            return len(done) < 2 or done[busy[-1]] - done[busy[-2]] >= CLEAR_TICKS

        assert wait_until(is_clear)
        yield asked, busy[-1]


def events_of(asked: subprocess.Popen[str]) -> tuple[list[Mapping[str, Any]], str]:
    out, errors = asked.communicate(timeout=120)
    return [json.loads(line) for line in out.splitlines()], errors


def hello_of(cluster: Cluster) -> subprocess.CompletedProcess[str]:
    return cluster.ollm("-p", "hello", *ASK)


@pytest.mark.parametrize("what", ["engine", "replica", "host"])
def test_an_answer_whose_replica_dies_is_cut_and_the_next_comes_from_another(
    what: str, cluster: Cluster
) -> None:
    with answering(cluster) as (asked, engine):
        replica = cluster.engines()[engine]
        kill({"engine": engine, "replica": replica, "host": processes()[replica][0]}[what])
        events, errors = events_of(asked)
    assert asked.returncode == 1
    assert (events[-1]["type"], events[-1]["error"]["name"]) == ("error", "STREAM_INCOMPLETE")
    assert not [event for event in events if event["type"] == "finish"]
    assert "The answer was cut off: the connection to team at " in errors

    done = hello_of(cluster)
    assert (done.returncode, done.stdout) == (0, f"{HELLO}\n"), done.stderr
    assert cluster.checked()["state"] == "ok"
    assert f"team://{MODEL}" in cluster.ollm("models", "list").stdout
    if what == "host":
        cluster.start_host()
    cluster.wait_for(2)


def test_a_replica_is_added_beside_an_answer_and_takes_over(cluster: Cluster) -> None:
    before = set(cluster.engines())
    with answering(cluster) as (asked, _):
        cluster.start_host()
        cluster.deploy(3)
        events, errors = events_of(asked)
    assert (asked.returncode, events[-1]["type"]) == (0, "finish"), errors
    (added,) = set(cluster.engines()) - before

    for engine, replica in cluster.engines().items():
        if engine != added:
            kill(processes()[replica][0])
    done = hello_of(cluster)
    assert (done.returncode, done.stdout) == (0, f"{HELLO}\n"), done.stderr
    assert cluster.checked()["state"] == "ok"

    kill(processes()[cluster.engines()[added]][0])
    assert wait_until(lambda: not cluster.engines(), timeout=30)
    team = cluster.checked()
    assert team["state"] == "failed"
    assert "team did not list its models" in team["problem"]
    listed = cluster.ollm("models", "list")
    assert (listed.returncode, listed.stdout) == (1, "")

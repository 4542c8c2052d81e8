"""What keeps the tests away from the machine's servers, and other machines away from the tests."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.fake_ollama import FakeOllama
from tests.support.guarded import sitecustomize as guard
from tests.support.isolation import CHOICE, guarded_path, own_environment

USUAL_PORTS = (1234, 5001, 8000, 8080, 9931, 11434)

CONNECT = """
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
except OSError as error:
    print(type(error).__name__, error.errno)
else:
    print("connected")
"""


def connected_from_child(port: int, **environ: str) -> str:
    env = {**os.environ, "PYTHONPATH": guarded_path(), **environ}
    command = [sys.executable, "-c", CONNECT, str(port)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("port", USUAL_PORTS)
def test_no_server_is_at_a_usual_port(port: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)


@pytest.mark.parametrize("port", USUAL_PORTS)
def test_the_guard_alone_refuses_the_usual_ports(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHOICE, "shared")
    with pytest.raises(ConnectionRefusedError, match="no other server"):
        socket.create_connection(("localhost", port), 5)


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "10.0.0.1"])
def test_another_machine_is_not_reached_and_the_attempt_is_kept(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as client, pytest.raises(OSError, match="no other machine"):
        client.connect((address, 80))
    assert guard.beyond == [f"{address}:80"]
    guard.beyond.clear()


def test_no_name_but_that_of_this_machine_is_looked_up() -> None:
    assert socket.getaddrinfo("localhost", 80)
    assert socket.getaddrinfo("127.0.0.1", 80)
    with pytest.raises(socket.gaierror, match="no names"):
        socket.getaddrinfo("models.example", 80)


def test_a_server_of_the_tests_is_reached_from_a_child_process() -> None:
    with FakeOllama().serving() as served:
        port = int(served.url.rpartition(":")[2])
        assert connected_from_child(port) == "connected"
        assert connected_from_child(port, **{CHOICE: "shared"}) == "connected"


@pytest.mark.parametrize("port", USUAL_PORTS)
def test_a_child_process_is_refused_a_usual_port(port: int) -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("127.0.0.1", port))
        except OSError:
            pytest.skip("a server of this machine has the port")
        server.listen()
        assert connected_from_child(port, **{CHOICE: "shared"}).startswith("ConnectionRefused")


def test_only_harmless_variables_are_kept(tmp_path: Path) -> None:

    given = {"PATH": "/bin", "OPENAI_API_KEY": "k", "EDITOR": "vi", "NO_COLOR": "1", "HOME": "/me"}
    chosen = {"TEST_SEED": "7", "MUTATED_STREAMS": "400"}
    kept = own_environment({**given, **chosen}, tmp_path)
    assert chosen.items() <= kept.items()
    assert kept["PATH"] == "/bin"
    assert kept["HOME"] == str(tmp_path)
    assert not {"OPENAI_API_KEY", "EDITOR", "NO_COLOR"} & set(kept)

"""`ollm mcp login`: the address is printed, and the browser or a paste answers it."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Ollm, command, environment
from tests.support.oauth_server import GuardedServer, guarded_server


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedServer]:
    with guarded_server() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, guarded: GuardedServer) -> dict[str, str]:
    config = tmp_path / "config.toml"
    config.write_text(
        f"[mcp_servers.work]\nurl = '{guarded.url}'\n[mcp_servers.box]\ncommand = 'box'\n"
        "[mcp_servers.other]\nurl = 'http://127.0.0.1:9/mcp'\n"
        "headers = { authorization = 'Bearer letmein' }\n"
    )
    return {
        "HOME": str(tmp_path),
        "OLLM_CONFIG": str(config),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


@contextmanager
def signing_in(home: Mapping[str, str]) -> Iterator["tuple[subprocess.Popen[str], str]"]:
    """Begin to sign in, without a screen and a browser; give the address that is printed."""
    with subprocess.Popen(
        command("mcp", "login", "work"),
        env=environment(**home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_a_sign_in_by_the_browser_lasts_until_it_is_taken_back(
    ollm: Ollm, home: dict[str, str]
) -> None:
    refused = ollm("mcp", "test", "work", **home)
    assert refused.returncode == 1
    assert "work: It needs you to sign in: `ollm mcp login work` in a shell" in refused.stderr
    with signing_in(home) as (process, address):
        with urllib.request.build_opener().open(address, timeout=20) as page:
            assert b"go back to ollm" in page.read()
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0, said
    assert "Signed in to work." in said
    assert "paste the address here where it ends" in said
    listed = json.loads(ollm("keys", "list", "--json", **home).stdout)
    assert [(one["name"], one["place"]) for one in listed] == [("mcp:work", "file")]
    tried = ollm("mcp", "test", "work", **home)
    assert tried.stdout.splitlines() == ["work: ready, 1 tool (guarded 1)", "  add"]
    assert ollm("mcp", "logout", "work", **home).returncode == 0
    assert ollm("mcp", "logout", "work", **home).returncode == 1
    assert "No keys are kept." in ollm("keys", "list", **home).stderr


@pytest.mark.slow
def test_a_pasted_address_signs_in_where_no_browser_reaches_this_machine(
    ollm: Ollm, home: dict[str, str]
) -> None:
    with signing_in(home) as (process, address):
        ended = httpx2.get(address, trust_env=False).headers["location"]
        _, said = process.communicate(f"nonsense\n{ended}\n", timeout=30)
        assert process.returncode == 0, said
    assert "This is not the address where the sign-in ended." in said
    assert ended not in said
    removed = ollm("mcp", "rm", "work", **home)
    assert removed.returncode == 0
    assert "No keys are kept." in ollm("keys", "list", **home).stderr


def test_the_secret_of_a_client_is_asked_for_at_a_terminal_only(
    ollm: Ollm, home: dict[str, str]
) -> None:
    refused = ollm("mcp", "login", "work", "--client-secret", **home)
    assert refused.returncode == 2
    assert "name no `oauth.client_id`" in refused.stderr
    with Path(home["OLLM_CONFIG"]).open("a") as config:
        config.write("[mcp_servers.work.oauth]\nclient_id = 'mine'\n")
    refused = ollm("mcp", "login", "work", "--client-secret", **home)
    assert refused.returncode == 2
    assert "there is no terminal" in refused.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [("box", "is a program"), ("other", "has a token in"), ("nope", "There is no MCP server")],
)
def test_what_takes_no_sign_in_is_refused(
    name: str, words: str, ollm: Ollm, home: dict[str, str]
) -> None:
    for action in ("login", "logout"):
        refused = ollm("mcp", action, name, **home)
        assert refused.returncode == 2
        assert words in refused.stderr

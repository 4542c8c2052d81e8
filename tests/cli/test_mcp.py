"""`ollm mcp`: servers are added, listed, tried and removed, and the file keeps its comments."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from ollm_tui.mcp.other_clients import read_servers
from ollm_tui.protocol.errors import AIError
from tests.cli.conftest import Ollm

FAULTS = str(Path(__file__).parents[1] / "support" / "mcp_faults.py")
SETTINGS = """\
# mine
theme = "dusk"  # dark

[mcp_servers.old]
command = "old"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(SETTINGS)
    return file


def env(config: Path) -> dict[str, str]:
    folder = config.parent
    return {
        "HOME": str(folder),
        "OLLM_CONFIG": str(config),
        "XDG_STATE_HOME": str(folder / "state"),
    }


def test_a_server_is_added_listed_tried_and_removed(ollm: Ollm, config: Path) -> None:
    added = ollm(
        *("mcp", "add", "box", "--env", "TOKEN=${NOT_SHOWN}", "--"),
        *(sys.executable, "-I", FAULTS, "bad_tools"),
        **env(config),
    )
    assert added.returncode == 0, added.stderr
    assert f"{sys.executable} -I {FAULTS} bad_tools with TOKEN" in added.stderr
    text = config.read_text()
    assert text.startswith(SETTINGS)
    assert 'env = {TOKEN = "${NOT_SHOWN}"}' in text
    again = ollm("mcp", "add", "box", "--", "x", **env(config))
    assert (again.returncode, "already" in again.stderr) == (2, True)
    listed = json.loads(ollm("mcp", "list", "--json", **env(config)).stdout)
    assert [(one["name"], one["enabled"]) for one in listed] == [("old", True), ("box", True)]
    tried = ollm("mcp", "test", "box", NOT_SHOWN="x", **env(config))
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.splitlines() == [
        "box: ready, 2 tools (faults 1)",
        "  echo",
        "  odd name⟦U+202E⟧",
    ]
    assert "is left out: its description is longer" in tried.stderr
    removed = ollm("mcp", "rm", "box", **env(config))
    assert removed.returncode == 0
    assert config.read_text().rstrip() == SETTINGS.rstrip()


def test_what_a_server_may_do_is_said_as_it_is_added(ollm: Ollm, config: Path) -> None:
    box = ("--sampling", "--elicitation", "--no-roots", "--start-timeout", "30")
    assert ollm("mcp", "add", "box", *box, "--", "box", **env(config)).returncode == 0
    web = ("--client-id", "mine", "--callback-port", "8765", "--call-timeout", "600")
    url = ("--url", "https://mcp.example.com/mcp")
    assert ollm("mcp", "add", "web", *url, *web, **env(config)).returncode == 0
    servers = tomllib.loads(config.read_text())["mcp_servers"]
    assert servers["box"] == {
        "command": "box",
        "sampling": True,
        "elicitation": True,
        "roots": False,
        "start_timeout_s": 30.0,
    }
    assert servers["web"]["oauth"] == {"client_id": "mine", "callback_port": 8765}
    assert servers["web"]["call_timeout_s"] == 600
    for wrong, words in (
        (("--call-timeout", "0", "--", "x"), "--call-timeout"),
        (("--callback-port", "0", *url), "--callback-port"),
        (("--client-id", "mine", "--", "x"), "are for a server with --url"),
    ):
        refused = ollm("mcp", "add", "wrong", *wrong, **env(config))
        assert refused.returncode == 2
        assert words in refused.stderr


def test_one_that_fails_is_an_error_with_the_end_of_its_log(ollm: Ollm, config: Path) -> None:
    ollm("mcp", "add", "box", "--", sys.executable, "-I", FAULTS, "die", **env(config))
    tried = ollm("mcp", "test", **env(config))
    assert tried.returncode == 1
    assert "box: It ended before it answered (exit code 9)." in tried.stderr
    assert "no key is set" in tried.stderr
    assert "old: The program old does not exist or cannot be run." in tried.stderr


def test_servers_of_another_client_are_added_after_a_question(ollm: Ollm, config: Path) -> None:
    file = config.parent / "claude.json"
    servers = {
        "a": {"command": "x", "args": ["-y", "${HOME}/b"], "env": {"API_KEY": "k-123"}},
        "b": {"type": "sse", "url": "http://x"},
        "old": {"command": "evil"},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    asked = ollm("mcp", "add", "--from", str(file), **env(config))
    assert asked.returncode == 3
    assert config.read_text() == SETTINGS
    done = ollm("mcp", "add", "--from", str(file), "--yes", **env(config))
    assert done.returncode == 0
    for part in ("a: x -y '${HOME}/b' with API_KEY", "the values of API_KEY will be", "HTTP+SSE"):
        assert part in done.stderr
    assert "old is in the settings already" in done.stderr
    assert "evil" not in config.read_text()
    assert "k-123" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add"], "needs a name"),
        (["add", "x"], "either a command or an address"),
        (["add", "x", "--url", "ftp://a"], "an address such as https://"),
        (["add", "x", "--url", "http://"], "an address such as https://"),
        (["add", "x", "--url", "http://a", "--header", "A"], "NAME:VALUE"),
        (["add", " x", "--", "y"], "without blanks"),
        (["rm", "olt"], "Did you mean old?"),
        (["test", "nope"], "There is no MCP server nope"),
        (["add", "--from", "/not/there"], "it does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], words: str, ollm: Ollm, config: Path
) -> None:
    refused = ollm("mcp", *arguments, **env(config))
    assert refused.returncode in {1, 2}
    assert words in refused.stderr
    assert config.read_text() == SETTINGS


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mcpServers": {}}', "{" * 5000, "\xff"])
def test_a_file_that_is_none_of_a_client_is_refused(text: str) -> None:
    with pytest.raises(AIError, match=r"not JSON|names no MCP servers"):
        read_servers(text.encode("latin-1"))


def test_the_shapes_of_other_clients() -> None:
    text = json.dumps(
        {
            "mcp": {
                "servers": {
                    "code": {"type": "stdio", "command": "x", "env": {"K": "${env:K} ${input:k}"}},
                    "web": {"type": "http", "url": "https://a", "headers": {"A": "b"}},
                    "both": {"command": "x", "url": "https://a"},
                    "odd": 5,
                    "off": {"command": "x", "disabled": True},
                }
            }
        }
    )
    servers = read_servers(text.encode())
    assert servers.servers == {
        "code": {"command": "x", "env": {"K": "${K} $${input:k}"}},
        "web": {"url": "https://a", "headers": {"A": "b"}},
        "off": {"command": "x", "enabled": False},
    }
    assert len(servers.problems) == 2

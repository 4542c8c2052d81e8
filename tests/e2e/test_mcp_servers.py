"""MCP servers in the real program: those of a folder start never by themselves, and none asks
unseen."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import CONFIG, Start, ask, assert_left_sane, ready

pytestmark = [pytest.mark.pty, pytest.mark.slow]

FAULTS = Path(__file__).parents[1] / "support" / "mcp_faults.py"


def server(mode: str, record: Path, *more: str) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-I", str(FAULTS), mode, str(record), *more]}


def settings(home: Path, servers: Mapping[str, dict[str, object]], more: str = "") -> None:
    """Write servers into the settings; JSON is TOML here, but for the colons."""
    lines = [CONFIG]
    for name, one in servers.items():
        lines.append(f"[mcp_servers.{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in one.items()]
        lines.append(more)
    (home / "config" / "ollm" / "config.toml").write_text("\n".join(lines))


def plant(folder: Path, record: Path) -> str:
    """Write servers into all files of a project from which other programs take them."""
    planted = server("ok", record)
    document = json.dumps({"mcpServers": {"evil": planted}, "servers": {"evil": planted}})
    toml = f"[mcp_servers.evil]\ncommand = {json.dumps(planted['command'])}\n"
    toml += f"args = {json.dumps(planted['args'])}\n"
    for name in (".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".ollm/mcp.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(document)
    for name in ("config.toml", "ollm.toml", ".ollm.toml", ".ollm/config.toml", "ollm/config.toml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(toml)
    return shlex.join([str(planted["command"]), *map(str, planted["args"])])  # type: ignore[call-overload]


def test_a_folder_starts_no_server_before_a_yes(
    start: Start, home_with_model: Path, tmp_path: Path
) -> None:
    home, record = home_with_model, tmp_path / "home-record"
    command = plant(tmp_path, record)  # the program starts in this folder
    with start(home, "--model", "tiny-scripted") as session:
        ready(session)
        ask(session, "/mcp")
        session.wait_for("The settings name no MCP servers")
        ask(session, "plain")
        session.wait_for("tok/s")
        session.write("\x04")
        assert_left_sane(session, 0)
    assert not record.exists()

    adding = ("mcp", "add", "--from", ".mcp.json")
    with start(home, *adding, size=(400, 24)) as session:
        session.wait_for(f"evil: {command}")
        session.wait_for("Add 1 server, which can do what you can do?")
        session.write("n\n")
        assert session.exit_status() == 1
    assert "evil" not in (home / "config" / "ollm" / "config.toml").read_text()
    with start(home, *adding, size=(400, 24)) as session:
        session.wait_for("Add 1 server, which can do what you can do?")
        session.write("y\n")
        assert session.exit_status() == 0
    assert not record.exists()  # it was added, and not started
    with start(home, "--model", "tiny-scripted") as session:
        ready(session)
        session.wait_for(record.exists)
        session.write("\x04")
        assert_left_sane(session, 0)


def answers(record: Path) -> dict[str, dict[str, object]]:
    """Return what a server was told, by what it had asked."""
    told: dict[str, dict[str, object]] = {}
    for line in record.read_text().splitlines() if record.exists() else ():
        if line.startswith("{") and (message := json.loads(line)).get("method") is None:
            told[str(message.get("id"))] = message
    return told


def test_what_a_server_asks_for_is_refused_unless_the_settings_allow_it(
    start: Start, home_with_model: Path, tmp_path: Path
) -> None:
    home, record = home_with_model, tmp_path / "record"
    settings(home, {"box": server("asks_at_once", record)}, "roots = false")
    with start(home, "--model", "tiny-scripted") as session:
        ready(session)
        session.wait_for(lambda: {"s1", "s2", "s3", "s4"} <= set(answers(record)))
        session.write("\x04")
        assert_left_sane(session, 0)
    assert all("error" in one for one in answers(record).values())
    told = json.loads(record.read_text().splitlines()[1])  # the line of `initialize`
    assert not {"sampling", "elicitation", "roots"} & set(told["params"]["capabilities"])
    assert b"wants you to open" not in session.raw
    assert b"Let your model answer" not in session.raw


def test_what_it_may_ask_for_is_a_question_and_nothing_is_sent_before_the_answer(
    start: Start, home_with_model: Path, tmp_path: Path
) -> None:
    home, record = home_with_model, tmp_path / "record"
    asks = server("asks_at_once", record, "s1,s2")
    settings(home, {"box": asks}, "sampling = true\nelicitation = true")
    with start(home, "--model", "tiny-scripted") as session:
        ready(session)
        session.wait_for("Let your model answer the MCP server box?")
        assert answers(record) == {}
        session.write(b"\x1b")
        session.wait_for("The MCP server box asks you something.")
        session.wait_for(lambda: set(answers(record)) == {"s1"})
        session.write(b"\x1b")
        session.wait_for(lambda: set(answers(record)) == {"s1", "s2"})
        session.write("\x04")
        assert_left_sane(session, 0)
    assert "error" in answers(record)["s1"]
    assert answers(record)["s2"]["result"] == {"action": "cancel"}

"""Chats that are built on Textual."""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.terminal.peers.settings import openai_environment, own_command
from benchmarks.terminal.program import Program, Step

# A quick spin of the mouse wheel over the transcript: these do not scroll it by PgUp.
WHEEL_UP, WHEEL_DOWN = "\x1b[<64;60;15M" * 10, "\x1b[<65;60;15M" * 10
ELIA = """default_model = "fake"
[[models]]
id = "fake"
name = "openai/fake"
display_name = "Fake"
api_base = "{url}/v1"
api_key = "sk-fake"
"""
CTRL_C, CTRL_N = "\x03", "\x0e"


def elia(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """Elia, over LiteLLM."""
    return Program(
        argv=[own_command("elia")],
        ready="Enter your message",
        env=openai_environment(url),
        files={".config/elia/config.toml": ELIA.format(url=url)},
        submit="\n",
        page_up=WHEEL_UP,
        page_down=WHEEL_DOWN,
    )


def oterm(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """Oterm, over Ollama."""
    return Program(
        argv=[own_command("oterm")],
        ready="^ \N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}",
        env={
            "OLLAMA_URL": url,
            "OLLAMA_HOST": url.removeprefix("http://"),
            "OTERM_DATA_DIR": str(home / "oterm"),
        },
        files={"oterm/config.json": '{"splash-screen": false}'},
        steps=[
            Step(seen="Ctrl.N to start", keys=CTRL_N),
            Step(seen="fake:latest", click="fake:latest"),
            Step(seen="Save", click="Save"),
        ],
        page_up=WHEEL_UP,
        page_down=WHEEL_DOWN,
    )


def parllama(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """PAR LLAMA, over Ollama."""
    options = ["-d", str(home / "par"), "-u", url, "-s", "chat", "-a", "0", "-p", "0"]
    return Program(
        argv=[own_command("parllama"), *options],
        ready="Type a message",
        env={"OLLAMA_URL": url},
        files={"par/settings.json": '{"show_first_run": false}'},
        steps=[
            Step(seen="fake:latest", click="fake:latest"),
            Step(seen="Chat", keys=CTRL_C),
        ],
        stop_click="Stop",
        page_up=WHEEL_UP,
        page_down=WHEEL_DOWN,
    )


def toad(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """Toad, over an agent process that relays the server."""
    relay = Path(__file__).with_name("agent_relay.py")
    return Program(
        argv=[own_command("toad"), "acp", f"{sys.executable} -P {relay} {url}", str(home)],
        ready="How can I help you",
        files={".config/toad/toad.json": '{"sidebar": {"hide": true}}'},
        stop=("\x1b", "\x1b"),
        clear="",
        page_up=WHEEL_UP,
        page_down=WHEEL_DOWN,
    )

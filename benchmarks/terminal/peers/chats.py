"""How to start and work the peers, and which are installed."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from benchmarks.terminal.peers.place import PACKAGES, openai_environment, own_command
from benchmarks.terminal.programs import INTERRUPT, Maker, Program, Step

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
CODEX = """model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "Fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."{work}"]
trust_level = "trusted"
"""


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


def llm(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """LLM, which prints the text as it comes."""
    return Program(
        argv=[own_command("llm"), "chat", "-m", "ollama/fake:latest"],
        ready="^> ",
        env={"OLLAMA_HOST": url},
        stop=(INTERRUPT,),
        page_up="",
        types_while_streaming=False,
        line_mode=True,
    )


def codex(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """Codex, in Rust."""
    return Program(
        argv=[own_command("codex")],
        ready="Ask Codex",
        env=openai_environment(url),
        files={".codex/config.toml": CODEX.format(url=url, work=home.parent / "work")},
        page_up="",
        key_gap_s=0.02,
        settle_s=5.0,
    )


def qwen_code(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """Qwen Code, on Ink."""
    settings = {
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "openai"}},
    }
    server = ["--openai-api-key", "sk-fake", "--openai-base-url", f"{url}/v1"]
    return Program(
        argv=[own_command("qwen-code"), "--auth-type", "openai", *server, "--model", "fake"],
        ready="Type your message",
        env=openai_environment(url),
        files={".qwen/settings.json": json.dumps(settings)},
        page_up="",
    )


def opencode(url: str, home: Path, under: Sequence[str] = ()) -> Program:
    """OpenCode, on OpenTUI."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "sk-fake"},
        "models": {"fake": {"name": "Fake"}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "model": "fake/fake",
        "small_model": "fake/fake",
        "provider": {"fake": provider},
    }
    switches = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return Program(
        argv=[own_command("opencode")],
        ready="Ask anything",
        env={f"OPENCODE_DISABLE_{switch}": "1" for switch in switches},
        files={".config/opencode/opencode.json": json.dumps(settings)},
        stop=("\x1b", "\x1b"),
        page_up=WHEEL_UP,
        page_down=WHEEL_DOWN,
    )


PEERS: Mapping[str, Maker] = MappingProxyType(
    {
        "llm": llm,
        "codex": codex,
        "qwen-code": qwen_code,
        "opencode": opencode,
        "elia": elia,
        "oterm": oterm,
        "parllama": parllama,
        "toad": toad,
    }
)


def installed_peers() -> Mapping[str, Maker]:
    """Return the makers of the installed ones."""
    there = {package.name for package in PACKAGES if package.is_installed}
    return {name: maker for name, maker in PEERS.items() if name in there}

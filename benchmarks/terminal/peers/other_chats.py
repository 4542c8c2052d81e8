"""Chats on other toolkits, and one that prints lines."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.terminal.peers.settings import openai_environment, own_command
from benchmarks.terminal.peers.textual_chats import WHEEL_DOWN, WHEEL_UP
from benchmarks.terminal.program import INTERRUPT, Program

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

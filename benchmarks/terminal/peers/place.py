"""Where the peers are, how each gets there, and their settings."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


def peers_folder() -> Path:
    """Return the folder of all peers: below the person's cache, or `OLLM_BENCH_PEERS`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("OLLM_BENCH_PEERS") or cache / "ollm-bench")


@dataclass(frozen=True, slots=True)
class Package:
    """A peer's packages, and the command they bring."""

    name: str
    client: Literal["pip", "npm"]
    requirements: tuple[str, ...]
    command: str

    @property
    def folder(self) -> Path:
        """Where it is installed, alone."""
        return peers_folder() / ("venvs" if self.client == "pip" else "npm") / self.name

    @property
    def program(self) -> Path:
        """The command."""
        inside = "bin" if self.client == "pip" else "node_modules/.bin"
        return self.folder / inside / self.command

    @property
    def is_installed(self) -> bool:
        """Whether it can be run."""
        return self.program.exists() and (self.client == "pip" or shutil.which("node") is not None)


PACKAGES = (
    Package("llm", "pip", ("llm", "llm-ollama"), "llm"),
    Package("elia", "pip", ("elia-chat",), "elia"),
    Package("oterm", "pip", ("oterm",), "oterm"),
    Package("parllama", "pip", ("parllama",), "parllama"),
    Package("toad", "pip", ("batrachian-toad",), "toad"),
    Package("qwen-code", "npm", ("@qwen-code/qwen-code",), "qwen"),
    Package("opencode", "npm", ("opencode-ai",), "opencode"),
    Package("codex", "npm", ("@openai/codex",), "codex"),
)


def own_command(name: str) -> str:
    """Return the installed command of a peer."""
    return str(next(package.program for package in PACKAGES if package.name == name))


def openai_environment(url: str) -> dict[str, str]:
    """Return what sends an OpenAI client to the server on loopback."""
    return {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
    }

"""The peers that are there."""

from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.terminal.peers.other_chats import codex, llm, opencode, qwen_code
from benchmarks.terminal.peers.place import PACKAGES
from benchmarks.terminal.peers.textual_chats import elia, oterm, parllama, toad
from benchmarks.terminal.programs import Maker

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
    """Give the makers of the installed ones."""
    there = {package.name for package in PACKAGES if package.is_installed}
    return {name: maker for name, maker in PEERS.items() if name in there}

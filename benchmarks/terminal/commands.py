"""Commands that print and end: the time to their first byte, to their end, and their work."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType

from benchmarks.terminal.backend.process import Backend
from benchmarks.terminal.peers.place import own_command
from benchmarks.terminal.programs import OLLM, PYTHON, base_environment
from benchmarks.terminal.run import Failed
from benchmarks.terminal.scenarios.measures import Values
from benchmarks.terminal.session import now

TIMES = 5
"""How often a command is run in a round, after a run that does not count."""
TOKENS = 200
CODEX, LLM = "codex", "llm"
BARE_BINARY = "binary_s"
"""The time of a program whose command is a script that starts it, started without the script."""
_IDENTS = count(900_001)


@dataclass(frozen=True, slots=True)
class Command:
    """What each program is given to do the same."""

    arguments: Mapping[str, Sequence[str]]
    asks: bool = False
    """Whether it is a prompt, which is added."""

    def __call__(self, name: str, backend: Backend) -> Values:
        with tempfile.TemporaryDirectory(prefix="ollm-bench-command-") as folder:
            home = Path(folder)
            env = base_environment(home, os.environ.get("PATH", "")) | {"OLLAMA_HOST": backend.url}
            taken = [run(self.argv(name), env, home) for _ in range(TIMES + 1)][1:]
            binary = codex_binary() if name == CODEX else None
            alone = [run([str(binary), *self.arguments[name]], env, home)[1] for _ in range(TIMES)
                     if binary]  # fmt: skip
        medians = [statistics.median(values) for values in zip(*taken, strict=True)]
        values: Values = dict(zip(("first_byte_s", "whole_s", "cpu_s"), medians, strict=True))
        return values | ({BARE_BINARY: statistics.median(alone)} if alone else {})

    def argv(self, name: str) -> list[str]:
        """Return the command line; each prompt is a new one."""
        prompt = [f"BENCH n={TOKENS} r=0 id={next(_IDENTS)}"] if self.asks else []
        program = own_ollm() if name == OLLM else [own_command(name)]
        return [*program, *self.arguments[name], *prompt]


def own_ollm() -> list[str]:
    """Return the command as it is installed, or what runs it without."""
    script = Path(sys.executable).with_name("ollm")
    return [str(script)] if script.exists() else [*PYTHON, "-m", "ollm_tui"]


def codex_binary() -> Path | None:
    """Return the binary that the command of Codex, a script for Node, starts."""
    modules = Path(own_command(CODEX)).parents[1]
    return next(modules.glob("@openai/codex-*/vendor/*/bin/codex"), None)


def run(argv: Sequence[str], env: Mapping[str, str], home: Path) -> tuple[float, float, float]:
    """Return the seconds to the first byte and to the end, and the processor time of all."""
    began = now()
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
        cwd=home,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        first = None
        while os.read(process.stdout.fileno(), 65536):
            first = first or now()
        _, status, usage = os.wait4(process.pid, 0)
        ended = now()
        process.returncode = os.waitstatus_to_exitcode(status)
        said = process.stderr.read().decode("utf-8", "replace").strip() if process.stderr else ""
    if process.returncode or first is None:
        raise Failed(f"{shutil.which(argv[0]) or argv[0]} failed: {said[-160:]}")
    return first - began, ended - began, usage.ru_utime + usage.ru_stime


VERSION = Command(MappingProxyType({OLLM: ["--version"], CODEX: ["--version"]}))
PRINT = Command(
    MappingProxyType({
        OLLM: ["--model", "local://fake:latest", "-p"],
        LLM: ["-m", "ollama/fake:latest"],
    }),
    asks=True,
)  # fmt: skip

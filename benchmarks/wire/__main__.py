"""Compare the adapters with the official clients: `python -m benchmarks.wire [CHUNKS [ROUNDS]]`.

Exit status 1 when a limit is missed.
"""

import json
import os
import subprocess
import sys

from benchmarks.terminal.answer import pieces
from benchmarks.terminal.backend.process import ROOT
from benchmarks.terminal.figures import Figure
from benchmarks.terminal.measuring import Measured
from benchmarks.terminal.report import exit_status, figures_table
from benchmarks.terminal.rows import Row, Rows
from benchmarks.wire.blast import blasting
from benchmarks.wire.clients import (
    CLIENTS,
    OURS_OLLAMA,
    OURS_OPENAI,
    THEIRS_OLLAMA,
    THEIRS_OPENAI,
)

CHUNKS, ROUNDS = 100_000, 3
CASE = "wire"


def read_once(name: str, url: str, characters: int, round_: int) -> Row:
    """Run one client in a process of its own."""
    command = [sys.executable, "-P", "-m", "benchmarks.wire.clients", name, url, str(characters)]
    env = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        return Row(name, CASE, round_, error=done.stderr.strip()[-300:])
    return Row(name, CASE, round_, json.loads(done.stdout))


def figure(ours: str, theirs: str, limit: float, chunks: int) -> Figure:
    """Make the line of one adapter."""

    def measure(rows: Rows) -> Measured | None:
        own, other = (rows.by_round(name, CASE, "cpu_s") for name in (ours, theirs))
        ratio = rows.ratio(own, other)
        if ratio is None:
            return None
        seconds = [f"{rows.median(name, CASE, 'cpu_s'):.2f} s" for name in (ours, theirs)]
        return Measured(ratio, seconds[0], f"{theirs}: {seconds[1]}")

    return Figure(f"wire: CPU of {chunks:,} chunks, {ours}", [CASE], measure, limit)


def main() -> int:
    """Run the rounds and print the table."""
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    characters = len("".join(pieces(chunks)))
    rows = []
    with blasting(chunks) as url:
        for at in range(rounds):
            for name in CLIENTS:
                row = read_once(name, url, characters, at)
                rows.append(row)
                print(f"wire round {at + 1} {name:24} {row.error or row.values}", flush=True)
    figures = [
        figure(OURS_OPENAI, THEIRS_OPENAI, 0.2, chunks),
        figure(OURS_OLLAMA, THEIRS_OLLAMA, 1.1, chunks),
    ]
    measured = Rows(rows)
    print("", figures_table(measured, figures), sep="\n")
    return exit_status(measured, figures)


if __name__ == "__main__":
    sys.exit(main())

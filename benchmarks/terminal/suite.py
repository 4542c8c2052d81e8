"""Runs cases: in each round every case of a group, with one program after the other."""

import math
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.terminal.backend.process import Backend
from benchmarks.terminal.cases import Case
from benchmarks.terminal.commands import Command
from benchmarks.terminal.process_tree import cpu_of
from benchmarks.terminal.programs import OLLM, Maker, ollm_last_chat
from benchmarks.terminal.quiet import BUSY, Others, load
from benchmarks.terminal.rows import Row, Rows
from benchmarks.terminal.run import Failed, Run
from benchmarks.terminal.seeds import Seeds

MEMORY = Path("/dev/shm")
"""Where chats are made before they are copied: on a disk each of 7,500 commits waits for it."""
PEER_TIMES = 2.0
"""How many times as long a peer takes, mostly to start, and to show what is long there."""
PEER_FIRST_S = 6
MAX_REPEATED = 3
"""How many rounds of a case are repeated at most because others used the machine."""


class Suite:
    """Programs by name, and which of them are peers."""

    def __init__(self, makers: Mapping[str, Maker], peers: Sequence[str] = ()) -> None:
        self._makers = makers
        self._peers = peers
        self._load = load()

    def programs(self, case: Case, round_: int) -> list[str]:
        """Return who takes part in a round of a case."""
        rivals = [name for name in case.rivals if name in self._peers]
        others = [name for name in self._peers if case.peers and name not in rivals]
        once = [name for name in case.once if name in self._makers]
        return [*case.programs, *rivals, *([*once, *others] if round_ == 0 else ())]

    def seconds(self, groups: Sequence[Sequence[Case]]) -> float:
        """Estimate how long the groups take."""
        runs = [
            (case.seconds, name in self._peers)
            for group in groups
            for case in group
            for at in range(case.rounds)
            for name in self.programs(case, at)
        ]
        first = PEER_FIRST_S * len(self._peers)
        return first + sum(seconds * (PEER_TIMES if is_peer else 1) for seconds, is_peer in runs)

    def run(self, groups: Sequence[Sequence[Case]]) -> Iterator[Row]:
        """Run all and yield each row as it comes."""
        self._load_once(groups)
        in_memory = str(MEMORY) if os.access(MEMORY, os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="ollm-bench-chats-", dir=in_memory) as folder:
            seeds = Seeds(Path(folder))
            for group in groups:
                yield from self._rounds(group, seeds)

    def _rounds(self, group: Sequence[Case], seeds: Seeds) -> Iterator[Row]:
        """Measure a group; a round in which others used the machine is repeated."""
        rows = Rows([])
        for at in range(max(case.rounds for case in group) + MAX_REPEATED):
            for case in group:
                if at >= case.rounds + self._repeats(case, rows):
                    continue
                for name in self.programs(case, at):
                    rows.all.append(row := self._row(case, name, at, seeds))
                    yield row

    def _repeats(self, case: Case, rows: Rows) -> int:
        """Return how many rounds of a case have to be repeated, on a machine that was quiet."""
        noisy = {row.round for row in rows.noisy if row.case == case.name}
        return min(MAX_REPEATED, len(noisy)) if self._load <= BUSY else 0

    def _load_once(self, groups: Sequence[Sequence[Case]]) -> None:
        """Start every program once, so that compiling and reading from disk are not measured."""
        taking_part = [
            name for group in groups for case in group for name in self.programs(case, 0)
        ]
        for name in dict.fromkeys(taking_part):
            # A failure here is repeated and reported when it is measured.
            with (
                suppress(Failed, OSError),
                Backend() as backend,
                Run(self._makers[name], backend) as run,
            ):
                run.start()

    def _row(self, case: Case, name: str, at: int, seeds: Seeds) -> Row:
        if isinstance(case.scenario, Command):
            return self._command(case, case.scenario, name, at)
        maker, home = self._makers[name], None
        if case.chat is not None:
            home = seeds.home(case.chat)
            maker = ollm_last_chat if name == OLLM else maker
        has_heart = case.has_heart and name not in self._peers
        with Backend() as backend:
            others = Others(lambda: sum(os.times()[:4]) + cpu_of(backend.pid))
            try:
                with Run(maker, backend, seed=home, has_heart=has_heart) as run:
                    values = case.scenario(run)
                    share = others.share(run.session.tree.cpu_s())
                    return Row(name, case.name, at, values, others=share, load=self._load)
            except (Failed, OSError) as error:
                return self._failed(case, name, at, error)

    def _command(self, case: Case, command: Command, name: str, at: int) -> Row:
        with Backend() as backend:
            others = Others(lambda: sum(os.times()[:4]) + cpu_of(backend.pid))
            try:
                values = command(name, backend)
            except (Failed, OSError) as error:
                return self._failed(case, name, at, error)
            return Row(name, case.name, at, values, others=others.share(), load=self._load)

    def _failed(self, case: Case, name: str, at: int, error: Exception) -> Row:
        return Row(name, case.name, at, error=str(error) or type(error).__name__, load=self._load)


class Progress:
    """Tells on the way what is done and what is left."""

    def __init__(self, expected_s: float) -> None:
        self._began = time.perf_counter()
        self._expected_s = expected_s

    def line(self, row: Row) -> str:
        """Return a row as one line."""
        passed = time.perf_counter() - self._began
        left = max(0, math.ceil((self._expected_s - passed) / 60))
        what = row.error or ", ".join(_short(key, row.values[key]) for key in list(row.values)[:4])
        where = f"{row.case} round {row.round + 1}"
        return f"[{passed:4.0f} s, about {left} min left] {where:28} {row.program:13} {what}"


def _short(key: str, value: float | list[float]) -> str:
    if isinstance(value, list):
        ordered = sorted(value) or [math.nan]
        return f"{key} {ordered[len(ordered) // 2]:.1f}..{ordered[-1]:.1f}"
    return f"{key} {value:.3g}"

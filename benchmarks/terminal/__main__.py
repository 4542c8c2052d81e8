"""Run the suite and print its tables.

The exit status is 1 when a limit is missed, and 3 when something could not be judged, because the
machine was not quiet or the rounds were too few.

python -m benchmarks.terminal                    everything that `make bench` runs
python -m benchmarks.terminal startup echo       some groups
python -m benchmarks.terminal --stream 20000@200 --rounds 3      other answers
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from benchmarks.terminal.cases import DEFAULT, GROUPS, Case, stream_case
from benchmarks.terminal.peers.chats import installed_peers
from benchmarks.terminal.programs import MAKERS
from benchmarks.terminal.quiet import BUSY, load
from benchmarks.terminal.report import (
    documents_table,
    exit_status,
    figures_table,
    programs_table,
    quiet_report,
)
from benchmarks.terminal.rows import Row, Rows, row_from
from benchmarks.terminal.suite import Progress, Suite


def arguments(typed: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.terminal",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--stream", action="append", default=[], metavar="TOKENS@RATE")
    parser.add_argument("--rounds", type=int, help="instead of each case's own")
    parser.add_argument("--no-peers", action="store_true", help="leave installed peers out")
    parser.add_argument("--peers", help="only these, with commas")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="add each row as a line of JSON")
    parser.add_argument(
        "--tables", type=Path, metavar="FILE", help="measure nothing, tell what such a file holds"
    )
    read = parser.parse_args(typed)
    if unknown := set(read.groups) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    return read


def chosen(read: argparse.Namespace) -> list[Sequence[Case]]:
    """Return the cases that the command line asks for, by group."""
    names = read.groups or ([] if read.stream else DEFAULT)
    groups: list[Sequence[Case]] = [GROUPS[name] for name in names]
    if read.stream:
        pairs = [text.split("@") for text in read.stream]
        groups.append([stream_case(int(tokens), int(rate), peers=True) for tokens, rate in pairs])
    if read.rounds:
        groups = [[replace(case, rounds=read.rounds) for case in group] for group in groups]
    return groups


def collect(suite: Suite, groups: Sequence[Sequence[Case]], file: Path | None) -> list[Row]:
    """Run the cases and report each; Ctrl+C keeps what was measured so far."""
    progress, rows = Progress(suite.seconds(groups)), list[Row]()
    with suppress(KeyboardInterrupt):
        for row in suite.run(groups):
            rows.append(row)
            print(progress.line(row), flush=True)
            if file is not None:
                with file.open("a", encoding="utf-8") as opened:
                    opened.write(row.line() + "\n")
    return rows


def main() -> int:
    """Measure, print the tables, and fail when a limit is missed."""
    read = arguments()
    if read.tables is not None:
        return tell(Rows([row_from(line) for line in read.tables.read_text("utf-8").splitlines()]))
    others = {} if read.no_peers else installed_peers()
    if read.peers:
        others = {name: others[name] for name in read.peers.split(",") if name in others}
    groups = chosen(read)
    suite = Suite({**MAKERS, **others}, list(others))
    minutes = suite.seconds(groups) / 60
    print(f"peers: {', '.join(others) or 'none'}; about {minutes:.0f} minutes", flush=True)
    if (before := load()) > BUSY:
        print(f"this machine is busy (load {before:.1f}), so nothing will be judged: bare Textual")
        print("skips frames then, ratios to it come out too high, and times are the machine's")
    return tell(Rows(collect(suite, groups, read.rows)))


def tell(rows: Rows) -> int:
    """Print the tables; return the exit status."""
    tables = figures_table(rows), programs_table(rows), documents_table(rows), quiet_report(rows)
    for table in tables:
        print(f"\n{table}" if table else "")
    for error in rows.errors():
        print(f"- {error}")
    return exit_status(rows)


if __name__ == "__main__":
    sys.exit(main())

"""What a request costs beside its bytes: `python -m benchmarks.request`.

Chats of 2, 200 and 2,000 saved messages are opened and asked through the runtime that the app uses,
each question in turn with a bare socket that sends the same bytes. A figure is the difference: from
asking to the first byte at the server, and from the last byte it sent until the chat takes the next
question. The first question in an opened chat counts apart from the further ones.
"""

import argparse
import functools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from benchmarks.request.asking import Added, BareSocket, Server, ask, running_server, save_chat
from benchmarks.terminal.figures import Figure
from benchmarks.terminal.measuring import median_of
from benchmarks.terminal.process_tree import cpu_of
from benchmarks.terminal.programs import OLLM
from benchmarks.terminal.quiet import Others, load
from benchmarks.terminal.report import exit_status, figures_table, quiet_report
from benchmarks.terminal.rows import Row, Rows
from benchmarks.terminal.scenarios.measures import Values
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.runtime import compose

LENGTHS = (2, 200, 2000)
ROUNDS, QUESTIONS = 7, 5
RATE, PIECES = 200.0, 30
LIMIT_MS = 5.0
SOCKET = "bare socket"
BEFORE, AFTER, FIRST_BEFORE, FIRST_AFTER = "before_s", "after_s", "first_before_s", "first_after_s"
CPU, EACH_BEFORE, EACH_AFTER = "cpu_s", "each_before_s", "each_after_s"


def figures(lengths: Sequence[int], rounds: int) -> list[Figure]:
    """Return the lines of the table, with limits for the further questions."""
    lines = []
    for length in lengths:
        case = case_of(length)
        for what, key, limit in (
            ("before the first byte is sent", BEFORE, LIMIT_MS),
            ("after the last is read", AFTER, LIMIT_MS),
            ("before, first question in an opened chat", FIRST_BEFORE, None),
            ("after, first question in an opened chat", FIRST_AFTER, None),
            ("processor time of a question and its answer", CPU, None),
        ):
            measure = median_of(case, key, "ms", 1000, [SOCKET])
            lines.append(Figure(f"{case}: {what}", [case], measure, limit, "ms", rounds))
    return lines


def case_of(length: int) -> str:
    """Name the chat of so many messages."""
    return f"request in a chat of {length:,}"


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.request", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="further ones of a round")
    parser.add_argument("--rate", type=float, default=RATE, help="pieces of an answer in a second")
    parser.add_argument("--kind", choices=("ollama", "openai-compatible"), default="ollama")
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    options = parser.parse_args(given)
    with (
        running_server(options.rate, PIECES) as server,
        tempfile.TemporaryDirectory(prefix="ollm-bench-request-") as folder,
    ):
        rows = Rows(anyio.run(functools.partial(measured, server, Path(folder), options)))
    lines = figures(options.lengths, min(options.rounds, 5))
    print(f"load {rows.load_before:.1f}, {options.rate:g} pieces a second, by {options.kind}")
    print(figures_table(rows, lines), *least(rows, options.lengths), quiet_report(rows), sep="\n")
    return exit_status(rows, lines)


def least(rows: Rows, lengths: Sequence[int]) -> Iterator[str]:
    """Say what the quickest question of each length took, which a busy machine changes least."""
    for length in lengths:
        case = case_of(length)
        before, after = (min(rows.every(OLLM, case, key)) for key in (EACH_BEFORE, EACH_AFTER))
        yield f"{case}, least of all: {1000 * before:.1f} ms before, {1000 * after:.1f} ms after"


async def measured(server: Server, folder: Path, options: argparse.Namespace) -> list[Row]:
    """Take all rounds, each length in turn."""
    paths = AppPaths(folder / "config", folder / "data", folder / "state", folder / "cache")
    path = "" if options.kind == "ollama" else "/v1"
    flags = Flags(provider=options.kind, host=server.url + path)
    environ = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder)}
    loaded = load_config(paths, environ, flags)
    rows, load_before = [], load()
    async with compose.open_runtime(loaded, paths) as runtime:
        await runtime.catalog.refresh()
        model = str((await runtime.first_model()).required())
        assert runtime.chats is not None
        for length in options.lengths:
            await save_chat(runtime.chats, f"chat-{length}", length, model)
        for number in range(options.rounds + 1):
            for length in options.lengths:
                others = Others(lambda: time.process_time() + cpu_of(server.pid))
                values = await one_round(runtime, server, f"chat-{length}", options.questions)
                share = others.share()
                for program, own in zip((OLLM, SOCKET), values, strict=True):
                    row = Row(program, case_of(length), number, own, others=share, load=load_before)
                    if number:  # what is loaded late counts for nothing
                        rows.append(row)
    return rows


async def one_round(
    runtime: compose.Runtime, server: Server, chat: str, questions: int
) -> tuple[Values, Values]:
    """Open a chat and ask; return what the program added, and what the socket took."""
    client = await runtime.open_chat(chat)
    client.rewind(int(chat.rpartition("-")[2]))
    ours, sockets, worked = [], [], []
    bare = BareSocket(server)
    try:
        for _ in range(questions + 1):
            began = time.process_time()
            asked = await ask(client, server)
            worked.append(time.process_time() - began)
            request = await anyio.to_thread.run_sync(server.sent)
            alone = await anyio.to_thread.run_sync(bare.ask, request)
            ours.append((asked[0] - alone[0], asked[1] - alone[1]))
            sockets.append(alone)
    finally:
        bare.close()
    added = _values(ours)
    added[CPU] = statistics.median(worked[1:])
    return added, _values(sockets)


def _values(taken: Sequence[Added]) -> Values:
    (first_before, first_after), *further = taken
    before, after = (statistics.median(values) for values in zip(*further, strict=True))
    return {
        BEFORE: before,
        AFTER: after,
        FIRST_BEFORE: first_before,
        FIRST_AFTER: first_after,
        EACH_BEFORE: [one for one, _ in further],
        EACH_AFTER: [one for _, one in further],
    }


if __name__ == "__main__":
    sys.exit(main())

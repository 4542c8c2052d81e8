"""Compare with `curl` at a running server: `python -m benchmarks.servers KIND URL MODEL`.

The rounds alternate between the two. What a server does not let see is named with the reason.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from benchmarks.servers.activity import CannotTell, Watch, watch_of
from benchmarks.servers.asking import (
    SHORT_TOKENS,
    WITHIN_S,
    Asker,
    Target,
    curl_first_text_s,
    curl_stopped_idle_s,
    key_header,
)
from benchmarks.terminal.backend.process import ROOT
from benchmarks.terminal.figures import Figure
from benchmarks.terminal.measuring import Measured
from benchmarks.terminal.report import figures_table
from benchmarks.terminal.rows import Row, Rows

KINDS = ("ollama", "llamacpp", "vllm", "lmstudio", "localai", "kobold", "generic")
ROUNDS, COMMAND_ROUNDS = 15, 5
OLLM, CURL = "ollm", "curl"
FIRST, STOP, DOCTOR, LIST = "first text", "stop until idle", "ollm doctor", "ollm models list"
VALUE = "ms"
HELLO = "hello"
LONG = "Go on forever: count from 1 to 100000, one number a line."
COMMAND_S = 60.0

Measurement = Callable[[], Awaitable[float]]


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print the table, and list what could not be measured."""
    options = _options(given)
    key = os.environ.get("OLLM_BENCH_KEY")
    target = Target(options.kind, options.url.rstrip("/"), options.model, key)
    rows, notes = anyio.run(functools.partial(_measured, target, options))
    measured = Rows(rows)
    print("", figures_table(measured, _figures()), sep="\n")
    for line in [*notes, *(f"not measured: {reason}" for reason in measured.errors())]:
        print(line)
    return 0 if any(row.values for row in rows) else 1


def _options(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.servers",
        description="Compare with curl at a running server. OLLM_BENCH_KEY may hold its API key.",
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("url", help="the server's address, such as http://127.0.0.1:11434")
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of prompts")
    parser.add_argument("--command-rounds", type=int, default=COMMAND_ROUNDS, help="of commands")
    parser.add_argument("--hello", default=HELLO, help="a prompt with a short answer")
    parser.add_argument("--long", default=LONG, help="a prompt with a long answer")
    return parser.parse_args(given)


async def _measured(target: Target, options: argparse.Namespace) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    notes: list[str] = []
    asker = Asker(target)
    try:
        rows += await _first_texts(asker, target, options.hello, options.rounds)
        stops, how = await _stops(asker, target, options.long, options.rounds)
        rows += stops
        notes += [f"when the server is idle was told by: {how}"] if how else []
    finally:
        await asker.close()
    for case, arguments in ((DOCTOR, ["doctor"]), (LIST, ["models", "list"])):
        rows += await _commands(case, arguments, target, options.command_rounds)
    return rows, notes


async def _first_texts(asker: Asker, target: Target, prompt: str, rounds: int) -> list[Row]:
    try:
        sent = await asker.sends(prompt, SHORT_TOKENS)
    except (CannotTell, TimeoutError) as error:
        return [_failed(OLLM, FIRST, 0, error)]
    return await _by_turns(
        FIRST,
        rounds,
        functools.partial(_in_thread, curl_first_text_s, sent, target.key),
        functools.partial(asker.first_text_s, prompt, SHORT_TOKENS),
    )


async def _stops(asker: Asker, target: Target, prompt: str, rounds: int) -> tuple[list[Row], str]:
    try:
        watch: Watch = watch_of(target.url)
        sent = await asker.sends_until_stopped(prompt)
    except (CannotTell, OSError) as error:
        return [_failed(OLLM, STOP, 0, error)], ""
    rows = await _by_turns(
        STOP,
        rounds,
        functools.partial(_in_thread, curl_stopped_idle_s, sent, target.key, watch),
        functools.partial(asker.stopped_idle_s, prompt, watch),
    )
    return rows, watch.how


async def _commands(case: str, arguments: Sequence[str], target: Target, rounds: int) -> list[Row]:
    path = "/api/tags" if target.kind == "ollama" else "/v1/models"
    base = target.url.removesuffix("/v1")
    listing = ["curl", "-q", "-sSf", "-m", f"{COMMAND_S:g}", base + path]
    ours = [sys.executable, "-P", "-m", "ollm_tui", *arguments]
    ours += ["--provider", target.kind, "--host", target.url]
    with tempfile.TemporaryDirectory() as folder, key_header(target.key) as header:
        env = _environment(Path(folder), target)
        plain = functools.partial(_run, [sys.executable, "-c", "pass"], env)
        try:
            await _in_thread(_run, ours, env)  # what the first start of all leaves in the home
        except (CannotTell, subprocess.SubprocessError) as error:
            return [_failed(OLLM, case, 0, error)]

        def theirs() -> float:
            return _run([*listing, *header], env) + plain()

        return await _by_turns(
            case,
            rounds,
            functools.partial(_in_thread, theirs),
            functools.partial(_in_thread, _run, ours, env),
        )


def _environment(home: Path, target: Target) -> dict[str, str]:
    names = {"CONFIG": "config", "DATA": "data", "STATE": "state", "CACHE": "cache"}
    places = {f"XDG_{name}_HOME": str(home / folder) for name, folder in names.items()}
    key = {"OPENAI_COMPATIBLE_API_KEY": target.key} if target.key else {}
    path = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
    return {"HOME": str(home), **path, **places, **key}


def _run(command: Sequence[str], env: dict[str, str]) -> float:
    """Return the seconds that a command takes; `doctor` ends in 1 where it found something."""
    began = time.monotonic()
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    took = time.monotonic() - began
    if done.returncode not in {0, 1} or (done.returncode and "doctor" not in command):
        words = (done.stderr or done.stdout).strip()
        raise CannotTell(f"it ended in {done.returncode}: {words[-300:]}")
    return took


async def _in_thread(work: Callable[..., float], *arguments: object) -> float:
    return await anyio.to_thread.run_sync(functools.partial(work, *arguments))


async def _by_turns(case: str, rounds: int, theirs: Measurement, ours: Measurement) -> list[Row]:
    """Measure both in each round, the one first and then the other; a failure ends the rounds."""
    rows: list[Row] = []
    for at in range(rounds):
        turns = [(CURL, theirs), (OLLM, ours)]
        for name, measure in turns if at % 2 else reversed(turns):
            try:
                rows.append(Row(name, case, at, {VALUE: await measure() * 1000}))
            except TimeoutError:
                return [*rows, _failed(name, case, at, CannotTell(f"no end in {WITHIN_S:g} s"))]
            except (CannotTell, OSError, subprocess.SubprocessError) as error:
                return [*rows, _failed(name, case, at, error)]
        print(f"{case}: round {at + 1} of {rounds}", file=sys.stderr, flush=True)
    return rows


def _failed(name: str, case: str, at: int, error: BaseException) -> Row:
    return Row(name, case, at, error=str(error) or type(error).__name__)


def _figures() -> list[Figure]:
    what = {
        FIRST: ("first text of an answer", "curl -N"),
        STOP: ("stop until the server is idle", "curl, killed"),
        DOCTOR: ("ollm doctor", "curl and python -c pass"),
        LIST: ("ollm models list", "curl and python -c pass"),
    }
    return [Figure(words, [case], _against(case, name)) for case, (words, name) in what.items()]


def _against(case: str, reference: str) -> Callable[[Rows], Measured | None]:
    """Compare with `curl` in the same rounds."""

    def measure(rows: Rows) -> Measured | None:
        ours, theirs = (rows.by_round(name, case, VALUE) for name in (OLLM, CURL))
        ratio = rows.ratio(ours, theirs)
        own, other = (rows.median(name, case, VALUE) for name in (OLLM, CURL))
        if ratio is None or own is None or other is None:
            return None
        value = f"{own:.1f} ms ({own - other:+.1f} ms)"
        return Measured(ratio, value, f"{reference} {other:.1f} ms")

    return measure


if __name__ == "__main__":
    sys.exit(main())

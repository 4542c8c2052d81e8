"""One tiny round of everything on real pseudo-terminals: that it works, not how fast."""

import sys
from pathlib import Path

import pytest

from benchmarks.terminal.backend.process import Backend
from benchmarks.terminal.programs import BARE, CAT, MAKERS, OLLM, Program, ollm_last_chat
from benchmarks.terminal.rows import Row
from benchmarks.terminal.run import Failed, Run
from benchmarks.terminal.scenarios.abort import Abort
from benchmarks.terminal.scenarios.document import Document
from benchmarks.terminal.scenarios.echo import Echo, HungEcho
from benchmarks.terminal.scenarios.startup import Opening
from benchmarks.terminal.scenarios.stream import Stream
from benchmarks.terminal.scenarios.words import LOST_S, Words
from benchmarks.terminal.seeds import Seeds
from benchmarks.wire.blast import blasting
from benchmarks.wire.clients import CLIENTS

pytestmark = [pytest.mark.pty, pytest.mark.slow]


@pytest.mark.parametrize("name", [OLLM, BARE, CAT])
def test_a_short_answer_is_streamed_and_measured(name: str) -> None:
    with Backend() as backend, Run(MAKERS[name], backend) as run:
        values = Stream(80, 400)(run)
        pids = run.session.tree.pids()
    assert values["complete"] == 1.0
    for key in ("cpu_s", "bytes_per_token", "memory_mb", "lag_s"):
        value = values[key]
        assert isinstance(value, float)
        assert value > 0
    assert pids
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_each_word_inside_an_answer_is_measured() -> None:
    with Backend() as backend, Run(MAKERS[OLLM], backend) as run:
        lags = Words(200, 100)(run)["word_ms"]
    assert isinstance(lags, list)
    assert len(lags) > 10
    assert all(0 < lag < 1000 * LOST_S for lag in lags)


@pytest.mark.parametrize("name", [OLLM, BARE])
def test_keys_stalls_and_the_stop_key_are_measured(name: str) -> None:
    with Backend() as backend, Run(MAKERS[name], backend, has_heart=True) as run:
        values = Echo(100, 3)(run)
        assert run.beats.exists()
    assert len(values["echo_ms"] if isinstance(values["echo_ms"], list) else []) == 3
    assert "stall_ms" in values
    with Backend() as backend, Run(MAKERS[name], backend) as run:
        hung = HungEcho(100, 3)(run)["echo_ms"]
        assert isinstance(hung, list)
        assert len(hung) == 3
    with Backend() as backend, Run(MAKERS[name], backend) as run:
        values = Abort(100, 1)(run)
    assert isinstance(values["abort_ms"], list)
    [delay] = values["abort_ms"]
    assert 0 < delay < 15_000


@pytest.mark.parametrize("whole", [True, False])
def test_a_stalling_document_is_measured_and_stopped_while_it_comes(whole: bool) -> None:
    with Backend() as backend, Run(MAKERS[OLLM], backend, has_heart=True) as run:
        values = Document("quotes", whole=whole)(run)
    assert {"stall_ms", "echo_ms", "shown_s"} <= set(values)
    assert isinstance(values["abort_ms"], list)
    [delay] = values["abort_ms"]
    assert 0 < delay < 15_000


def test_a_seeded_chat_is_opened(tmp_path: Path) -> None:
    home = Seeds(tmp_path).home(6)
    with Backend() as backend, Run(ollm_last_chat, backend, seed=home) as run:
        values = Opening(6)(run)
        assert "QEND" in run.session.screen()
    assert isinstance(values["usable_s"], float)


def test_a_program_that_ends_is_an_error_and_no_figure() -> None:
    def ends(url: str, home: Path, under: object) -> Program:
        return Program(argv=(sys.executable, "-c", "print('no')"), ready="Ask anything")

    with (
        Backend() as backend,
        Run(ends, backend) as run,
        pytest.raises(Failed, match="it ended"),
    ):
        run.start()
    assert Row("x", "y", 0, error="it ended").values == {}


@pytest.mark.parametrize("name", CLIENTS)
async def test_each_client_reads_all_of_the_same_bytes(name: str) -> None:
    with blasting(50) as url:
        text = "".join([piece async for piece in CLIENTS[name](url)])
    assert text.startswith("QSTART0")
    assert text.endswith("QDONE0")

"""From the first start to the shell again, on the built-in engine."""

import os
import signal
from pathlib import Path

import platformdirs
import pytest

from tests.e2e.conftest import OLLM, Start, ask, assert_left_sane, environment, ready
from tests.support.engine import needs_engine
from tests.support.pty_session import PtySession, wait_until
from tests.support.seeds import sampled

pytestmark = [pytest.mark.pty, pytest.mark.engine, needs_engine]

# Read before any test replaces the environment.
STARTER = (
    platformdirs.user_data_path("ollm", appauthor=False)
    / "models"
    / "SmolLM2-135M-Instruct.Q4_1.gguf"
)
HELLO = "I am a very small model"


def engines(session: PtySession) -> list[int]:
    """Give the engine processes that the program runs."""
    return [
        pid
        for pid in session.processes()
        if b"child.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def test_a_newcomer_chats_stops_a_long_answer_and_quits(
    start: Start, home_with_model: Path
) -> None:
    with start(home_with_model, is_new=True) as session:
        ready(session)
        ask(session, "hello there")
        session.wait_for(HELLO, timeout=20)
        session.wait_for("tok/s · first token")
        ask(session, "go on forever")
        session.wait_for("again and again")
        session.wait_for("Esc stop")
        session.write(b"\x1b")
        session.wait_for("Stopped", timeout=2)
        ask(session, "please think")
        session.wait_for("The answer is 4")
        session.wait_for("thought for")
        ask(session, "/quit")
        assert_left_sane(session, 0)


def test_ctrl_c_clears_the_draft_then_twice_leaves(start: Start, home_with_model: Path) -> None:
    with start(home_with_model) as session:
        ready(session)
        session.write("a draft worth keeping")
        session.wait_for("a draft worth keeping")
        session.write(b"\x03")
        session.wait_for("Ask anything")
        session.write(b"\x1b[A")
        session.wait_for("a draft worth keeping")
        session.write(b"\x03")
        session.wait_for("Ask anything")
        session.write(b"\x03")
        session.wait_for("Ctrl+C again")
        session.write(b"\x03")
        assert_left_sane(session, 0)


def test_the_chosen_model_is_used_again_on_the_next_start(
    start: Start, home_with_model: Path
) -> None:
    models = home_with_model / "data" / "ollm" / "models"
    (models / "another.gguf").write_bytes((models / "tiny-scripted.gguf").read_bytes() + b"\0" * 64)
    with start(home_with_model) as session:
        ready(session)
        ask(session, "/model embedded://another")
        session.wait_for("Now using another")
        ask(session, "/quit")
        session.exit_status()
    with start(home_with_model) as session:
        session.wait_for("Chatting with another, used last", timeout=20)


def test_a_theme_chosen_is_remembered_in_the_settings_file(
    start: Start, home_with_model: Path
) -> None:
    with start(home_with_model) as session:
        ready(session)
        ask(session, "/theme paper")
        file = home_with_model / "config" / "ollm" / "config.toml"
        assert wait_until(lambda: 'theme = "paper"' in file.read_text())
        ask(session, "/quit")
        session.exit_status()
    assert "threads = 1" in file.read_text()


@pytest.mark.slow
def test_an_engine_that_dies_costs_one_answer(start: Start, home_with_model: Path) -> None:
    with start(home_with_model, is_new=True) as session:
        ready(session)
        ask(session, "go on forever")
        session.wait_for("again and again", timeout=20)
        [engine] = engines(session)
        os.kill(engine, signal.SIGKILL)
        session.wait_for("engine stopped", timeout=5)
        ask(session, "hello there")
        session.wait_for(HELLO, timeout=20)


@pytest.mark.slow
@pytest.mark.parametrize("number", sampled([signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], 1))
def test_a_signal_in_the_middle_of_an_answer_leaves_nothing_behind(
    start: Start, home_with_model: Path, number: signal.Signals
) -> None:
    with start(home_with_model, is_new=True) as session:
        ready(session)
        ask(session, "go on forever")
        session.wait_for("again and again", timeout=20)
        session.signal(number)
        assert_left_sane(session, 128 + number)


@pytest.mark.slow
def test_a_kill_leaves_no_engine_behind(start: Start, home_with_model: Path) -> None:
    with start(home_with_model, is_new=True) as session:
        ready(session)
        ask(session, "go on forever")
        session.wait_for("again and again", timeout=20)
        session.signal(signal.SIGKILL)
        assert session.exit_status() == -signal.SIGKILL
        assert wait_until(lambda: not session.processes(), 5)


@pytest.mark.slow
def test_a_closed_terminal_ends_everything(start: Start, home_with_model: Path) -> None:
    with start(home_with_model, is_new=True) as session:
        ready(session)
        ask(session, "go on forever")
        session.wait_for("again and again", timeout=20)
        session.hang_up()
        assert wait_until(lambda: not session.processes(), 5)


@pytest.mark.parametrize("size", [(120, 40), (60, 20), (40, 15)])
def test_every_usual_size_works(start: Start, home_with_model: Path, size: tuple[int, int]) -> None:
    with start(home_with_model, size=size) as session:
        ready(session)
        ask(session, "hello there")
        session.wait_for("very small", timeout=20)
        assert all(len(line) <= size[0] for line in session.screen_text().splitlines())
        ask(session, "/quit")
        assert_left_sane(session, 0)


def test_a_resize_in_the_middle_of_an_answer_goes_on(start: Start, home_with_model: Path) -> None:
    with start(home_with_model) as session:
        ready(session)
        ask(session, "go on forever")
        session.wait_for("again and again", timeout=20)
        for size in [(1, 1), (200, 60), (40, 10), (100, 30)]:
            session.resize(*size)
        session.write(b"\x1b")
        session.wait_for("Stopped", timeout=5)
        ask(session, "/quit")
        assert_left_sane(session, 0)


@pytest.mark.skipif(not STARTER.exists(), reason="the starter model is not installed")
def test_the_starter_model_answers(start: Start, home: Path) -> None:
    target = home / "data" / "ollm" / "models" / STARTER.name
    target.symlink_to(STARTER)
    with start(home, is_new=True) as session:
        ready(session)
        assert "starter model" in session.screen_text()
        ask(session, "What is the capital of France?")
        session.wait_for("tok/s · first token", timeout=60)


@pytest.mark.slow
def test_nothing_of_a_hostile_folder_runs(home_with_model: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("rich.py", "textual.py", "sitecustomize.py", "ollm_tui.py", "httpx.py"):
        (trap / name).write_text("open('ran', 'w').write(__name__)\n")
    (trap / ".env").write_text("OLLM_MODEL=stolen\n")
    (trap / "config.toml").write_text('model = "stolen"\n')
    with PtySession(OLLM, environment(home_with_model), trap) as session:
        ready(session)
        ask(session, "hello there")
        session.wait_for(HELLO, timeout=20)
    assert not (trap / "ran").exists()

"""What is logged is in a private file and not on the terminal."""

import importlib
import logging
import py_compile
import subprocess
from pathlib import Path

import pytest

from ollm_tui.cli.log import MAX_LOG_BYTES, logging_to
from ollm_tui.cli.output import ERROR, OK, Output
from tests.cli.conftest import command, environment

logger = logging.getLogger("ollm_tui.somewhere")


def test_a_warning_is_in_the_file_for_its_owner_alone_and_not_on_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "state" / "ollm.log"
    with logging_to(path):
        assert not path.exists()
        logger.warning("half a pair: \ud800")
    assert "WARNING ollm_tui.somewhere: half a pair: \N{REPLACEMENT CHARACTER}" in path.read_text(
        "utf-8"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert capfd.readouterr() == ("", "")


def test_a_full_log_makes_way_for_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "ollm.log"
    path.write_text("x" * (MAX_LOG_BYTES + 1))
    with logging_to(path):
        logger.warning("new")
    assert path.stat().st_size < 1000
    assert (tmp_path / "ollm.log.old").stat().st_size > MAX_LOG_BYTES


def test_a_log_that_cannot_be_written_stops_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("a file")
    with logging_to(tmp_path / "state" / "ollm.log"):
        logger.warning("lost")
    assert capfd.readouterr() == ("", "")


def test_a_fault_of_the_program_is_one_line_and_a_traceback_in_the_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def work() -> int:
        raise ZeroDivisionError("a secret of the caller")

    path = tmp_path / "ollm.log"
    with logging_to(path):
        assert Output().guard(work) == ERROR
    message = capfd.readouterr().err
    assert message == "ollm: Internal error (ZeroDivisionError).\n"
    kept = path.read_text("utf-8")
    assert 'File "' in kept
    assert "ZeroDivisionError" in kept
    assert "ZeroDivisionError: " not in kept


def test_a_full_disk_is_one_line_and_exit_code_1() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("config", "schema"),
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    message = (
        "The output could not be written (No space left on device). Some of it may be missing."
    )
    assert (done.returncode, done.stderr) == (1, f"ollm: {message}\n")


@pytest.mark.parametrize("cut", ["all but the head", "half", "zeros"])
def test_a_compiled_file_that_a_full_disk_left_is_named(
    cut: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"left_{cut.replace(' ', '_')}"
    source = tmp_path / f"{name}.py"
    source.write_text("VALUE = 1\n" * 50)
    compiled = Path(py_compile.compile(str(source), doraise=True) or "")
    whole = compiled.read_bytes()
    ends = {"all but the head": b"", "half": whole[16 : len(whole) // 2], "zeros": bytes(500)}
    compiled.write_bytes(whole[:16] + ends[cut])
    monkeypatch.syspath_prepend(str(tmp_path))

    def work() -> int:
        importlib.import_module(name)
        return 0

    assert Output().guard(work) == ERROR
    message = capsys.readouterr().err
    assert message == (
        f"ollm: A file of the program is damaged, as after a full disk: {compiled}. "
        "Delete it; Python recreates it.\n"
    )
    compiled.unlink()
    assert Output().guard(work) == OK

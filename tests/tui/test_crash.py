"""A crash leaves a report and a sentence, and neither shows a value."""

import stat
import sys
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.widgets import Static
from textual.worker import WorkerFailed

from ollm_tui.tui.crash import KEPT_REPORTS, REPORT_LIMIT, CrashReports, describe, write_report
from tests.support.pty_session import PtySession
from tests.tui.terminal.test_guard import assert_given_back

APP = [sys.executable, "-m", "tests.tui.terminal.terminal_app"]
SECRET = "sk-canary-0123456789"


def caught(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as same:
        return same


def same(text: str) -> str:
    return text


def reports(directory: Path) -> list[Path]:
    return sorted(directory.glob("crash-*.txt"))


@pytest.mark.pty
@pytest.mark.parametrize(("mode", "name"), [("crash", "ValueError"), ("worker", "LookupError")])
def test_a_crash_shows_one_sentence_and_exits_with_one(
    tmp_path: Path, mode: str, name: str
) -> None:
    directory = tmp_path / "state" / "crashes"
    env = {"REPORTS": str(directory), "SECRET": SECRET}
    with PtySession([*APP, mode], env=env, size=(60, 24)) as session:
        session.wait_for("ready")
        session.write(b"x")
        assert session.exit_status() == 1
        assert_given_back(session)
        (report,) = reports(directory)
        shown = session.screen_text()
        assert name in shown
        assert str(report) in shown.replace("\n", "")
        assert "prompt" not in shown
        assert "terminal_app.py" not in shown
        assert SECRET.encode() not in session.raw
    text = report.read_text()
    assert name in text
    assert "terminal_app.py" in text
    assert SECRET not in text
    assert "is a local value'" not in text
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_report_holds_the_traceback_but_no_values(tmp_path: Path) -> None:
    def fail() -> None:
        prompt = "a private " + "question"
        raise KeyError(len(prompt))

    with pytest.raises(KeyError) as info:
        fail()
    text = write_report(info.value, tmp_path, same).read_text()
    assert "in fail" in text
    assert "KeyError: 18" in text
    assert "a private question" not in text


def test_a_report_is_redacted_and_cleaned(tmp_path: Path) -> None:
    error = caught(ValueError(f"key {SECRET} \x1b[2J \ud800"))
    path = write_report(error, tmp_path, lambda text: text.replace(SECRET, "«key»"))
    text = path.read_text()
    assert "key «key» ␛[2J \ufffd" in text
    assert "\x1b" not in text


def test_causes_and_groups_are_in_the_report() -> None:
    group = ExceptionGroup("both", [ValueError("first"), OSError("second")])
    group.__cause__ = KeyError("cause")
    text = describe(caught(group))
    assert all(word in text for word in ("both", "first", "second", "cause"))


def test_a_huge_report_is_cut_in_the_middle(tmp_path: Path) -> None:
    path = write_report(caught(ValueError("x" * 10**6 + "end")), tmp_path, same)
    text = path.read_text()
    assert len(text) < REPORT_LIMIT + 100
    assert text.endswith("end\n")


def test_only_the_newest_reports_are_kept(tmp_path: Path) -> None:
    for number in range(KEPT_REPORTS + 5):
        (tmp_path / f"crash-2001{number:04}.txt").touch()
    newest = write_report(caught(ValueError()), tmp_path, same)
    assert len(reports(tmp_path)) == KEPT_REPORTS
    assert reports(tmp_path)[-1] == newest


class Failing(CrashReports[int]):
    def compose(self) -> ComposeResult:
        yield Static("x")

    def action_fail(self) -> None:
        raise LookupError("in an action")


async def crash(app: Failing, capfd: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(LookupError, match="in an action"):
        async with app.run_test():
            app.call_later(app.action_fail)
            await app._exception_event.wait()
    return capfd.readouterr().err + (app.crash_sentence or "")


async def test_a_test_that_drives_the_app_sees_the_exception(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app = Failing()
    app.crash_directory = tmp_path
    shown = await crash(app, capfd)
    assert app.return_code == 1
    assert len(reports(tmp_path)) == 1
    assert shown.count("LookupError") == 1
    assert "in an action" not in shown


async def test_a_report_that_cannot_be_written_is_reported_and_keeps_nothing_from_ending(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app = Failing()
    app.crash_directory = tmp_path / "file"
    app.crash_directory.touch()
    assert "could not be written: Not a directory" in await crash(app, capfd)
    assert app.return_code == 1


async def test_a_redactor_that_fails_leaves_no_unredacted_report(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(text: str) -> str:
        raise ZeroDivisionError(text)

    app = Failing()
    app.crash_directory = tmp_path
    app.redact = broken
    assert "could not be written: ZeroDivisionError" in await crash(app, capfd)
    assert reports(tmp_path) == []


async def test_the_error_of_a_worker_is_reported_as_itself(tmp_path: Path) -> None:
    app = Failing()
    app.crash_directory = tmp_path
    sentence = app._report(WorkerFailed(caught(OSError("inner"))))
    assert "OSError" in sentence
    assert "inner" in reports(tmp_path)[0].read_text()

"""`ollm models pull` and `downloads`: files of a hub, an address or this machine, by the queue."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ollm_tui.cli import main
from ollm_tui.cli.output import Output
from ollm_tui.cli.pull_report import JsonJob, LiveJob, PlainJob
from ollm_tui.library.downloads.job import Job, UrlFile
from tests.cli.conftest import command, environment
from tests.cli.test_models import FakeTerminal
from tests.e2e.conftest import OLLM
from tests.e2e.conftest import environment as own_home
from tests.hostile.payloads import PAYLOADS, Payload
from tests.support.fake_hub import FakeHub, hub_in_thread
from tests.support.fake_ollama import OllamaServer
from tests.support.forked import Forks
from tests.support.http_server import in_thread
from tests.support.hub_samples import TOKEN, sample_hub
from tests.support.pty_session import PtySession
from tests.support.seeds import sampled

Run = Callable[..., tuple[int, str, str]]
SMALL = "someone/Small-1.7B-GGUF"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with hub_in_thread(sample_hub()) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def models(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["models", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def library() -> Path:
    return Path(os.environ["XDG_DATA_HOME"]) / "ollm" / "models"


def test_without_a_terminal_the_recommended_quantization_is_taken(models: Run) -> None:
    code, out, err = models("pull", SMALL)
    assert (code, out) == (0, "built-in://Small-1.7B-Q8_0\n")
    lines = err.splitlines()
    assert lines[0].startswith("ollm: Using Q8_0 of 5: ")
    assert lines[0].endswith("--quant NAME chooses another.")
    assert lines[1] == f"ollm: {SMALL} is under the licence apache-2.0."
    assert lines[-1] == "ollm: Downloaded Small-1.7B-Q8_0 (300 kB)."
    assert [path.name for path in library().rglob("*.gguf")] == ["Small-1.7B-Q8_0.gguf"]


@pytest.mark.parametrize("written", [[f"{SMALL}:q4_k_m"], [SMALL, "--quant", "Q4_K_M"]])
def test_a_quantization_that_is_named_is_taken_without_a_word(
    models: Run, written: list[str]
) -> None:
    code, out, err = models("pull", *written)
    assert (code, out) == (0, "built-in://Small-1.7B-Q4_K_M\n")
    assert "is taken" not in err


def test_every_step_is_a_line_of_json(models: Run) -> None:
    code, out, _err = models("pull", f"{SMALL}:Q6_K", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {line["type"] for line in lines[:-1]} == {"pull_progress"}
    assert lines[-2]["completed"] == lines[-2]["total"] > 0
    assert lines[-1] == {
        "type": "finish",
        "reason": "stop",
        "model": "embedded://Small-1.7B-Q6_K",
    }


def test_all_parts_of_a_split_model_come_and_a_link_to_one_means_all(
    models: Run, hub: FakeHub
) -> None:
    part = "Q4_K_M/Large-70B-Q4_K_M-00002-of-00003.gguf"
    code, out, _err = models("pull", f"{hub.url}/another/Large-70B-GGUF/blob/main/{part}")
    assert (code, out) == (0, "built-in://Large-70B-Q4_K_M\n")
    assert len([*library().rglob("*.gguf")]) == 3


def test_a_file_of_this_machine_or_of_any_server_comes_into_the_library(
    models: Run, hub: FakeHub, tmp_path: Path
) -> None:
    assert models("pull", "someone/Scripted-GGUF")[0] == 0
    [fetched] = library().rglob("*.gguf")
    own = tmp_path / "mine.gguf"
    own.write_bytes(fetched.read_bytes())
    code, out, _err = models("pull", str(own))
    assert (code, out) == (0, "built-in://mine\n")
    missing = models("pull", str(tmp_path / "none.gguf"))
    assert missing[0] == 1
    assert "There is no file" in missing[2]


@pytest.mark.parametrize(
    ("written", "code", "sentence"),
    [
        ([SMALL, "--quant", "Q99"], 1, "has nothing Q99. Available: Q8_0, Q6_K"),
        (["nobody/none"], 1, "named with it: ollama://nobody/none."),
        (
            ["another/Gated-8B-GGUF", "--quant", "Q4_K_M"],
            1,
            "B-GGUF, if it has any, and set HF_TOKEN.",
        ),
        (["https://huggingface.co/datasets/a/b"], 2, "This page of the hub is not a model's."),
        ([" "], 2, "The model's name is empty."),
    ],
)
def test_what_cannot_be_fetched_is_a_sentence_and_a_code(
    models: Run, written: list[str], code: int, sentence: str
) -> None:
    ended, out, err = models("pull", *written)
    assert (ended, out) == (code, "")
    assert sentence in err
    if code == 1:
        assert json.loads(models("pull", *written, "--json")[1].splitlines()[-1])["type"] == "error"


def test_a_provider_that_is_named_gets_the_name_as_it_is(
    hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    server = OllamaServer()
    with in_thread(server) as running:
        names = (["hf.co/a/b:q4", "--provider", "local"], ["local://hf.co/a/b:q8"], ["a/b"])
        for written in names:
            assert main(["models", "pull", *written, "--host", running.url]) == 0
    assert {"hf.co/a/b:q4", "hf.co/a/b:q8", "a/b:latest"} <= set(server.models)
    assert hub.asked == []
    capsys.readouterr()


def test_downloads_are_listed_and_one_is_cancelled_by_a_part_of_its_name(
    models: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models("downloads") == (0, "", "ollm: No downloads.\n")
    for quantization in ("Q4_K_M", "Q8_0"):
        assert models("pull", f"another/Gated-8B-GGUF:{quantization}")[0] == 1
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    listed = models("downloads")[1].splitlines()
    assert [row.split()[1:3] for row in listed] == [
        ["STATE", "MODEL"],
        ["failed", "Gated-8B-Q4_K_M"],
        ["failed", "Gated-8B-Q8_0"],
    ]
    assert models("downloads", "cancel")[0] == 2
    assert "Several downloads match" in models("downloads", "cancel", "Gated")[2]
    assert "There is no download 'x9'" in models("downloads", "cancel", "x9")[2]
    assert models("downloads", "cancel", "Q4_K_M")[::2] == (
        0,
        "ollm: Gated-8B-Q4_K_M is cancelled.\n",
    )
    code, out, _err = models("downloads", "resume", "Q8_0")
    assert (code, out) == (0, "built-in://Gated-8B-Q8_0\n")
    states = {job["title"]: job["state"] for job in json.loads(models("downloads", "--json")[1])}
    assert states["Gated-8B-Q8_0"] == "done"
    assert states.get("Gated-8B-Q4_K_M", "cancelled") == "cancelled"


class Half:
    """Lets so many bytes through, and then none for an hour."""

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self, count: int) -> float:
        self._left -= count
        return 0.0 if self._left >= 0 else 3600.0


@pytest.fixture
def slow_hub() -> Iterator[FakeHub]:
    """Stands still in the middle of every file, until `pace` is unset."""
    with hub_in_thread(sample_hub(4_000_000)) as running:
        running.pace = Half(2_000_000)
        yield running


def started(hub: FakeHub, home: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("models", "pull", f"{SMALL}:Q8_0", "--json", *more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(HF_ENDPOINT=hub.url, **dirs(home)),
    )


def dirs(home: Path) -> dict[str, str]:
    names = ("CONFIG", "DATA", "STATE", "CACHE")
    return {f"XDG_{name}_HOME": str(home / name.lower()) for name in names}


def wait_for_half(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if (json.loads(line).get("completed") or 0) >= 1_000_000:
            return
    raise AssertionError("it ended before half of it was there")


@pytest.mark.slow
@pytest.mark.parametrize("number", sampled([signal.SIGKILL, signal.SIGINT, signal.SIGTERM], 1))
def test_a_download_that_was_stopped_goes_on_with_the_same_command(
    slow_hub: FakeHub, tmp_path: Path, number: signal.Signals
) -> None:
    with started(slow_hub, tmp_path) as process:
        wait_for_half(process)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        assert json.loads(out.splitlines()[-1])["reason"] == "abort"
        assert err.decode().splitlines()[-1] == (
            "ollm: Paused. Repeat the command to resume, or resume it in the app (F3)."
        )
        listed = subprocess.run(
            command("models", "downloads", "--json"),
            env=environment(HF_ENDPOINT=slow_hub.url, **dirs(tmp_path)),
            capture_output=True,
            check=True,
        )
        assert json.loads(listed.stdout)[0]["state"] == "paused"
    slow_hub.pace = None
    before = len(slow_hub.paths(to_files=True))
    with started(slow_hub, tmp_path) as process:
        out, _err = process.communicate(timeout=20)
        assert process.returncode == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[-1]["model"] == "embedded://Small-1.7B-Q8_0"
    assert all(line["completed"] == 0 or line["completed"] >= 900_000 for line in lines[:-1])
    assert len(slow_hub.paths(to_files=True)) > before
    [whole] = (tmp_path / "data").rglob("*.gguf")
    assert whole.stat().st_size == 4_000_000
    assert not [*(tmp_path / "data").rglob("*.part*")]


@pytest.mark.pty
def test_a_person_chooses_from_a_short_list_and_sees_a_bar(
    hub: FakeHub, tmp_path: Path, forks: Forks
) -> None:
    env = {**own_home(tmp_path / "home"), "HF_ENDPOINT": hub.url}
    argv = [*OLLM, "models", "pull", SMALL]
    with PtySession(argv, env, tmp_path, (100, 24), forks) as session:
        session.wait_for("Which one? A number, Enter takes Q8_0 (*):", timeout=20)
        shown = session.screen_text()
        assert "*  1  Q8_0" in shown
        assert "   4  Q4_K_M" in shown
        session.write(b"77\r")
        session.write(b"4\r")
        assert session.exit_status() == 0
        assert "Downloaded Small-1.7B-Q4_K_M" in session.screen_text()


def test_the_bar_names_amount_rate_and_time_left() -> None:
    err = FakeTerminal()
    job = Job(
        id="1",
        origin=UrlFile(url="https://x"),
        title="m",
        state="running",
        completed=500_000_000,
        total=1_000_000_000,
        bytes_per_s=2_000_000.0,
        seconds_left=250.0,
        note="resumed at 41 %",
    )
    LiveJob(Output(FakeTerminal(), err), str).progress(job)
    assert "m  ██████████░░░░░░░░░░ 50 %  500 MB of 1.0 GB  2 MB/s  4 min 10 s left" in (
        err.getvalue()
    )


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.name)
def test_no_word_of_a_download_drives_the_terminal(payload: Payload) -> None:
    text = payload.text
    job = Job(
        id=text, origin=UrlFile(url=text), title=text, state="done", note=text, model=text, total=9
    )
    out, err = FakeTerminal(), FakeTerminal()
    output = Output(out, err)
    for report in (LiveJob(output, str), PlainJob(output, str), JsonJob(output)):
        report.progress(job)
        report.ended(job, text)
    captured = err.getvalue().replace("\r", "") + out.getvalue()
    assert [
        c for c in captured if (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0
    ] == []
    assert "\u202e" not in captured

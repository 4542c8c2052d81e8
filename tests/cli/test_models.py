"""`ollm models`: what is done with models, said in sentences, JSON and exit codes."""

import io
import json
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ollm_tui.cli import main
from ollm_tui.cli.model_format import share_text, until_text
from ollm_tui.cli.output import Output, cell_width, truncated
from ollm_tui.cli.pull_report import LiveReport, PlainReport, Wording
from ollm_tui.config import backends
from ollm_tui.config.paths import default_paths
from ollm_tui.protocol.model import ModelInfo, ModelRef, PullProgress
from ollm_tui.runtime.model_lookup import gpu_share_of
from tests.cli.conftest import Run, command, environment
from tests.e2e.conftest import OLLM
from tests.e2e.conftest import environment as own_home
from tests.hostile.payloads import PAYLOADS, Payload
from tests.library.gguf_bytes import file_of
from tests.support.fake_backends import FakeLMStudio, FakeLocalAI
from tests.support.fake_ollama import LARGE, OllamaServer
from tests.support.fake_openai import FakeOpenAI
from tests.support.forked import Forks
from tests.support.http_server import Received, Reply, Server, in_thread
from tests.support.pty_session import PtySession
from tests.support.seeds import sampled_rows

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonValue


def test_a_model_is_pulled_with_plain_lines_without_a_terminal(
    models: Run, server: OllamaServer
) -> None:
    code, out, err = models("pull", "new")
    assert (code, out) == (0, "ollama://new\n")
    lines = err.splitlines()
    assert lines[0] == "ollm: new: pulling manifest"
    assert "ollm: new: 39 %  400 kB of 1 MB" in lines
    assert lines[-1] == "ollm: Downloaded new (1 MB)."
    assert len(lines) < 15
    assert "\r" not in err
    assert "new:latest" in server.models


def test_the_address_of_what_was_pulled_is_one_line_whatever_its_name(models: Run) -> None:
    code, out, _ = models("pull", "ne\nw")
    assert (code, out.count("\n")) == (0, 1)


def test_every_step_of_a_pull_is_a_line_of_json(models: Run) -> None:
    code, out, _err = models("pull", "local://new", "--json")
    steps = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {step["type"] for step in steps[:-1]} == {"pull_progress"}
    assert steps[0]["status"] == "pulling manifest"
    assert max(step["completed"] or 0 for step in steps[:-1]) == LARGE
    assert steps[-1] == {"type": "finish", "reason": "stop", "model": "local://new"}


def test_a_failed_pull_says_why_and_the_next_one_goes_on(models: Run) -> None:
    code, out, err = models("pull", "broken")
    assert (code, out) == (1, "")
    assert "no such host" in err
    assert "Repeat it to resume the download" in err
    code, out, err = models("pull", "broken")
    assert (code, out) == (0, "ollama://broken\n")
    assert "60 %" in err
    assert "20 %" not in err
    code, out, err = models("pull", "missing", "--json")
    assert code == 1
    assert json.loads(out.splitlines()[-1])["error"]["code"] == 404
    assert "Check the spelling" in err


def test_a_model_is_shown_with_all_that_is_known(models: Run) -> None:
    code, out, _err = models("show", "tiny")
    rows = dict(line.split(maxsplit=1) for line in out.splitlines() if len(line.split()) > 1)
    assert code == 0
    assert rows["MODEL"] == "ollama://tiny:latest"
    assert (rows["SIZE"], rows["CAN"], rows["LOADED"]) == ("1 kB", "tools, JSON", "yes")
    assert "PARAMETERS: stop     <end>" in out
    shown = json.loads(models("show", "tiny", "--json")[1])
    assert (shown["model"], shown["context"], shown["loaded"]) == (
        "local://tiny:latest",
        4096,
        True,
    )
    assert "tool_use" in shown["capability"]["features"]
    assert shown["abilities"]["tools"] == {"value": True, "source": "known"}
    assert rows["ABILITIES"].startswith("vision ")
    assert shown["details"]["parameters"] == {"num_ctx": ["2048"], "stop": ["<end>"]}


def test_a_model_gets_a_second_name_is_loaded_listed_unloaded_and_deleted(
    models: Run, server: OllamaServer
) -> None:
    assert models("cp", "tiny", "other")[::2] == (0, "ollm: Copied tiny:latest to other.\n")
    assert models("load", "other")[::2] == (0, "ollm: Loaded other:latest.\n")
    code, out, _err = models("ps")
    assert code == 0
    assert "ollama://other:latest  2 kB    50 %    4096     now    Ollama at http://" in out
    running = json.loads(models("ps", "--json")[1])
    assert {entry["name"] for entry in running} == {"tiny:latest", "other:latest"}
    for name in ("other", "tiny"):
        assert models("unload", name)[0] == 0
    assert models("ps")[1:] == ("", "ollm: No model is loaded.\n")
    code, _out, err = models("rm", "other", "--yes")
    assert code == 0
    assert "Deleted other:latest from Ollama at http://127.0.0.1:" in err
    assert "other:latest" not in server.models


def test_the_small_actions_have_a_line_of_json_too(models: Run) -> None:
    assert json.loads(models("cp", "tiny", "local://b", "--json")[1]) == {
        "model": "local://tiny:latest",
        "copy": "local://b",
    }
    loaded, dropped = models("load", "b", "--json")[1], models("unload", "b", "--json")[1]
    assert json.loads(loaded) == {"model": "local://b:latest", "loaded": True}
    assert json.loads(dropped)["loaded"] is False
    deleted = models("rm", "b", "--yes", "--json")[1]
    assert json.loads(deleted) == {"model": "local://b:latest", "deleted": True}


def test_nothing_is_deleted_without_a_confirmation(models: Run, server: OllamaServer) -> None:
    code, out, err = models("rm", "tiny")
    assert (code, out) == (3, "")
    assert "--yes" in err
    assert "tiny:latest" in server.models


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["pull", "embedded://x"], 1, "Built-in cannot pull models."),
        (["rm", "embedded://x", "--yes"], 1, "There is no model file x.gguf"),
        (["cp", "embedded://x", "y"], 1, "Built-in cannot copy models."),
        (["load", "embedded://x"], 1, "cannot keep a model loaded"),
        (["pull", "nowhere://x"], 1, "no provider named 'nowhere'"),
        (["pull", " "], 2, "The model's name is empty."),
        (["show", ""], 2, "The model's name is empty."),
        (["cp", "tiny", ""], 2, "The new name is empty."),
        (["cp", "tiny", "embedded://x"], 2, "only be copied on its own server"),
        (["rm", "gone", "--yes"], 1, "model 'gone:latest' not found"),
        (["rm", "local://gone", "--yes"], 1, "'gone:latest' not found"),
        (["load", "local://gone"], 1, "'gone' not found"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_a_code(
    models: Run, arguments: list[str], code: int, sentence: str
) -> None:
    ended, out, err = models(*arguments)
    assert (ended, out) == (code, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["pull", "nowhere://x"], 400),
        (["pull", "embedded://x"], 604),
        (["rm", "embedded://x", "--yes"], 404),
        (["cp", "embedded://x", "y"], 604),
        (["load", "local://gone"], 404),
        (["unload", "gone"], 404),
        (["show", "gone"], 404),
        (["cp", "gone", "x"], 404),
    ],
)
def test_a_failure_is_a_line_of_json_too(models: Run, arguments: list[str], code: int) -> None:
    ended, out, err = models(*arguments, "--json")
    captured = json.loads(out)
    assert (ended, captured["type"], captured["error"]["code"]) == (1, "error", code)
    assert captured["error"]["message"].rstrip(".") in err


def test_a_file_of_the_own_folder_is_deleted_and_any_other_kept_for_a_reason(
    models: Run,
) -> None:
    own, theirs = default_paths().models_dir, default_paths().config_file.parent / "mine"
    for folder, name in ((own, "a"), (theirs, "b")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.gguf").write_bytes(file_of())
    default_paths().config_file.write_text(f'[embedded]\nmodel_folders = ["{theirs}"]\n')
    assert models("rm", "embedded://a", "--yes")[0] == 0
    ended, _, err = models("rm", "embedded://b", "--yes")
    assert ended == 1
    assert f"It is in {theirs}" in err
    assert list(own.iterdir()) == []
    assert [path.name for path in theirs.iterdir()] == ["b.gguf"]


def test_any_provider_says_what_it_cannot_do_and_shows_what_its_list_tells(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(FakeOpenAI()) as running:
        monkeypatch.setenv("OPENAI_COMPATIBLE_HOST", running.url)
        address = "openai-compatible://tiny"
        pulled = main(["models", "pull", address, "--json"]), capsys.readouterr()
        shown = main(["models", "show", address]), capsys.readouterr()
    assert pulled[0] == 1
    assert "cannot pull models." in pulled[1].err
    assert json.loads(pulled[1].out)["error"]["code"] == 604
    assert (shown[0], shown[1].out.split()[:2]) == (0, ["MODEL", address])


def test_the_servers_of_a_pool_are_managed_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fakes = [OllamaServer(), OllamaServer()]
    settings = tmp_path / "pool.toml"
    with in_thread(fakes[0]) as one, in_thread(fakes[1]) as two:
        settings.write_text(
            f'[providers.team]\nkind = "ollama"\nbase_urls = ["{one.url}", "{two.url}"]\n'
        )
        more = ["--config", str(settings), "--host", one.url]
        pulled = main(["models", "pull", "team://new", *more]), capsys.readouterr()
        assert all("new:latest" in fake.models for fake in fakes)
        deleted = main(["models", "rm", "team://new:latest", "--yes", *more]), capsys.readouterr()
    assert (pulled[0], pulled[1].out) == (0, "team://new\n")
    assert pulled[1].err.count("100 %") == 2, "each server has a download of its own"
    assert deleted[0] == 0
    assert f"from team at {one.url} and {two.url}." in deleted[1].err
    assert not any("new:latest" in fake.models for fake in fakes)


def test_a_server_whose_backend_is_not_named_pulls_as_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "lab.toml"
    with in_thread(FakeLMStudio()) as running:
        settings.write_text(f'[providers.lab]\nbase_url = "{running.url}"\n')
        code = main(["models", "pull", "lab://new", "--config", str(settings)])
    assert (code, capsys.readouterr().out) == (0, "lab://new\n")


def test_a_server_of_another_kind_pulls_loads_and_deletes_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "localai.toml"
    fake = FakeLocalAI()
    with in_thread(fake) as running:
        settings.write_text(
            '[providers.mine]\nkind = "openai-compatible"\nbackend = "localai"\n'
            f'base_url = "{running.url}"\n'
        )
        more = ["--config", str(settings), "--host", "http://127.0.0.1:1"]
        pulled = main(["models", "pull", "mine://new", *more]), capsys.readouterr()
        deleted = main(["models", "rm", "mine://tiny", "--yes", *more]), capsys.readouterr()
        copied = main(["models", "cp", "mine://tiny", "x", *more]), capsys.readouterr()
    assert (pulled[0], pulled[1].out) == (0, "mine://new\n")
    assert "ollm: new: 50 %  1 kB of 2 kB" in pulled[1].err.splitlines()
    assert (deleted[0], fake.deleted) == (0, ["tiny"])
    assert copied[0] == 1
    assert "cannot copy models." in copied[1].err


def test_what_has_only_a_list_says_why_a_model_is_not_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "vllm.toml"
    with in_thread(FakeOpenAI()) as running:
        settings.write_text(f'[providers.mine]\nbackend = "vllm"\nbase_url = "{running.url}"\n')
        shown = main(["models", "show", "mine://tiny", "--config", str(settings)])
        assert (shown, capsys.readouterr().err) == (0, "")
        lacking = main(["models", "show", "mine://nope", "--config", str(settings)])
        assert (lacking, "has no model named 'nope'" in capsys.readouterr().err) == (1, True)
    gone = main(["models", "show", "mine://tiny", "--config", str(settings)])
    assert (gone, "does not answer at" in capsys.readouterr().err) == (1, True)


def test_an_engine_that_is_not_configured_is_managed_by_the_address_that_the_list_gives(
    served: Server,
    server: OllamaServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    elsewhere = {
        name: dict(values) | ({"base_url": "http://127.0.0.1:9"} if "base_url" in values else {})
        for name, values in backends.BUILT_IN_PROVIDERS.items()
    }
    elsewhere["vllm"]["base_url"] = served.url
    monkeypatch.setattr(backends, "BUILT_IN_PROVIDERS", elsewhere)
    name = f"ollama-{served.url.rpartition(':')[2]}"
    for action in (["load", "thinker"], ["pull", "new"], ["rm", "tiny"]):
        more = ["--yes"] if action[0] == "rm" else []
        code = main(["models", action[0], f"{name}://{action[1]}", *more])
        assert (code, captured := capsys.readouterr().err) == (0, captured)
    assert f"Deleted tiny:latest from Ollama ({name[7:]}) at {served.url}." in captured
    assert server.loaded == {"thinker:latest"}
    assert set(server.models) == {"thinker:latest", "new:latest"}


def test_an_old_server_is_a_line_and_the_rest_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    known = OllamaServer()

    async def old(request: Received, reply: Reply) -> None:
        if request.path in {"/api/ps", "/api/pull"}:
            await reply.whole(b"404 page not found", 404, "text/plain")
        else:
            await known(request, reply)

    with in_thread(old) as running:
        listed = main(["models", "ps", "--host", running.url]), capsys.readouterr().err
        pulled = main(["models", "pull", "m", "--host", running.url]), capsys.readouterr().err
    assert listed[0] == 0
    assert "cannot list the loaded models" in listed[1]
    assert pulled[0] == 1
    assert "cannot pull models: it does not know the request" in pulled[1]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("number", "code", "as_json"),
    sampled_rows(
        [
            (signal.SIGINT, 130, False),
            (signal.SIGTERM, 143, True),
            (signal.SIGINT, 130, True),
            (signal.SIGTERM, 143, False),
        ],
        2,
    ),
)
def test_a_signal_stops_a_pull_leaves_the_server_and_says_how_it_goes_on(
    served: Server, number: int, code: int, *, as_json: bool
) -> None:
    more = ["--json"] if as_json else []
    with subprocess.Popen(
        command("models", "pull", "stuck", "--host", served.url, *more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        watched = process.stdout if as_json else process.stderr
        while b'"completed": 400000' not in (line := watched.readline()) and b"39 %" not in line:
            assert line
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        assert process.returncode == code
    assert err.decode().splitlines()[-1] == ("ollm: Stopped. Repeat the command to resume.")
    assert len(served.disconnects) == 1
    if as_json:
        ended = json.loads(out.decode().splitlines()[-1])
        assert ended == {"type": "finish", "reason": "abort", "model": "local://stuck"}


@pytest.mark.pty
def test_a_person_sees_one_line_that_changes_and_stops_it_with_ctrl_c(
    served: Server, tmp_path: Path, forks: Forks
) -> None:
    argv = [*OLLM, "models", "pull", "stuck", "--host", served.url]
    with PtySession(argv, own_home(tmp_path / "home"), tmp_path, (60, 12), forks) as session:
        session.wait_for("stuck  39 %  400 kB of 1 MB", timeout=20)
        assert len([line for line in session.screen_text().splitlines() if line.strip()]) == 1
        session.write(b"\x03")
        assert session.exit_status() == 130
        shown = [line.strip() for line in session.screen_text().splitlines() if line.strip()]
    assert shown[-1] == "ollm: Stopped. Repeat the command to resume."
    assert "39 %" not in session.screen_text()


@pytest.mark.pty
@pytest.mark.parametrize(
    ("answer", "code", "is_left"),
    [(b"\r", 1, True), (b"no\r", 1, True), (b"\x03", 130, True), (b"y\r", 0, False)],
)
def test_a_person_is_asked_with_size_and_place_before_a_model_is_gone(
    server: OllamaServer,
    served: Server,
    tmp_path: Path,
    forks: Forks,
    answer: bytes,
    code: int,
    *,
    is_left: bool,
) -> None:
    argv = [*OLLM, "models", "rm", "tiny", "--host", served.url]
    with PtySession(argv, own_home(tmp_path / "home"), tmp_path, (120, 12), forks) as session:
        question = f"Delete tiny:latest (1 kB) from Ollama at {served.url} permanently? [y/N]"
        session.wait_for(question, timeout=20)
        session.write(answer)
        assert session.exit_status() == code
        assert ("Nothing was deleted." in session.screen_text()) == (code == 1)
    assert ("tiny:latest" in server.models) == is_left


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_is_drawn_ten_times_a_second_at_most_and_taken_away() -> None:
    now = 0.0
    err, out = FakeTerminal(), io.StringIO()
    output = Output(out, err)
    report = LiveReport(output, ModelRef("local", "m"), lambda: now)
    for completed in range(0, 1_000_000, 1000):
        now += 0.001
        report.progress(
            PullProgress(status="pulling", digest="a", completed=completed, total=1_000_000)
        )
    drawn = err.getvalue().split("\r")[1:]
    assert len(drawn) <= 11
    assert "m  90 %  900 kB of 1 MB  1 MB/s  0 s left" in drawn[-1]
    report.tick()
    drawn = err.getvalue().split("\r")[1:]
    assert "m  99 %  999 kB of 1 MB  1 MB/s  0 s left" in drawn[-1], "the last step is shown"
    report.tick()
    assert err.getvalue().split("\r")[1:] == drawn, "nothing is new"
    report.done()
    assert err.getvalue().endswith(f"\r{' ' * (len(drawn[-1]) + 2)}\rollm: Downloaded m (1 MB).\n")
    assert out.getvalue() == "local://m\n"


def test_bytes_that_are_checked_and_then_sent_are_not_added_up() -> None:
    words, mine = Wording(done="Created m.", is_in_steps=True), ModelRef("local", "m")
    checked = [PullProgress(status="checking m", completed=done, total=100) for done in (40, 90)]
    sent = PullProgress(status="sending m", digest="a", completed=50, total=100)
    written, drawn = io.StringIO(), FakeTerminal()
    plain = PlainReport(Output(io.StringIO(), written), mine, lambda: 0.0, words)
    live = LiveReport(Output(io.StringIO(), drawn), mine, iter(range(99)).__next__, words)
    live.begin()
    assert drawn.getvalue().endswith("m  waiting for the server")
    for step in (*checked, sent, PullProgress(status="writing manifest")):
        plain.progress(step)
        live.progress(step)
    assert written.getvalue().splitlines() == [
        "ollm: m: checking m",
        "ollm: m: 40 %  40 B of 100 B",
        "ollm: m: 90 %  90 B of 100 B",
        "ollm: m: sending m",
        "ollm: m: 50 %  50 B of 100 B",
        "ollm: m: writing manifest",
    ]
    assert "m  sending m  50 %  50 B of 100 B" in drawn.getvalue()


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.name)
def test_no_word_of_a_server_drives_the_terminal(payload: Payload) -> None:
    text = payload.text
    for make in (FakeTerminal, io.StringIO):
        err, out = make(), io.StringIO()
        output = Output(out, err)
        report = LiveReport(output, ModelRef("local", text or "m"), lambda: 0.0)
        report.progress(PullProgress(status=text, digest=None))
        report.progress(PullProgress(status=text, digest=text, completed=1, total=2))
        report.done()
        output.draw(text)
        output.question(text)
        captured = err.getvalue().replace("\r", "") + out.getvalue()
        controls = [
            c for c in captured if (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0
        ]
        assert controls == []
        assert "\u202e" not in captured


async def hostile(request: Received, reply: Reply) -> None:
    """List, describe and hold models whose names and facts are hostile texts."""
    entries = [
        {"name": f"{number}{payload.text}", "size": 5, "details": {"family": payload.text}}
        for number, payload in enumerate(PAYLOADS)
    ]
    if request.path == "/api/show":
        asked = request.json()["model"]
        await reply.json({"parameters": f"stop {asked}", "details": {"family": asked}})
    else:
        await reply.json({"models": entries})


def test_hostile_names_are_listed_shown_and_deleted_without_driving_anything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with in_thread(hostile) as running:
        for arguments in (
            ["ps"],
            ["show", f"local://0{PAYLOADS[0].text}"],
            ["rm", f"local://0{PAYLOADS[0].text}", "--yes"],
        ):
            assert main(["models", *arguments, "--host", running.url]) == 0
            captured = capsys.readouterr()
            text = captured.out + captured.err
            assert "0␛[2J" in text
            assert not {c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0}


def test_a_line_is_cut_to_the_cells_there_are() -> None:
    assert (cell_width("a日e\u0301\u200b"), truncated("日本語", 5), truncated("abc", 3)) == (
        4,
        "日本…",
        "abc",
    )
    assert (truncated("abcd", 3), truncated("abc", 0)) == ("ab…", "")


def test_what_a_server_says_of_memory_and_time_is_not_trusted() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    soon = (now + timedelta(minutes=4)).isoformat()
    texts = [soon, "2318-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "soon", "2026-01-02", 7, None]
    expected = ["in 4 min 0 s", "forever", "now", "", "", "", ""]
    assert [until_text(text, now) for text in texts] == expected
    shares: list[tuple[int, JsonValue]] = [(100, 50), (100, 200), (0, 5), (100, "x"), (100, -5)]
    infos = [ModelInfo(name="m", details={"memory_bytes": s, "size_vram": v}) for s, v in shares]
    assert [share_text(gpu_share_of(info)) for info in infos] == ["50 %", "100 %", "", "", "0 %"]

"""`ollm -p`: only the answer on standard output, and exit codes that scripts can rely on."""

import json
import signal
import socket
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from ollm_tui.cli.stop import stopping
from tests.cli.conftest import Ollm, command, environment
from tests.cli.fake_ollama import DONE, FakeOllama, text_line
from tests.support.seeds import sampled_rows


def local(fake: FakeOllama) -> list[str]:
    return ["--host", fake.url, "--model", "local://tiny:1b"]


def prompt_of(fake: FakeOllama) -> Any:
    return fake.requests[-1]["messages"][-1]["content"]


def test_the_answer_and_nothing_else_goes_to_standard_output(ollm: Ollm, fake: FakeOllama) -> None:
    fake.lines = [text_line("", thinking="hm"), text_line("Hello"), text_line(" there."), DONE]
    done = ollm(*local(fake), "-p", "hi")
    assert (done.stdout, done.stderr, done.returncode) == ("Hello there.\n", "", 0)
    assert prompt_of(fake) == "hi"


def test_each_event_is_a_line_of_json(ollm: Ollm, fake: FakeOllama) -> None:
    done = ollm(*local(fake), "--json", "-p", "hi")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert "".join(e["delta"] for e in events if e["type"] == "text") == "Hello there."
    assert events[-1]["type"] == "finish"
    assert (events[-1]["provider"], events[-1]["model"]) == ("local", "tiny:1b")
    assert done.returncode == 0


UNMARKED = [text_line("So it is 4."), text_line("\n</think>\n\n"), text_line("Four."), DONE]


def test_an_end_tag_that_tells_late_of_thinking_is_in_no_output(
    ollm: Ollm, fake: FakeOllama
) -> None:
    fake.lines = UNMARKED
    done = ollm(*local(fake), "-p", "2+2?")
    assert done.stdout == "So it is 4.\nFour.\n"
    assert done.stderr == "ollm: The text above was thinking, not the answer.\n"
    events = [
        json.loads(line) for line in ollm(*local(fake), "--json", "-p", "x").stdout.splitlines()
    ]
    # The connection may deliver a text in several pieces.
    kinds = [kind for kind, _pieces in groupby(e["type"] for e in events)]
    assert kinds == ["text", "withdrawn", "thinking", "text", "turn_complete", "finish"]
    at = next(n for n, e in enumerate(events) if e["type"] == "withdrawn")
    assert events[at]["blocks"] == [events[0]["block"]]
    thinking, text = (
        "".join(e["delta"] for e in events[at:] if e["type"] == kind)
        for kind in ("thinking", "text")
    )
    assert (thinking, text) == ("So it is 4.", "Four.")


@pytest.mark.parametrize(
    ("arguments", "piped", "prompt"),
    [
        (["-p", "sum up"], "a\nb\n", "sum up\n\na\nb"),
        ([], "from a pipe\n", "from a pipe"),
        (["-p", "-"], "from a pipe\n", "from a pipe"),
        (["-p", "only"], "", "only"),
        (["-p", "-"], b"caf\xe9 \xef\xbb\xbf", "caf\ufffd \ufeff"),
    ],
)
def test_piped_text_is_the_prompt_or_joins_it(
    arguments: list[str], piped: str | bytes, prompt: str, ollm: Ollm, fake: FakeOllama
) -> None:
    assert ollm(*local(fake), *arguments, stdin=piped).returncode == 0
    assert prompt_of(fake) == prompt


def test_a_file_is_read_like_a_pipe_and_the_null_device_is_nothing(
    tmp_path: Path, fake: FakeOllama
) -> None:
    (tmp_path / "in.txt").write_text("from a file")
    with (tmp_path / "in.txt").open() as file:
        subprocess.run(
            command(*local(fake)), stdin=file, env=environment(), check=True, capture_output=True
        )
    assert prompt_of(fake) == "from a file"
    done = subprocess.run(
        command(*local(fake)),
        stdin=subprocess.DEVNULL,
        env=environment(),
        check=False,
        capture_output=True,
    )
    assert done.returncode == 2


def test_system_prompt_and_bare_model_name_reach_the_server(ollm: Ollm, fake: FakeOllama) -> None:
    done = ollm(
        "--host",
        fake.url,
        "--provider",
        "ollama",
        "--model",
        "tiny:1b",
        "--system",
        "Be brief.",
        "-p",
        "x",
    )
    assert (done.stdout, done.returncode) == ("Hello there.\n", 0)
    assert fake.requests[-1]["messages"][0] == {"role": "system", "content": "Be brief."}


def test_control_characters_are_shown_and_line_ends_are_kept(ollm: Ollm, fake: FakeOllama) -> None:
    fake.lines = [
        text_line("a\x1b]0;x\x07\r"),
        text_line("\nb\x9b31m\u202e"),
        text_line("c\r"),
        DONE,
    ]
    done = ollm(*local(fake), "-p", "x")
    assert done.stdout == "a␛]0;x␇\nb⟦U+009B⟧31m⟦U+202E⟧c␍\n"


def test_json_lines_are_ascii_whatever_the_model_says(ollm: Ollm, fake: FakeOllama) -> None:
    fake.lines = [text_line("\x1b[31m\x9b\u2028\u202e\u00e9"), DONE]
    done = ollm(*local(fake), "--json", "-p", "x")
    assert done.stdout.isascii()
    assert not set(done.stdout) & {"\x1b", "\x07"}
    assert json.loads(done.stdout.splitlines()[0])["delta"] == "\x1b[31m\x9b\u2028\u202e\u00e9"


def test_a_stream_that_breaks_keeps_its_text_and_exits_with_1(ollm: Ollm, fake: FakeOllama) -> None:
    fake.lines = [text_line("Half an")]
    done = ollm(*local(fake), "-p", "x")
    assert done.stdout == "Half an\n"
    assert done.returncode == 1
    assert done.stderr.startswith("ollm: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_answer_cut_at_the_token_limit_says_so(ollm: Ollm, fake: FakeOllama) -> None:
    fake.lines = [text_line("Half"), {**DONE, "done_reason": "length"}]
    done = ollm(*local(fake), "-p", "x")
    assert (done.stdout, done.returncode) == ("Half\n", 0)
    assert "token limit" in done.stderr


@pytest.mark.parametrize(
    ("number", "code"),
    sampled_rows([(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], 1),
)
def test_a_signal_keeps_the_text_leaves_the_server_and_gives_its_code(
    number: int, code: int, fake: FakeOllama
) -> None:
    fake.hangs = True
    fake.lines = [text_line("So far")]
    with subprocess.Popen(
        command(*local(fake), "-p", "x"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(6) == b"So far"
        process.send_signal(number)
        assert fake.left.wait(5)
        assert (process.stdout.read(), process.stderr.read()) == (b"\n", b"")
        assert process.wait(5) == code


async def test_a_signal_that_the_parent_switched_off_stays_off() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping() as stop:
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) == stop.handle
        assert signal.getsignal(signal.SIGTERM) != stop.handle
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_a_blocked_reader_does_not_keep_a_stopped_run_alive(fake: FakeOllama) -> None:
    fake.hangs = True
    fake.lines = [text_line("x" * 65_536) for _ in range(20)]
    with subprocess.Popen(
        command(*local(fake), "-p", "x"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_ends_the_run_quietly(fake: FakeOllama) -> None:
    fake.hangs = True
    fake.lines = [text_line("line\n" * 1000) for _ in range(50)]
    with subprocess.Popen(
        command(*local(fake), "-p", "x"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--host", "http://127.0.0.1:1", "--model", "local://m", "-p", "x"], 1, "does not answer"),
        (["--model", "nowhere://m", "-p", "x"], 1, "nowhere"),
        (["--provider", "lcal", "-p", "x"], 2, "Did you mean `local`?"),
        (["--host", "ftp://x", "-p", "x"], 2, "http://"),
        (["--provider", "embedded", "--host", "x", "-p", "x"], 2, "does not apply to `embedded`"),
        (["--config", "none.toml", "-p", "x"], 2, "There is no file"),
        (["-p", ""], 2, "The prompt is empty."),
        (["--json"], 2, "--json needs a prompt."),
        (["-p", "x", "config", "path"], 2, "does not take a prompt"),
        ([], 2, "needs a terminal"),
        (["confg"], 2, "Did you mean 'config'?"),
        (["--modle", "qwen3"], 2, "Unrecognized arguments: --modle. Did you mean --model?"),
        (["keys", "set", "openai", "sk-abcdef"], 2, "`ollm keys set` takes a name alone: "),
        (["models", "--nosuch", "lst"], 2, "Unrecognized arguments: --nosuch."),
        (["why"], 2, 'To ask something: ollm -p "..."'),
        (["config"], 2, "ACTION"),
        (["config", "shw"], 2, "Did you mean 'show'?"),
        (["--modl=x"], 2, "--modl"),
    ],
)
def test_mistakes_are_one_line_and_a_stable_code(
    arguments: list[str], code: int, sentence: str, ollm: Ollm
) -> None:
    done = ollm(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("ollm: ")


def test_who_answers_is_reported_on_standard_error_where_it_was_not_named(
    ollm: Ollm, fake: FakeOllama
) -> None:
    for chosen in (["--host", fake.url], ["--host", fake.url, "--provider", "ollama"]):
        done = ollm(*chosen, "-p", "x")
        assert (done.stdout, done.returncode) == ("Hello there.\n", 0)
        assert done.stderr.startswith("ollm: ollama://")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("named", ["--host", "--model", "--provider"])
def test_an_empty_name_is_wrong_usage(named: str, ollm: Ollm, fake: FakeOllama) -> None:
    done = ollm(named, "", "-p", "x", OLLAMA_HOST=fake.url)
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.startswith(f"ollm: {named} is empty.")
    assert fake.requests == []


def test_what_is_named_and_gone_is_one_line_and_no_answer(ollm: Ollm, fake: FakeOllama) -> None:
    for named in (["--host", "http://127.0.0.1:9"], ["--provider", "kobold"]):
        done = ollm(*named, "-p", "x", OLLM_PROVIDERS__OTHER__BASE_URL=fake.url)
        assert (done.stdout, done.returncode) == ("", 1)
        assert "does not answer" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert fake.requests == []


def test_an_unknown_model_names_who_was_asked(ollm: Ollm, fake: FakeOllama) -> None:
    done = ollm("--host", fake.url, "--model", "no-such", "-p", "x")
    assert done.returncode == 1
    assert "'no-such'" in done.stderr
    assert "ollama" in done.stderr


def test_a_failure_before_the_stream_is_an_event_too(ollm: Ollm) -> None:
    done = ollm("--host", "http://127.0.0.1:1", "--model", "local://m", "--json", "-p", "x")
    assert json.loads(done.stdout)["type"] == "error"
    assert done.returncode == 1


def test_a_key_on_the_command_line_is_warned_of_and_never_shown(
    ollm: Ollm, fake: FakeOllama
) -> None:
    done = ollm(*local(fake), "--api-key", "sk-canary", "-p", "x")
    assert "process" in done.stderr
    assert "sk-canary" not in done.stdout + done.stderr
    assert fake.requests[-1]["headers"]["authorization"] == "Bearer sk-canary"


def test_a_broken_settings_file_is_reported_and_the_answer_comes(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    file = tmp_path / "c.toml"
    file.write_text('them = "x"\n')
    done = ollm(*local(fake), "--config", str(file), "-p", "x")
    assert (done.stdout, done.returncode) == ("Hello there.\n", 0)
    assert f"{file}:1: Unknown setting `them`. Did you mean `theme`?" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("handler", ["strict", "surrogateescape"])
def test_a_locale_without_the_letters_of_the_answer_gets_question_marks(
    ollm: Ollm, fake: FakeOllama, handler: str
) -> None:
    fake.lines = [text_line("caf\u00e9 \u4f60"), DONE]
    done = ollm(*local(fake), "-p", "x", PYTHONIOENCODING=f"ascii:{handler}")
    assert (done.stdout, done.returncode) == ("caf? ?\n", 0)


def test_nothing_runs_from_the_folder_it_is_started_in(tmp_path: Path, fake: FakeOllama) -> None:
    for shadow in ("rich.py", "httpx.py", "pydantic.py", "sitecustomize.py", "json.py"):
        (tmp_path / shadow).write_text(f"raise SystemExit('{shadow} ran')")
    (tmp_path / ".env").write_text("OLLM_MODEL=stolen\n")
    (tmp_path / "config.toml").write_text("not toml")
    unsafe = [part for part in command(*local(fake), "-p", "x") if part != "-P"]
    done = subprocess.run(
        unsafe,
        stdin=subprocess.DEVNULL,
        env=environment(),
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert (done.stdout, done.stderr) == (b"Hello there.\n", b"")


@pytest.mark.parametrize(
    ("number", "code"), sampled_rows([(signal.SIGTERM, 143), (signal.SIGINT, 130)], 1)
)
def test_a_signal_before_the_answer_began_ends_the_run_too(number: int, code: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen(
            command("--host", url, "--model", "local://m", "-p", "x"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as process:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(number)
                assert process.wait(5) == code
                assert process.communicate() == (b"", b"")


def test_settings_that_keep_a_model_from_being_chosen_are_reported_once(
    ollm: Ollm, tmp_path: Path
) -> None:
    broken = tmp_path / "config.toml"
    for text, words in (
        ("[broken\n", "not valid TOML"),
        ('provider = "gone"\n', "unknown provider"),
    ):
        broken.write_text(text)
        done = ollm("-p", "x", OLLM_CONFIG=str(broken))
        assert done.returncode != 0
        assert done.stderr.count(words) == 1, done.stderr


def called(name: str, **arguments: object) -> dict[str, Any]:
    return text_line("", tool_calls=[{"function": {"name": name, "arguments": arguments}}])


@pytest.mark.parametrize("way", ["flag", "settings"])
def test_a_tool_that_was_not_offered_is_not_run(
    way: str, ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    (tmp_path / "plan.txt").write_text("the plan")
    fake.lines = [called("read_file", path="plan.txt"), DONE]
    fake.capabilities = ["completion", "tools"]
    settings = tmp_path / "config.toml"
    enabled = '[tools]\nenabled = ["current_time"]\n' if way == "settings" else "[tools]\n"
    settings.write_text(f"{enabled}root = '{tmp_path}'\n[chat]\nmax_turns = 2\n")
    flags = ["--tools", "current_time"] if way == "flag" else []
    done = ollm(*local(fake), "--config", str(settings), *flags, "-p", "hi")
    assert len(fake.requests) == 2
    assert [tool["function"]["name"] for tool in fake.requests[0]["tools"]] == ["current_time"]
    assert prompt_of(fake) == (
        "Not run: the tool 'read_file' is not offered. Offered: current_time."
    )
    assert "the plan" not in json.dumps(fake.requests) + done.stdout + done.stderr


ONLY_CALLS = "The model gave no answer: it only asked for tools, and none was run."


@pytest.mark.parametrize(
    ("lines", "cause", "words"),
    [
        ([DONE], "empty", "The model gave an empty answer."),
        ([text_line("", thinking="Rivers."), DONE], "thinking", "only thinking and no answer"),
        ([called("read_file", path="a"), DONE], "calls", ONLY_CALLS),
    ],
)
def test_no_answer_is_one_line_an_event_and_an_exit_code(
    lines: list[dict[str, Any]], cause: str, words: str, ollm: Ollm, fake: FakeOllama
) -> None:
    fake.lines = lines
    done = ollm(*local(fake), "-p", "hi")
    assert (done.stdout, done.returncode) == ("", 1)
    assert [line for line in done.stderr.splitlines() if words in line] == [
        done.stderr.splitlines()[-1]
    ]
    done = ollm(*local(fake), "--json", "-p", "hi")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["type"] for event in events[-3:]] == ["no_answer", "turn_complete", "finish"]
    assert (events[-3]["cause"], done.returncode) == (cause, 1)
    assert words in done.stderr


def test_a_call_that_the_token_limit_ended_is_not_run(ollm: Ollm, fake: FakeOllama) -> None:
    cut = {**DONE, "done_reason": "length"}
    fake.lines = [called("current_time"), cut]
    done = ollm(*local(fake), "--tools", "current_time", "-p", "hi")
    assert len(fake.requests) == 1
    assert (done.stdout, done.returncode) == ("", 1)
    assert "current_time failed: Not run: the answer was cut" in done.stderr
    assert done.stderr.splitlines()[-1] == "ollm: The answer was cut at the token limit."


def test_a_profile_sets_what_is_sent(ollm: Ollm, fake: FakeOllama, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        '[profiles.short]\nmodel = "local://tiny:1b"\nsystem_prompt = "Be brief."\n'
        "[profiles.short.options]\nseed = 7\n"
    )
    named = ["--config", str(file), "--host", fake.url, "--profile"]
    assert ollm(*named, "short", "-p", "x").stdout == "Hello there.\n"
    sent = fake.requests[-1]
    assert (sent["model"], sent["options"]) == ("tiny:1b", {"seed": 7})
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    done = ollm(*named, "shrt", "-p", "x")
    assert (done.returncode, done.stdout, len(fake.requests)) == (2, "", 1)
    assert "--profile names an unknown profile. Did you mean `short`?" in done.stderr


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    return file


def test_an_answer_to_a_schema_is_json_that_matches(
    ollm: Ollm, fake: FakeOllama, schema: Path
) -> None:
    fake.lines = [text_line('```json\n{"name": '), text_line('"Ada é"}\n```'), DONE]
    done = ollm(*local(fake), "--schema", str(schema), "-p", "who?")
    assert (json.loads(done.stdout), done.returncode) == ({"name": "Ada é"}, 0)
    assert fake.requests[-1]["format"] == SCHEMA


def test_an_answer_that_never_matches_is_not_printed(
    ollm: Ollm, fake: FakeOllama, schema: Path
) -> None:
    fake.lines = [text_line('{"name": 1}'), DONE]
    done = ollm(*local(fake), "--schema", str(schema), "-p", "who?")
    assert (done.stdout, done.returncode) == ("", 4)
    assert "name must be string, not 1." in done.stderr
    assert "The model was asked to correct it." in done.stderr
    assert len(fake.requests) == 2
    assert "name must be string, not 1." in prompt_of(fake)


def test_the_value_is_an_event_of_its_own(ollm: Ollm, fake: FakeOllama, schema: Path) -> None:
    fake.lines = [text_line('{"name": "Ada"}'), DONE]
    done = ollm(*local(fake), "--json", "--schema", str(schema), "-p", "who?")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["value"] for e in events if e["type"] == "structured_answer"] == [{"name": "Ada"}]


def test_a_schema_that_cannot_be_used_is_wrong_usage(
    ollm: Ollm, fake: FakeOllama, schema: Path
) -> None:
    schema.write_text('{"$ref": "https://example.org/s.json"}')
    done = ollm(*local(fake), "--schema", str(schema), "-p", "who?")
    assert (done.stdout, done.returncode) == ("", 2)
    assert "leads out of it, and is not followed" in done.stderr
    settings = schema.with_name("settings.toml")
    settings.write_text(f'[profiles.a]\nschema = "{schema}"\n')
    done = ollm(*local(fake), "--config", str(settings), "--profile", "a", "-p", "who?")
    assert (done.stdout, done.returncode) == ("", 2)
    assert "change `schema` of the profile a." in done.stderr
    assert fake.requests == []
    elsewhere = ollm("--schema", str(schema), "models", "list")
    assert (elsewhere.returncode, elsewhere.stderr) == (
        2,
        "ollm: `models` does not take --schema.\n",
    )

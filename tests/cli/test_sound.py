"""`ollm speak` and `ollm transcribe`: files appear whole, and nothing is replaced unasked."""

import json
import resource
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from ollm_tui.cli import main
from ollm_tui.cli.media.task import OutputFile
from ollm_tui.cli.output import UsageError
from ollm_tui.providers.media.wave_file import wave_head
from tests.cli.conftest import Ollm, Run, command, environment
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Received, Reply, Server, in_thread
from tests.support.sound_models import put_voice


def files(folder: Path = Path()) -> list[str]:
    """List what stands beside the home of the tests."""
    return sorted(path.name for path in folder.iterdir() if path.name != "home")


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread(FakeOpenAI()) as running:
        yield running


@pytest.fixture
def run(
    server: Server,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    monkeypatch.chdir(tmp_path)

    def run_(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--provider", "openai-compatible", "--host", server.url])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_


def test_a_text_is_spoken_into_a_file_and_written_down_again(run: Run, server: Server) -> None:
    code, out, err = run("speak", "Hello", "there.", "-o", "a.flac", "--model", "voice")
    assert (code, out, err) == (0, "", "ollm: Saved a.flac (16 B).\n")
    assert Path("a.flac").read_bytes() == b"fLaCHello there."
    assert run("transcribe", "a.flac", "--model", "ears") == (0, "Hello there.\n", "")
    code, out, _ = run("transcribe", "a.flac", "--model", "ears", "--language", "en", "--json")
    assert json.loads(out) == {
        "type": "transcription",
        "text": "Hello there.",
        "provider": "openai-compatible",
        "model": "ears",
    }
    assert b"a.flac" not in server.received[-1].body
    assert files() == ["a.flac"]


def test_voice_speed_and_format_are_sent(run: Run, server: Server) -> None:
    options = ("--voice", "nova", "--speed", "1.5", "--format", "wav", "--json")
    code, out, _ = run("speak", "Hi.", "-o", "hello", *options, "--model", "voice")
    assert code == 0
    assert json.loads(out) == {
        "type": "file",
        "path": "hello",
        "bytes": 7,
        "mime_type": "audio/wav",
        "provider": "openai-compatible",
        "model": "voice",
    }
    body = server.received[-1].json()
    assert (body["voice"], body["speed"], body["response_format"]) == ("nova", 1.5, "wav")


def test_nothing_is_replaced_without_force_and_no_part_of_a_failure_stays(run: Run) -> None:
    Path("kept.wav").write_text("mine")
    Path("pipe").mkdir()
    ask = ("speak", "Hi.", "--model", "voice", "-o")
    code, _, err = run(*ask, "kept.wav")
    assert code == 2
    assert err == "ollm: kept.wav exists already. Use --force to replace it.\n"
    code, _, err = run("speak", "Hi.", "--model", "mute", "-o", "new.wav")
    assert code == 1
    assert "does not speak" in err
    code, _, err = run("speak", "Hi.", "--model", "mute", "-o", "kept.wav", "--force")
    assert code == 1
    assert Path("kept.wav").read_text() == "mine"
    for name, words in (("pipe", "is not a file"), ("none/a.wav", "its folder does not exist")):
        code, _, err = run(*ask, name, "--force")
        assert code == 2
        assert words in err
    assert run(*ask, "kept.wav", "--force")[0] == 0
    assert Path("kept.wav").read_bytes() == b"RIFFHi."
    assert files() == ["kept.wav", "pipe"]


def test_what_makes_no_sense_is_refused_with_a_sentence(run: Run, server: Server) -> None:
    Path("empty.wav").touch()
    for wrong, words in (
        (("speak", "Hi."), "Name the file to write: -o FILE."),
        (("speak", "Hi.", "-o", "-"), "-o takes the name of a file"),
        (("speak", "Hi.", "-o", "/"), "/ is not a file."),
        (("draw", "Hi.", "-o", ".", "--count", "2"), ". is not a file."),
        (("speak", "-o", "a.wav"), "There is no text."),
        (("speak", "Hi.", "-o", "a.wav", "--speed", "9"), "--speed takes a number from 0.25 to 4."),
        (("speak", "Hi.", "-o", "a.midi"), ".midi is no format of sound."),
        (("speak", "Hi.", "-o", "a.wav", "--format", "midi"), "--format does not take 'midi'"),
        (("transcribe", "none.wav"), "it does not exist"),
        (("transcribe", "empty.wav"), "empty.wav is empty."),
    ):
        code, out, err = run(*wrong)
        assert (code, out) == (2, ""), wrong
        assert words in err
    assert files() == ["empty.wav"]
    assert server.received == []


def test_without_a_model_that_is_known_to_speak_one_has_to_be_named(run: Run) -> None:
    code, _, err = run("speak", "Hi.", "-o", "a.wav")
    assert code == 1
    assert "No speech model found. Name one with --model." in err
    assert files() == []


def test_a_provider_without_speech_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    assert main(["speak", "Hi.", "-o", "a.wav", "--model", "anthropic://claude"]) == 1
    assert "Anthropic offers no speech." in capsys.readouterr().err
    assert files() == []


def test_a_name_that_is_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with (
        pytest.raises(UsageError, match="exists already"),
        OutputFile(path, replaces=False) as file,
    ):
        file.append(b"new")
        path.write_bytes(b"of another program")
        file.publish()
    assert path.read_bytes() == b"of another program"
    assert files(tmp_path) == ["a.wav"]


def test_piped_text_is_spoken(ollm: Ollm, server: Server, tmp_path: Path) -> None:
    named = ("--provider", "openai-compatible", "--host", server.url, "--model", "voice")
    done = ollm("speak", "-o", "a.mp3", *named, stdin="Good morning.\n")
    assert (done.returncode, done.stderr) == (0, "ollm: Saved a.mp3 (16 B).\n")
    assert (tmp_path / "a.mp3").read_bytes() == b"ID3Good morning."


def test_a_cut_connection_says_that_no_file_was_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def cuts(_request: Received, reply: Reply) -> None:
        await reply.start(content_type="audio/wav")
        await reply.write(b"RIFF")
        reply.cut()

    with in_thread(cuts) as server:
        named = ("--provider", "openai-compatible", "--host", server.url, "--model", "voice")
        assert main(["speak", "Hi.", "-o", str(tmp_path / "a.wav"), *named]) == 1
    err = capsys.readouterr().err
    assert "No file was written; try again." in err
    assert "kept" not in err
    assert files(tmp_path) == []


ESPEAK = """#!{python} -P
import sys
text = sys.stdin.read()
if "-v" in sys.argv and sys.argv[sys.argv.index("-v") + 1] == "xx":
    sys.exit("Error: The specified espeak-ng voice does not exist.")
sys.stdout.buffer.write({head!r} + b"\\1\\0" * len(text))
"""


@pytest.fixture
def espeak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program in the place of espeak-ng, which makes a sample of each letter."""
    program = tmp_path / "bin" / "espeak-ng"
    program.parent.mkdir()
    program.write_text(ESPEAK.format(python=sys.executable, head=wave_head(8000)), "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("OLLM_EMBEDDED__ESPEAK", str(program))
    monkeypatch.chdir(tmp_path)
    return program


def test_espeak_speaks_without_a_server_and_the_file_says_how_long_it_is(
    espeak: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["speak", "Hello there. You!", "-o", "a.wav", "--provider", "embedded"]) == 0
    assert capsys.readouterr().err == (
        "ollm: built-in://espeak-ng (the only speech model found)\nollm: Saved a.wav (76 B).\n"
    )
    with wave.open("a.wav") as sound:
        assert (sound.getframerate(), sound.getnframes()) == (8000, len("Hello there.You!"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "a.mp3"), "The built-in engine writes WAV files, not mp3."),
        (("-o", "a.wav", "--voice", "xx"), "espeak-ng has no voice xx."),
        (("-o", "a.wav", "--voice", "../x"), "espeak-ng has no voice ../x."),
    ],
)
def test_what_espeak_cannot_do_is_one_sentence_and_no_file(
    espeak: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    assert main(["speak", "Hi.", *options, "--model", "built-in://espeak-ng"]) == 1
    assert words in capsys.readouterr().err
    assert files() == ["bin"]


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_no_file(espeak: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run(
        command("speak", "word " * 1000, "-o", "a.wav", "--model", "built-in://espeak-ng"),
        cwd=tmp_path,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),  # compiled modules are files, too
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "ollm: a.wav cannot be written: File too large.\n"
    assert files(tmp_path) == ["bin"]


def test_a_voice_counts_before_a_program_of_the_system(
    espeak: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put_voice(tmp_path / "bin")
    Path("settings.toml").write_text('embedded.model_folders = ["bin"]\n', "utf-8")
    options = ("--config", "settings.toml", "--provider", "embedded")
    main(["speak", "Hi.", "-o", "a.wav", *options])
    assert "built-in://joe (the only speech model found)" in capsys.readouterr().err

"""`ollm embed`: a line of JSON for each text, and where a text is from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ollm_tui.cli import main
from tests.cli.conftest import Ollm, Run
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Server


@pytest.fixture
def server() -> OllamaServer:
    server = OllamaServer()
    server.models["nomic:latest"] = ["embedding"]
    return server


@pytest.fixture
def embed(served: Server, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["embed", *arguments, "--host", served.url])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def asked(served: Server) -> Iterator[dict[str, object]]:
    return (one.json() for one in served.received if one.path == "/api/embed")


def test_the_only_embedding_model_answers_and_every_text_has_its_line(
    embed: Run, served: Server, tmp_path: Path
) -> None:
    path = tmp_path / "note.txt"
    path.write_text("two\nlines", "utf-8")
    code, out, err = embed("ab", "c", "--file", str(path), "--dimensions", "2", "--json")
    assert code == 0
    assert lines(out) == [
        {"type": "embedding", "index": 0, "source": "argument 1", "vector": [2.0, 97.0]},
        {"type": "embedding", "index": 1, "source": "argument 2", "vector": [1.0, 99.0]},
        {"type": "embedding", "index": 2, "source": str(path), "vector": [9.0, 116.0]},
        {
            "type": "finish",
            "reason": "stop",
            "turn": 1,
            "usage": {"prompt_tokens": 12},
            "provider": "local",
            "model": "nomic:latest",
        },
    ]
    assert err == "ollm: ollama://nomic:latest (the only embedding model found)\n"
    (sent,) = asked(served)
    assert sent["dimensions"] == 2


def test_a_model_that_is_named_is_not_mentioned_and_lines_end_with_the_texts(embed: Run) -> None:
    code, out, err = embed("ab", "--model", "nomic")
    assert (code, err, len(lines(out))) == (0, "", 1)


def test_the_default_of_the_settings_is_used(
    embed: Run, served: Server, server: OllamaServer, tmp_path: Path
) -> None:
    server.models["other:latest"] = ["embedding"]
    code, _, err = embed("ab")
    assert code == 1
    assert "There are 2 embedding models" in err
    assert "ollama://nomic:latest or ollama://other:latest" in err
    path = tmp_path / "settings.toml"
    address = f'[providers.local]\nbase_url = "{served.url}"\n'
    path.write_text(f'{address}[defaults]\nembedding = "ollama://other"\n')
    assert main(["embed", "ab", "--config", str(path)]) == 0
    assert [one["model"] for one in asked(served)] == ["other"]


def test_many_texts_go_in_several_requests(embed: Run, served: Server) -> None:
    code, out, _ = embed(*["text"] * 70, "--model", "nomic", "--json")
    *vectors, _finish = lines(out)
    assert code == 0
    assert [line["index"] for line in vectors] == [*range(70)]
    assert [len(str(one["input"]).split(",")) for one in asked(served)] == [32, 32, 6]


def test_what_cannot_be_embedded_is_refused_with_a_sentence(
    embed: Run, server: OllamaServer, served: Server, tmp_path: Path
) -> None:
    code, out, err = embed("ab", "--model", "tiny", "--json")
    assert code == 1
    assert lines(out)[0]["type"] == "error"
    assert "does not support embeddings" in err
    assert embed("ab", "--model", "absent")[0] == 1
    for wrong, words in (
        (("  ",), "The text is empty: argument 1."),
        (("ab", "--dimensions", "0"), "--dimensions takes a whole number from 1."),
        (("--file", str(tmp_path)), "it is a folder"),
        (("--file", str(tmp_path / "none")), "it does not exist"),
        ((), "There is no text to embed."),
    ):
        code, out, err = embed(*wrong)
        assert (code, out) == (2, "")
        assert words in err
    before = len(list(asked(served)))
    del server.models["nomic:latest"]
    code, _, err = embed("ab")
    assert code == 1
    assert "No embedding model found." in err
    assert len(list(asked(served))) == before


def test_piped_lines_are_texts(ollm: Ollm, served: Server) -> None:
    named = ("embed", "--host", served.url, "--model", "nomic")
    done = ollm(*named, stdin="ab\n\nc\x0c\u2028c\r\n")
    found = [(line["source"], line["vector"]) for line in lines(done.stdout)]
    assert found == [("line 1", [2.0, 97.0]), ("line 3", [4.0, 99.0])]
    done = ollm(*named, "first", "-", stdin="ab")
    assert [line["source"] for line in lines(done.stdout)] == ["argument 1", "line 1"]

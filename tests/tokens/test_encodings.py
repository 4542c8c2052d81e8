"""tiktoken's tokenizers from the rank files of the package, without a network."""

import hashlib
import json
import lzma
import socket
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.model import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING

from ollm_tui.tokens.encodings import (
    SAME_RANKS,
    SHIPPED,
    SLICE,
    Encoding,
    Encodings,
    encoding_name,
    read_ranks,
)

pytestmark = pytest.mark.slow

RANKS = files("ollm_tui.tokens") / "ranks"
ROOT = Path(__file__).resolve().parents[2]
GREAT = "tiktoken is great!"


@pytest.fixture(scope="module")
def encodings() -> Encodings:
    return Encodings()


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a tokenizer may not connect anywhere")

    monkeypatch.setattr(socket.socket, "connect", refuse)


async def found(encodings: Encodings, model: str) -> Encoding:
    encoding = await encodings.encoding_for(model)
    assert encoding is not None
    return encoding


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo-0125", "cl100k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-5.1", "o200k_base"),
        ("o3", "o200k_base"),
        ("openai/gpt-4o", "o200k_base"),
        ("gpt-oss:20b", "o200k_base"),
        ("openai/gpt-oss-120b", "o200k_base"),
        ("text-davinci-003", None),
        ("llama3.2:3b", None),
        ("tiny", None),
    ],
)
def test_a_models_encoding_is_known_by_its_name(model: str, name: str | None) -> None:
    assert encoding_name(model) == name


def test_every_name_is_known_that_tiktoken_has_a_bundled_encoding_for() -> None:
    known = {**MODEL_TO_ENCODING, **MODEL_PREFIX_TO_ENCODING}
    names = {
        name for name, encoding in known.items() if SAME_RANKS.get(encoding, encoding) in SHIPPED
    }
    # `:` is taken for that of a tag, and a model that only completes texts is in no chat.
    others = {name for name in names if ":" in name} | {"babbage-002"}
    assert [name for name in sorted(names - others) if encoding_name(name) is None] == []


@pytest.mark.parametrize(
    ("model", "ids"),
    [
        ("gpt-4", [83, 1609, 5963, 374, 2294, 0]),
        ("gpt-4o", [83, 8251, 2488, 382, 2212, 0]),
    ],
)
async def test_the_ids_are_the_published_ones(
    encodings: Encodings, model: str, ids: list[int]
) -> None:
    encoding = await found(encodings, model)
    assert encoding.core.encode_ordinary(GREAT) == ids
    assert encoding.count(GREAT) == 6


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_the_rank_files_are_the_ones_whose_sums_tiktoken_knows(name: str) -> None:
    known = json.loads((RANKS / "encodings.json").read_text("utf-8"))[name]
    data = lzma.decompress((RANKS / f"{name}.tiktoken.xz").read_bytes())
    assert hashlib.sha256(data).hexdigest() == known["sha256"]
    ranks = read_ranks(data)
    assert sorted(ranks.values()) == list(range(len(ranks)))
    source = Path(__import__("tiktoken_ext.openai_public").openai_public.__file__)
    assert known["sha256"] in source.read_text("utf-8")


async def test_a_tokenizer_is_built_once_even_when_many_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encodings = Encodings()
    built: list[str] = []
    original = encodings._build

    def build(name: str) -> Encoding | None:
        built.append(name)
        return original(name)

    monkeypatch.setattr(encodings, "_build", build)
    got: list[Encoding | None] = []

    async def ask(model: str) -> None:
        got.append(await encodings.encoding_for(model))

    async with anyio.create_task_group() as group:
        for model in ("gpt-4o", "o3", "gpt-4o", "gpt-oss:20b"):
            group.start_soon(ask, model)
    assert built == ["o200k_base"]
    assert len({id(encoding) for encoding in got}) == 1
    assert await encodings.encoding_for("gpt-4o") is got[0]


async def test_a_caller_that_stops_waiting_does_not_stop_the_building() -> None:
    encodings = Encodings()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await encodings.encoding_for("gpt-4")
    assert scope.cancelled_caught
    assert (await found(encodings, "gpt-4")).count("hi") == 1


async def test_text_that_spells_a_control_token_is_text(encodings: Encodings) -> None:
    assert (await found(encodings, "gpt-4o")).count("<|endoftext|>") > 1


@pytest.mark.parametrize("model", ["gpt-4", "gpt-4o"])
@pytest.mark.parametrize("text", [" " * 1_000_000, "\t" * 1_000_000 + "x", "\ud800 half", ""])
async def test_no_text_is_too_strange(encodings: Encodings, model: str, text: str) -> None:
    encoding = await found(encodings, model)
    assert (encoding.count(text) > 0) == bool(text)


async def test_slices_are_all_counted(encodings: Encodings) -> None:
    encoding = await found(encodings, "gpt-4o")
    text = " word" * SLICE
    whole = len(encoding.core.encode_ordinary(text))
    assert whole <= encoding.count(text) <= whole + len(text) // SLICE


@given(st.text())
def test_every_text_is_counted_as_its_ids(encodings: Encodings, text: str) -> None:
    encoding = encodings._find("gpt-4")
    assert encoding is not None
    assert encoding.count(text) == len(encoding.core.encode_ordinary(text))
    assert encoding.core.decode(encoding.core.encode_ordinary(text)) == text


async def test_where_the_files_are_missing_there_is_no_tokenizer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    encodings = Encodings(tmp_path)
    assert await encodings.encoding_for("gpt-4o") is None
    assert await encodings.encoding_for("gpt-4o") is None
    assert len(caplog.records) == 1
    assert "o200k_base" in caplog.text


async def test_a_model_without_a_tokenizer_is_looked_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encodings = Encodings()
    assert await encodings.encoding_for("llama3") is None
    monkeypatch.setattr(Encodings, "_find", None)
    assert await encodings.encoding_for("llama3") is None


def test_counting_is_imported_without_loading_a_tokenizer() -> None:
    code = (
        "import sys, ollm_tui.tokens.count, ollm_tui.tokens.limits, ollm_tui.tokens.limits\n"
        "sys.exit(any(name in sys.modules for name in ('tiktoken', 'regex', 'requests')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0

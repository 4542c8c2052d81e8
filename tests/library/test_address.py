"""What a person writes, and what is meant by it."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ollm_tui.library.address import (
    HubAddress,
    InvalidAddress,
    PlainName,
    format_address,
    parse_address,
)
from ollm_tui.library.downloads.job import LocalFiles, UrlFile

HUB = "https://huggingface.co"
PATH = "Q4_K_M/m-00001-of-00002.gguf"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("owner/name", HubAddress(repo="owner/name")),
        ("  'owner/name' ", HubAddress(repo="owner/name")),
        ("owner/name:Q4_K_M", HubAddress(repo="owner/name", quantization="Q4_K_M")),
        ("owner/name:q4_k_m", HubAddress(repo="owner/name", quantization="Q4_K_M")),
        ("owner/name:ud-q4_k_xl", HubAddress(repo="owner/name", quantization="UD-Q4_K_XL")),
        ("hf.co/owner/name", HubAddress(repo="owner/name")),
        ("HF.co/owner/name:latest", HubAddress(repo="owner/name")),
        ("hf.co/owner/name:IQ9", HubAddress(repo="owner/name", quantization="IQ9")),
        ("hf.co/owner/name/m.gguf", HubAddress(repo="owner/name", path="m.gguf")),
        ("hf:owner/name", HubAddress(repo="owner/name")),
        ("hf://owner/name", HubAddress(repo="owner/name")),
        ("hf://owner/name:Q8_0", HubAddress(repo="owner/name", quantization="Q8_0")),
        (
            "hf://owner/name@v2/a/b.gguf",
            HubAddress(repo="owner/name", revision="v2", path="a/b.gguf"),
        ),
        (f"{HUB}/owner/name", HubAddress(repo="owner/name")),
        (f"{HUB}/owner/name/", HubAddress(repo="owner/name")),
        (f"{HUB}/owner/name:Q6_K", HubAddress(repo="owner/name", quantization="Q6_K")),
        ("http://hf.co/owner/name?library=llama", HubAddress(repo="owner/name")),
        (f"{HUB}/owner/name#readme", HubAddress(repo="owner/name")),
        (f"{HUB}/owner/name/tree/main", HubAddress(repo="owner/name")),
        (
            f"{HUB}/owner/name/tree/v1/Q4_K_M",
            HubAddress(repo="owner/name", revision="v1", quantization="Q4_K_M"),
        ),
        (f"{HUB}/owner/name/blob/main/{PATH}", HubAddress(repo="owner/name", path=PATH)),
        (
            f"{HUB}/owner/name/resolve/refs%2Fpr%2F1/a%20b.gguf?download=true",
            HubAddress(repo="owner/name", revision="refs/pr/1", path="a b.gguf"),
        ),
        (
            f"{HUB}/owner/name?show_file_info=x-Q8_0.gguf",
            HubAddress(repo="owner/name", path="x-Q8_0.gguf"),
        ),
        (f"https://me:hf_secret@{HUB[8:]}/owner/name", HubAddress(repo="owner/name")),
        (f"{HUB}/api/models/owner/name", HubAddress(repo="owner/name")),
        ("https://mirror.example/hub/owner/name", HubAddress(repo="owner/name")),
        ("https://mirror.example/other/x.gguf", UrlFile(url="https://mirror.example/other/x.gguf")),
        ("https://e.org/x.gguf?key=1", UrlFile(url="https://e.org/x.gguf?key=1")),
        ("http://localhost:8000/ggml.bin", UrlFile(url="http://localhost:8000/ggml.bin")),
        ("./models", LocalFiles(path=Path("models"))),
        ("../x.gguf", LocalFiles(path=Path("../x.gguf"))),
        ("/data/x.gguf", LocalFiles(path=Path("/data/x.gguf"))),
        ("x.gguf", LocalFiles(path=Path("x.gguf"))),
        ("models/x.GGUF", LocalFiles(path=Path("models/x.GGUF"))),
        ("file:///data/a%20b.gguf", LocalFiles(path=Path("/data/a b.gguf"))),
        ("qwen3:8b", PlainName("qwen3:8b")),
        ("qwen3", PlainName("qwen3")),
        ("somebody/model:7b", PlainName("somebody/model:7b")),
        ("attic://qwen3:8b", PlainName("attic://qwen3:8b")),
        ("registry.example/library/qwen3", PlainName("registry.example/library/qwen3")),
    ],
)
def test_what_is_meant(text: str, meant: object) -> None:
    assert parse_address(text, endpoint="https://mirror.example/hub") == meant


def test_the_home_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_address("~/x.gguf") == LocalFiles(path=tmp_path / "x.gguf")
    assert parse_address("~nobody-here/x") == LocalFiles(path=Path("~nobody-here/x"))


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "''", "a\nb", "hf.co", "hf.co/", "hf.co/owner", "hf:", "hf://x", "https://"),
        *(f"{HUB}/datasets/owner/name", f"{HUB}/docs/hub", HUB, f"{HUB}/owner/../x"),
        *("http://[::1", "https://a b/x.gguf", "file://elsewhere/x.gguf", "https://e.org:99999/x"),
        *("hf.co/a b/c", "hf://../x", "https://e.org\\@f.org/x.gguf"),
    ],
)
def test_what_cannot_be_fetched_is_reported_in_a_sentence(text: str) -> None:
    meant = parse_address(text)
    assert isinstance(meant, InvalidAddress)
    assert meant.reason.endswith(".")


PIECES = st.sampled_from(
    [
        *("https://", "http://", "hf://", "file://", "hf:", "huggingface.co", "hf.co", "/", "//"),
        *("owner", "name", ":", "@", "Q4_K_M", ".gguf", "resolve", "blob", "tree", "main", "?"),
        *(
            "..",
            ".",
            "~",
            "%2F",
            "%00",
            "[",
            "]",
            "\\",
            "#",
            "\x00",
            "é",
            " ",
            "x",
            "-",
            "datasets",
        ),
    ]
)


@settings(max_examples=400)
@given(st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(max_size=40)))
@example("https://huggingface.co//")
def test_any_text_means_something_and_a_repository_is_one(text: str) -> None:
    meant = parse_address(text)
    if isinstance(meant, HubAddress):
        owner, _, name = meant.repo.partition("/")
        assert not {owner, name} & {"", ".", ".."}
        assert "/" not in name
        assert meant.path != ""
        assert meant.revision
    elif isinstance(meant, UrlFile):
        assert meant.url.startswith(("http://", "https://", "HTTP"))


@given(
    secret=st.text("abcdefXYZ0123456789", min_size=6, max_size=12).map("S3cret".__add__),
    template=st.sampled_from(
        [
            "https://u:{}@e.org/x.gguf",
            "https://{}@e.org/x.gguf",
            "https://e.org/x.gguf?token={}",
            "https://u:{}@huggingface.co/owner/name",
            "https://huggingface.co/owner/name/resolve/main/x.gguf?token={}",
            "https://u:{}@huggingface.co/datasets/x/y",
            "https://u:{}@[::1/x.gguf",
            "https://e.org/x.gguf#{}",
        ]
    ),
)
def test_what_is_shown_of_an_address_holds_no_secret(secret: str, template: str) -> None:
    meant = parse_address(template.format(secret))
    assert secret not in format_address(meant)
    if isinstance(meant, InvalidAddress):
        assert secret not in meant.reason


@settings(max_examples=200)
@given(
    repo=st.from_regex(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,9}/[A-Za-z0-9][A-Za-z0-9_-]{0,9}", fullmatch=True
    ),
    quantization=st.sampled_from([None, "Q4_K_M", "UD-IQ2_XXS", "BF16"]),
)
def test_what_is_shown_means_the_same_again(repo: str, quantization: str | None) -> None:
    address = HubAddress(repo=repo, quantization=quantization)
    if repo.partition("/")[0].lower() not in ("hf.co", "huggingface.co"):
        assert parse_address(format_address(address)) == address

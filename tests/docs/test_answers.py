"""The page about answers names the limits that the code has."""

from pathlib import Path

import pytest

from ollm_tui.decode.json_guard import MAX_CONTAINERS, MAX_VALUES
from ollm_tui.decode.lines import MAX_LINE_BYTES
from ollm_tui.decode.tool_calls import MAX_CALL_BYTES, MAX_CALLS
from ollm_tui.providers.answer_decoder import MAX_WHOLE_BYTES
from ollm_tui.providers.anthropic.from_wire import MAX_COUNTS_CHARS
from ollm_tui.providers.anthropic.llamacpp import MAX_TEXT_CHARS
from ollm_tui.providers.response_reader import AT_ONCE_BYTES, FREE_BYTES, MAX_RATIO, PIECE_BYTES
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import MAX_ERROR_BYTES, MAX_REPLY_BYTES

PAGE = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")


def mib(size: int) -> str:
    return f"{size // 2**20} MiB"


def kib(size: int) -> str:
    return f"{size // 2**10} KiB"


@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("one line or event of an answer", mib(MAX_LINE_BYTES)),
        ("an answer without streaming, a list of models", mib(MAX_WHOLE_BYTES)),
        ("an answer without streaming, a list of models", mib(MAX_REPLY_BYTES)),
        ("the body of a refusal", kib(MAX_ERROR_BYTES)),
        ("objects and lists in one JSON document", str(MAX_CONTAINERS)),
        ("values of any kind in one JSON document", str(MAX_VALUES)),
        ("tool calls in one answer", str(MAX_CALLS)),
        ("memory for the tool calls of one answer", mib(MAX_CALL_BYTES)),
        (
            "text beside an answer that a tool constrains to a schema",
            f"{MAX_TEXT_CHARS} characters",
        ),
        (
            f"size of a decompressed answer, beyond {mib(FREE_BYTES)}",
            f"{MAX_RATIO} times its size",
        ),
        (
            "data decoded before keys are handled again",
            kib(AT_ONCE_BYTES + PIECE_BYTES),
        ),
    ],
)
def test_a_limit_on_the_page_is_the_one_in_the_code(what: str, most: str) -> None:
    assert f"| {what} | {most} |" in PAGE


def test_the_clocks_and_counts_on_the_page_are_those_in_the_code() -> None:
    assert f"| {ProviderSpec(name='p', kind='ollama').list_timeout_s:g} seconds |" in PAGE
    assert f"more than {kib(MAX_COUNTS_CHARS)} around them" in PAGE
    for clock in ("connect_timeout_s", "first_byte_timeout_s", "idle_timeout_s"):
        assert f"| `{clock}` |" in PAGE
        assert hasattr(ProviderSpec(name="p", kind="ollama"), clock)

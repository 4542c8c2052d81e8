"""Which models the picker lists, in what order, and how a row is written."""

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.models.entry import ModelEntry, extra_abilities
from ollm_tui.tui.models.picker import problem_lines, row_content, rows_of, sections


def row(name: str, provider: str = "local", label: str = "Ollama") -> ModelEntry:
    return ModelEntry(ModelRef(provider, name), ModelInfo(name=name), label)


def names(rows: tuple[ModelEntry, ...]) -> list[str]:
    return [one.ref.model for one in rows]


def test_models_that_cannot_answer_with_text_are_left_out() -> None:
    listing = Listing(
        provider="local",
        label="Ollama",
        models=(
            ModelInfo(name="qwen3"),
            ModelInfo(
                name="nomic",
                capability=ModelCapability(frozenset({"text"}), frozenset({"embedding"})),
            ),
            ModelInfo(name="half", details={"problem": "part 3 of 4 is missing"}),
        ),
    )
    assert [one.ref.model for one in rows_of(listing)] == ["qwen3"]


def test_recent_models_come_first_the_latest_in_front() -> None:
    rows = [row("a"), row("b"), row("c", "lm", "LM Studio")]
    found = sections(rows, "", ["lm://c", "local://b"])
    assert [part.heading for part in found] == ["Recent", "Ollama", "LM Studio"]
    assert names(found[0].rows) == ["c", "b"]
    assert names(found[1].rows) == ["a", "b"]


def test_what_is_typed_narrows_and_orders() -> None:
    rows = [row("my-qwen"), row("qwen3:8b"), row("llama3"), row("xqwen")]
    (found,) = sections(rows, "qwen", [])
    assert names(found.rows) == ["qwen3:8b", "my-qwen", "xqwen"]


def test_letters_in_order_and_provider_names_match_too() -> None:
    assert row("qwen3:8b").rank("q38", with_facts=False) is not None
    assert row("qwen3", "lm", "LM Studio").rank("qwen studio", with_facts=False) is not None
    assert row("qwen3:8b").rank("83q", with_facts=False) is None


def test_marks_say_what_a_model_can_do_beside_text() -> None:
    able = ModelCapability(
        frozenset({"text", "image"}), frozenset({"text"}), frozenset({"tool_use", "thinking"})
    )
    shown = " ".join(extra_abilities(ModelInfo(name="m", capability=able)))
    assert shown == "vision tools thinking"
    assert " ".join(extra_abilities(ModelInfo(name="m"))) == ""


def test_a_row_fits_its_width_whatever_the_name() -> None:
    info = ModelInfo(name="模型" * 60, size_bytes=5 * 10**9, context=32768, loaded=True)
    one = ModelEntry(ModelRef("local", info.name), info, "Ollama")
    for width in (20, 40, 60, 80):
        line = row_content(one, width, is_current=False, names_provider=True)
        assert line.cell_length <= width, width


def test_a_wide_row_says_size_context_and_marks() -> None:
    info = ModelInfo(name="qwen3", size_bytes=5_200_000_000, context=32768)
    line = row_content(
        ModelEntry(ModelRef("local", "qwen3"), info, "Ollama"),
        78,
        is_current=False,
        names_provider=False,
    ).plain
    assert "qwen3" in line
    assert "5.2 GB" in line
    assert "32k" in line


def test_names_cannot_drive_the_terminal_or_the_markup() -> None:
    line = row_content(row("[/red]\x1b[2J"), 60, is_current=False, names_provider=False)
    assert "[/red]⟦U+001B⟧[2J" in line.plain


def test_a_provider_that_failed_has_one_line() -> None:
    problem = AIError(ErrorCode.SERVICE_UNAVAILABLE, "It does not answer\nat all.")
    listings = [Listing(provider="lm", label="LM Studio", problem=problem)]
    assert problem_lines(listings) == ["LM Studio: It does not answer at all."]


def test_a_provider_is_not_named_twice() -> None:
    problem = AIError(ErrorCode.SERVICE_UNAVAILABLE, "LM Studio does not answer.")
    listings = [Listing(provider="lm", label="LM Studio", problem=problem)]
    assert problem_lines(listings) == ["LM Studio does not answer."]

import pytest

from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece
from ollm_tui.decode.thinking import TagPair, ThinkTags, ThinkTagSplitter
from tests.decode.kept import joined
from tests.support.corpus import Case, case_id, load_cases, needs_corpus
from tests.support.cuts import one_by_one

pytestmark = needs_corpus

# The source joins texts around a block with a line end, which its settings do not say.
TEXT_JOINTS = {"vercel-single-chunk-two-blocks": "\n"}


def settings_of(case: Case) -> ThinkTags:
    given = case["settings"]
    return ThinkTags(
        pairs=(TagPair(*given["tags"]),),
        start_open=given["start_open"],
        where=given["where"],
        unclosed=given["unclosed"],
        text_separator=TEXT_JOINTS.get(case["id"], ""),
    )


def plain(text: str, compare: str) -> str:
    return " ".join(text.split()) if compare == "collapse" else text.strip()


@pytest.mark.parametrize("case", load_cases("thinking"), ids=case_id)
def test_reasoning_is_divided_from_text(case: Case) -> None:
    whole = "".join(case["chunks"])
    compare = case["compare"]
    assert compare in {"strip", "collapse"}
    for chunks in (case["chunks"], [whole], one_by_one(whole)):
        splitter = ThinkTagSplitter(settings_of(case))
        pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)]
        pieces += splitter.finish()
        for kind, key in ((ThinkingPiece, "thinking"), (TextPiece, "text")):
            assert plain(joined(pieces, kind), compare) == plain(case["expected"][key], compare)


@pytest.mark.parametrize("case", [c for c in load_cases("thinking") if "steps" in c], ids=case_id)
def test_each_chunk_gives_what_is_certain_after_it(case: Case) -> None:
    splitter = ThinkTagSplitter(settings_of(case))
    for step in case["steps"]:
        pieces = splitter.feed(step["input"])
        assert joined(pieces, ThinkingPiece) == step["thinking"]
        assert joined(pieces, TextPiece) == step["text"]

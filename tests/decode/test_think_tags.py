import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.think_output import TextPiece, ThinkingPiece, ThinkPiece
from ollm_tui.decode.think_tags import TagPair, ThinkTags, ThinkTagSplitter
from tests.support.cuts import cut_wholes, one_by_one, ways_to_cut

TWO = (TagPair("<think>", "</think>"), TagPair("<thinking>", "</thinking>"))
AWKWARD = (TagPair("<t", "t>"), TagPair("<t<t>", "</t>"), TagPair("<tt", "/t>"))
SETTINGS = st.builds(
    ThinkTags,
    pairs=st.sampled_from([(TWO[0],), TWO, AWKWARD]),
    start_open=st.booleans(),
    where=st.sampled_from(["leading", "anywhere"]),
    unclosed=st.sampled_from(["thinking", "text"]),
    text_joint=st.sampled_from(["", "\n"]),
)
TEXTS = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "<thinking>", "</thinking>", "<", "</", "<thi", "nk>", ">"),
            *("<t", "t>", "<t<t>", "</t>", "<tt", "/t>", " ", "\n", "a", "word ", "\u00a0", "🧠"),
        ]
    ),
    max_size=16,
).map("".join)


def run(chunks: list[str], settings: ThinkTags | None = None) -> list[ThinkPiece]:
    splitter = ThinkTagSplitter(settings)
    pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)]
    return pieces + splitter.finish()


def joined(pieces: list[ThinkPiece]) -> list[ThinkPiece]:
    """Join neighbours of one kind: what a reader sees."""
    found: list[ThinkPiece] = []
    for piece in pieces:
        if found and type(found[-1]) is type(piece):
            found[-1] = type(piece)(found[-1].text + piece.text)
        else:
            found.append(piece)
    return found


def seen(text: str, **settings: object) -> str:
    """Write the division with reasoning in brackets, checked under every fixed way of cutting."""
    tags = ThinkTags(**settings)  # type: ignore[arg-type] # the names are checked when called
    results = [joined(run(chunks, tags)) for chunks in ways_to_cut(text)]
    assert all(result == results[0] for result in results)
    return "".join(
        f"[{piece.text}]" if isinstance(piece, ThinkingPiece) else piece.text
        for piece in results[0]
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain < text", "plain < text"),
        (" \n <think>\n a b \n</think>\n\n c ", "[a b]c "),
        ("<think>\n\n</think>\n\nHi", "Hi"),
        ("<think>a</think>", "[a]"),
        ("<think>a</think> \n", "[a]"),
        ("<think>a <b> </thin> c</think>d", "[a <b> </thin> c]d"),
        ("<think>a <think> b</think>c</think>", "[a <think> b]c</think>"),
        ("<think>never closed ", "[never closed ]"),
        ("<think>", ""),
        ("<thin", "<thin"),
        (" \n", " \n"),
        ("  text <think>a</think>", "  text <think>a</think>"),
        ("<think>a</think><think>b</think>c", "[a]<think>b</think>c"),
        ("</think>a", "</think>a"),
        ("<THINK>a</THINK>", "<THINK>a</THINK>"),
        ("<thinking>a</thinking>b", "<thinking>a</thinking>b"),
    ],
)
def test_only_a_leading_block_counts_by_default(text: str, expected: str) -> None:
    assert seen(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<think>b</think>c", "a[b]c"),
        ("a <think>b</think> c", "a [b]c"),
        ("a<think>b</think> c", "a[b] c"),
        ("a<think>b</think> <think>c</think> d", "a[b\n\nc] d"),
        ("a<think></think>b", "ab"),
        ("a <think>b", "a [b]"),
        ("a </think> b", "a </think> b"),
    ],
)
def test_blocks_count_anywhere_when_asked(text: str, expected: str) -> None:
    assert seen(text, where="anywhere") == expected


def test_joints_stand_between_texts_and_between_blocks() -> None:
    text = "<think>a</think>b<think>c</think>d"
    found = seen(text, where="anywhere", text_joint="\n", thinking_joint=" | ")
    assert found == "[a]b[ | c]\nd"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a</think>\nb", "[a]b"),
        ("\n<think>a</think>b", "[a]b"),
        ("</think>b", "b"),
        ("a <think>b</think>c", "[a <think>b]c"),
        ("no end", "[no end]"),
        ("a</think>b</think>c", "[a]b</think>c"),
    ],
)
def test_a_block_that_the_prompt_opened_needs_no_start_tag(text: str, expected: str) -> None:
    assert seen(text, start_open=True) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>b", "[a]b"),
        (" <think> a ", " <think> a "),
        ("<think>a</think>b <think>c", "[a]b <think>c"),
    ],
)
def test_an_unclosed_block_is_text_with_its_tag_when_asked(text: str, expected: str) -> None:
    assert seen(text, where="anywhere", unclosed="text") == expected


def test_a_prompt_opened_block_without_end_is_all_text_when_asked() -> None:
    assert seen(" an answer ", start_open=True, unclosed="text") == " an answer "


def test_of_several_pairs_the_longest_tag_counts_and_its_own_end() -> None:
    assert seen("<thinking>a</think>b</thinking>c", pairs=TWO) == "[a</think>b]c"
    assert seen("<think>a</thinking>b</think>c", pairs=TWO) == "[a</thinking>b]c"
    assert seen("a</thinking>b", pairs=TWO, start_open=True) == "[a]b"


def test_text_is_given_out_as_soon_as_it_can_be_no_tag() -> None:
    splitter = ThinkTagSplitter()
    assert splitter.feed("<think>abc</th") == [ThinkingPiece("abc")]
    assert splitter.feed("ing>def") == [ThinkingPiece("</thing>def")]
    assert splitter.feed("</think>jkl <") == [TextPiece("jkl <")]


@pytest.mark.parametrize(("start", "end"), [("", "</t>"), ("<t>", ""), (" ", "x"), ("\n<t>", "x")])
def test_tags_that_cannot_be_found_are_refused(start: str, end: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        TagPair(start, end)


@given(case=cut_wholes(TEXTS), settings=SETTINGS)
def test_chunk_borders_never_change_the_division(
    case: tuple[str, list[str]], settings: ThinkTags
) -> None:
    whole, chunks = case
    expected = joined(run([whole], settings))
    assert joined(run(chunks, settings)) == expected
    assert joined(run(one_by_one(whole), settings)) == expected


@given(text=TEXTS)
def test_text_before_which_no_block_stands_is_unchanged(text: str) -> None:
    assert joined(run(one_by_one("x" + text))) == [TextPiece("x" + text)]


@given(text=TEXTS, settings=SETTINGS)
def test_every_word_comes_out_in_its_order(text: str, settings: ThinkTags) -> None:
    marked = "".join(f"{letter}\u2460" if letter == "a" else letter for letter in text)
    out = "".join(piece.text for piece in run([marked], settings))
    assert out.count("a\u2460") == marked.count("a\u2460")


@given(case=cut_wholes(TEXTS), settings=SETTINGS)
def test_less_than_one_tag_is_held_of_text_outside_blocks(
    case: tuple[str, list[str]], settings: ThinkTags
) -> None:
    _, chunks = case
    splitter = ThinkTagSplitter(settings)
    longest = max(len(tag) for pair in settings.pairs for tag in (pair.start, pair.end))
    for chunk in chunks:
        splitter.feed(chunk)
        assert len(splitter._held) < longest

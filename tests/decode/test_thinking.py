import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece, ThinkPiece
from ollm_tui.decode.thinking import TagPair, ThinkTags, ThinkTagSplitter
from tests.decode.kept import kept
from tests.support.cuts import cut_wholes, one_by_one, ways_to_cut

TWO = (TagPair("<think>", "</think>"), TagPair("<thinking>", "</thinking>"))
AWKWARD = (TagPair("<t", "t>"), TagPair("<t<t>", "</t>"), TagPair("<tt", "/t>"))
SETTINGS = st.builds(
    ThinkTags,
    pairs=st.sampled_from([(TWO[0],), TWO, AWKWARD]),
    start_open=st.booleans(),
    where=st.sampled_from(["leading", "anywhere"]),
    unclosed=st.sampled_from(["thinking", "text"]),
    text_separator=st.sampled_from(["", "\n"]),
    answer_starts=st.sampled_from([(), ("<t",), ("\nnk>", "<thi")]),
    answer_ends=st.sampled_from([(), ("</t>", "word")]),
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


def seen(text: str, **settings: object) -> str:
    """Write the division with reasoning in brackets, checked under every fixed way of cutting."""
    tags = ThinkTags(**settings)  # type: ignore[arg-type] # the names are checked when called
    results = [kept(run(chunks, tags)) for chunks in ways_to_cut(text)]
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
        ("</think>a", "a"),
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
    found = seen(text, where="anywhere", text_separator="\n", thinking_separator=" | ")
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("think\na b\nanswer\n\nc", "[a b]c"),
        ("think\na b\nanswer", "[a b\nanswer]"),
        ("think\nthe answer\nis\nanswer\n4", "[the answer\nis]4"),
        ("think\n\nanswer\n4", "4"),
        ("think\na\nanswer\nb\nanswer\nc", "[a]b\nanswer\nc"),
        ("plain\nanswer\n", "plain\nanswer\n"),
    ],
)
def test_a_single_delimiter_and_the_answer_after_it(text: str, expected: str) -> None:
    mark = TagPair("think\n", "\nanswer\n")
    assert seen(text, pairs=(mark,), answer_starts=("\nanswer\n",)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b\nanswer\nc", "[a b]c"),
        ("\nanswer\n\n c", "c"),
        ("answer\nc", "c"),
        ("a <think> b", "[a <think> b]"),
        ("", ""),
    ],
)
def test_an_answer_tag_ends_what_no_tag_began(text: str, expected: str) -> None:
    found = seen(text, pairs=(), answer_starts=("\nanswer\n",), start_open=True)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>\n<answer>\nb</answer>", "[a]b"),
        ("<think>a<answer>b</answer>", "[a]b"),
        ("<answer>b</answer>", "b"),
        ("<answer></answer>c", "c"),
        ("<answer>b</answer>c</answer>", "bc</answer>"),
        ("a <answer>b</answer>", "a <answer>b</answer>"),
        ("<answer>b<think>c", "b<think>c"),
    ],
)
def test_tags_around_the_answer_are_dropped(text: str, expected: str) -> None:
    answer = {"answer_starts": ("<answer>",), "answer_ends": ("</answer>",)}
    assert seen(text, **answer) == expected


def test_reasoning_may_follow_the_answer_in_its_tags() -> None:
    answer = {"answer_starts": ("<answer>",), "answer_ends": ("</answer>",)}
    text = "<answer>b</answer><think>a</think>"
    assert seen(text, where="anywhere", **answer) == "b[a]"
    assert seen("b<think>a<answer>c</answer>", where="anywhere", **answer) == "b[a]c"


def test_an_opened_block_needs_something_that_ends_it() -> None:
    with pytest.raises(ValueError, match="ends it"):
        ThinkTags(pairs=(), start_open=True)
    with pytest.raises(ValueError, match="visible"):
        ThinkTags(answer_starts=("\n",))


@given(case=cut_wholes(TEXTS), settings=SETTINGS)
def test_chunk_borders_never_change_the_division(
    case: tuple[str, list[str]], settings: ThinkTags
) -> None:
    whole, chunks = case
    expected = kept(run([whole], settings))
    assert kept(run(chunks, settings)) == expected
    assert kept(run(one_by_one(whole), settings)) == expected


@given(text=TEXTS)
def test_text_before_which_no_block_stands_is_unchanged(text: str) -> None:
    for begun in ("x <think> ", "x `</think>` "):  # an end tag may end what the prompt opened
        assert kept(run(one_by_one(begun + text))) == [TextPiece(begun + text)]


@given(text=TEXTS, settings=SETTINGS)
@example(text="a</think>", settings=ThinkTags())  # the text is taken back, and follows as thinking
def test_every_word_comes_out_in_its_order(text: str, settings: ThinkTags) -> None:
    marked = "".join(f"{letter}\u2460" if letter == "a" else letter for letter in text)
    out = "".join(getattr(piece, "text", "") for piece in kept(run([marked], settings)))
    assert out.count("a\u2460") == marked.count("a\u2460")


@given(case=cut_wholes(TEXTS), settings=SETTINGS)
def test_less_than_one_tag_is_held_of_text_outside_blocks(
    case: tuple[str, list[str]], settings: ThinkTags
) -> None:
    _, chunks = case
    splitter = ThinkTagSplitter(settings)
    tags = [tag for pair in settings.pairs for tag in (pair.start, pair.end)]
    longest = max(map(len, [*tags, *settings.answer_starts, *settings.answer_ends]))
    for chunk in chunks:
        splitter.feed(chunk)
        assert len(splitter._scanner.held) < longest

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.thinking import TagPair, ThinkTags
from ollm_tui.models.thinking import ThinkingSupport, find_tags, resolve_thinking
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import (
    ShouldThink,
    TagPattern,
    TagSpec,
    ThinkingConfig,
    ThinkingEffort,
    ThinkingMode,
)

NOTHING = ThinkingSupport()
SWITCH = ThinkingSupport(modes=frozenset(("deep", "off")), think_tag=("<think>", "</think>"))
ALWAYS = ThinkingSupport(modes=frozenset(("deep",)), default="deep")
DEFAULT_ONLY = ThinkingSupport(default="first")
S1 = ThinkingSupport(
    modes=frozenset(("deep",)), default="deep", think_tag="think\n", answer_tag="\nanswer\n"
)
ALL_MODES = frozenset(get_args(ThinkingMode))
MIDDLE = ThinkingSupport(modes=ALL_MODES, default="off", answer_tag="\nanswer\n")
USUAL = (TagPair("<think>", "</think>"),)
SQUARE = TagPair("[T]", "[/T]")


@pytest.mark.parametrize(
    ("request_", "model", "mode"),
    [
        (None, NOTHING, None),
        (None, SWITCH, None),
        (None, ALWAYS, "deep"),
        (None, DEFAULT_ONLY, "first"),
        (True, ALWAYS, "deep"),
        (True, DEFAULT_ONLY, "first"),
        (True, SWITCH, "deep"),
        (True, MIDDLE, "last"),
        (True, ThinkingSupport(modes=frozenset(("deep", "first"))), "first"),
        (False, NOTHING, "off"),
        ("off", NOTHING, "off"),
        (False, SWITCH, "off"),
        ("off", MIDDLE, "off"),
        ("deep", SWITCH, "deep"),
        ("last", MIDDLE, "last"),
        ("first", DEFAULT_ONLY, "first"),
        (ThinkingConfig(mode="deep"), SWITCH, "deep"),
        (ThinkingConfig(mode="off"), SWITCH, "off"),
    ],
)
def test_the_request_chooses_among_the_declared_modes(
    request_: ShouldThink | None, model: ThinkingSupport, mode: ThinkingMode | None
) -> None:
    assert resolve_thinking(request_, model).mode == mode


@pytest.mark.parametrize(
    ("request_", "model", "sentence"),
    [
        (True, NOTHING, "This model does not think. Leave thinking off"),
        ("deep", NOTHING, "This model does not think."),
        (True, ThinkingSupport(modes=frozenset(("off",))), "This model does not think."),
        (False, ALWAYS, "This model always thinks: it cannot be switched off. Available: deep."),
        (False, DEFAULT_ONLY, "This model always thinks"),
        ("last", SWITCH, "does not know the thinking mode 'last'. Available: deep, off."),
        (ThinkingConfig(mode="last"), DEFAULT_ONLY, "'last'. Available: first."),
    ],
)
def test_an_undeclared_mode_is_refused_with_what_there_is(
    request_: ShouldThink, model: ThinkingSupport, sentence: str
) -> None:
    with pytest.raises(AIError) as caught:
        resolve_thinking(request_, model)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("model", "mode", "inside"),
    [
        (MIDDLE, "deep", True),
        (MIDDLE, "first", True),
        (MIDDLE, "last", False),
        (MIDDLE, "off", False),
        (ThinkingSupport(modes=ALL_MODES), "deep", False),
        (ThinkingSupport(modes=ALL_MODES, starts_open=True), "deep", True),
        (ThinkingSupport(modes=ALL_MODES, starts_open=True), "off", False),
        (ThinkingSupport(modes=ALL_MODES, starts_open=True), "last", False),
        (ThinkingSupport(modes=ALL_MODES, think_tag=("", "</t>")), "deep", True),
        (ThinkingSupport(modes=ALL_MODES, think_tag="", answer_tag="A"), "first", True),
        (ThinkingSupport(modes=ALL_MODES, think_tag=TagPattern("", "</t>")), "deep", True),
        (S1, "deep", False),
        (SWITCH, "deep", False),
    ],
)
def test_the_answer_begins_inside_the_reasoning_where_nothing_starts_it(
    model: ThinkingSupport, mode: ThinkingMode, inside: bool
) -> None:
    assert resolve_thinking(mode, model).tags.start_open is inside


def test_without_a_wish_only_the_template_opens_the_reasoning() -> None:
    middle = ThinkingSupport(answer_tag="A")
    assert not resolve_thinking(None, middle).tags.start_open
    opened = ThinkingSupport(answer_tag="A", starts_open=True)
    assert resolve_thinking(None, opened).tags.start_open


@pytest.mark.parametrize(
    ("think_tag", "answer_tag", "expected"),
    [
        (None, None, ThinkTags()),
        ("", None, ThinkTags()),
        (("", ""), None, ThinkTags()),
        (("[T]", "[/T]"), None, ThinkTags(pairs=(SQUARE,))),
        ("||", None, ThinkTags(pairs=(TagPair("||", "||"),))),
        ("t\n", "\na\n", ThinkTags(pairs=(TagPair("t\n", "\na\n"),), answer_starts=("\na\n",))),
        (("[T]", ""), "A", ThinkTags(pairs=(TagPair("[T]", "A"),), answer_starts=("A",))),
        (None, "A", ThinkTags(pairs=(), answer_starts=("A",))),
        (("", "[/T]"), "A", ThinkTags(pairs=(), answer_starts=("[/T]", "A"))),
        (
            ("[T]", "[/T]"),
            ("<a>", "</a>"),
            ThinkTags(pairs=(SQUARE,), answer_starts=("<a>",), answer_ends=("</a>",)),
        ),
        (
            TagPattern(r"\n<[Tt]>", "</t>"),
            TagPattern("<a>|<b>", "</a>"),
            ThinkTags(
                pairs=(TagPair("<T>", "</t>"), TagPair("<t>", "</t>")),
                answer_starts=("<a>", "<b>"),
                answer_ends=("</a>",),
            ),
        ),
    ],
)
def test_tags_are_given_as_delimiter_pair_or_pattern(
    think_tag: TagSpec | None, answer_tag: TagSpec | None, expected: ThinkTags
) -> None:
    assert find_tags(think_tag, answer_tag, mode=None) == expected


@pytest.mark.parametrize(
    "tag", [TagPattern("<t.*>", "</t>"), ("\n", "</t>"), TagPattern("a", "b*")]
)
def test_tags_that_cannot_be_searched_for_are_refused_when_loaded(tag: TagSpec) -> None:
    with pytest.raises(AIError, match=r"^[A-Z].*\.$") as caught:
        ThinkingSupport(think_tag=tag)
    assert caught.value.code == ErrorCode.BAD_REQUEST


def test_an_opened_block_that_nothing_could_end_is_refused() -> None:
    with pytest.raises(AIError, match="answer tag"):
        ThinkingSupport(answer_tag="\n")


def test_tags_are_the_models_and_only_then_the_requests() -> None:
    config = ThinkingConfig(mode="deep", think_tag=("[T]", "[/T]"), starts_open=True)
    assert resolve_thinking(config, SWITCH).tags == ThinkTags()
    own = resolve_thinking(config, ALWAYS).tags
    assert own == ThinkTags(pairs=(SQUARE,), start_open=True)
    for model in (
        ThinkingSupport(default="deep", answer_tag="A"),
        ThinkingSupport(default="deep", starts_open=True),
    ):
        assert SQUARE not in resolve_thinking(config, model).tags.pairs


def test_reasoning_after_the_answer_is_looked_for_only_in_mode_last() -> None:
    model = ThinkingSupport(modes=ALL_MODES)
    places = {mode: resolve_thinking(mode, model).tags.where for mode in sorted(ALL_MODES)}
    assert places == {"deep": "leading", "first": "leading", "off": "leading", "last": "anywhere"}


EFFORT = ThinkingConfig(mode="deep", effort="high")


@pytest.mark.parametrize(
    ("request_", "own", "wire", "effort"),
    [
        (None, "low", None, "low"),
        (False, "low", False, None),
        (True, None, True, None),
        ("deep", "low", "low", "low"),
        (EFFORT, "low", "high", "high"),
        (EFFORT, None, "high", "high"),
    ],
)
def test_a_server_with_one_switch_gets_off_on_or_an_effort(
    request_: ShouldThink | None,
    own: ThinkingEffort | None,
    wire: bool | str | None,
    effort: ThinkingEffort | None,
) -> None:
    plan = resolve_thinking(request_, ThinkingSupport(modes=ALL_MODES, effort=own))
    assert (plan.wire, plan.effort) == (wire, effort)


@given(
    request_=st.sampled_from([None, True, False, *sorted(ALL_MODES)]),
    modes=st.frozensets(st.sampled_from(sorted(ALL_MODES))),
    default=st.none() | st.sampled_from(sorted(ALL_MODES)),
    answer_tag=st.sampled_from([None, "A", ("<a>", "</a>")]),
    starts_open=st.booleans(),
)
def test_every_wish_is_a_declared_mode_or_a_refusal(
    request_: bool | ThinkingMode | None,
    modes: frozenset[ThinkingMode],
    default: ThinkingMode | None,
    answer_tag: TagSpec | None,
    starts_open: bool,
) -> None:
    model = ThinkingSupport(
        modes=modes, default=default, answer_tag=answer_tag, starts_open=starts_open
    )
    if request_ is not None and request_ is not True:
        asked: ThinkingMode = request_ or "off"
        if asked not in model.allowed:
            with pytest.raises(AIError, match="think"):
                resolve_thinking(request_, model)
            return
    elif request_ is True and model.allowed == {"off"}:
        return
    plan = resolve_thinking(request_, model)
    assert plan.mode is None or plan.mode in model.allowed
    assert not (plan.mode in {"off", "last"} and plan.tags.start_open)
    assert (plan.wire is None) == (request_ is None)

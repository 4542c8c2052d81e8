from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.thinking import TagPair, ThinkTags
from ollm_tui.models.thinking import (
    ThinkingSupport,
    check_choice,
    on_engine,
    own_support,
    resolve_thinking,
)
from ollm_tui.models.thinking_tags import find_tags, tags_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import (
    THINKING_LEVELS,
    ShouldThink,
    TagPattern,
    TagSpec,
    ThinkingConfig,
    ThinkingEffort,
    ThinkingMode,
    ThinkingSwitch,
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
        (False, ALWAYS, "This model always thinks: it cannot be switched off. Available: on, deep"),
        (False, DEFAULT_ONLY, "This model always thinks"),
        ("last", SWITCH, "does not know the thinking mode 'last'. Available: off, on, deep"),
        (ThinkingConfig(mode="last"), DEFAULT_ONLY, "'last'. Available: on, first"),
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
    assert tags_of(resolve_thinking(mode, model)).start_open is inside


def test_without_a_wish_only_the_template_opens_the_reasoning() -> None:
    middle = ThinkingSupport(answer_tag="A")
    assert not tags_of(resolve_thinking(None, middle)).start_open
    opened = ThinkingSupport(answer_tag="A", starts_open=True)
    assert tags_of(resolve_thinking(None, opened)).start_open
    assert not tags_of(resolve_thinking(None, opened), is_divided=True).start_open


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
    assert tags_of(resolve_thinking(config, SWITCH)) == ThinkTags(pairs=USUAL)
    own = tags_of(resolve_thinking(config, ALWAYS))
    assert own == ThinkTags(pairs=(SQUARE,), start_open=True)
    for model in (
        ThinkingSupport(default="deep", answer_tag="A"),
        ThinkingSupport(default="deep", starts_open=True),
    ):
        assert SQUARE not in tags_of(resolve_thinking(config, model)).pairs


def test_reasoning_after_the_answer_is_looked_for_only_in_mode_last() -> None:
    model = ThinkingSupport(modes=ALL_MODES)
    places = {mode: tags_of(resolve_thinking(mode, model)).where for mode in sorted(ALL_MODES)}
    assert places == {"deep": "leading", "first": "leading", "off": "leading", "last": "anywhere"}


EFFORT = ThinkingConfig(mode="deep", effort="high")


@pytest.mark.parametrize(
    ("request_", "own", "is_on", "effort"),
    [
        (None, "low", None, None),
        (False, "low", False, None),
        (True, None, True, None),
        ("deep", "low", True, "low"),
        (EFFORT, "low", True, "high"),
        (EFFORT, None, True, "high"),
        (ThinkingConfig(effort="low"), None, True, "low"),
    ],
)
def test_a_server_is_told_off_on_and_an_effort(
    request_: ShouldThink | None,
    own: ThinkingEffort | None,
    is_on: bool | None,
    effort: ThinkingEffort | None,
) -> None:
    model = ThinkingSupport(modes=frozenset(("deep", "off")), effort=own)
    plan = resolve_thinking(request_, model)
    assert (plan.is_on, plan.effort) == (is_on, effort)


def test_a_level_that_a_model_lacks_is_refused_by_name_and_else_counts_as_on() -> None:
    levels = ThinkingSupport(modes=frozenset(("deep",)), efforts=("low", "high"), default="deep")
    none = replace(SWITCH, efforts=())
    for model, word, sentence in (
        (none, "low", "This model has no levels of thinking. Available: off, on, deep"),
        (levels, "medium", "This model has no level medium. Available: on, deep, low, high."),
        (levels, "off", "it cannot be switched off. It thinks least with low. Available: on, deep"),
        (none, "last", "does not know the thinking mode 'last'. Available: off, on, deep"),
        (NOTHING, "on", "This model does not think."),
    ):
        error = check_choice(word, THINKING_LEVELS[word], model)
        assert error is not None
        assert sentence in str(error)
    for model, word in ((none, "on"), (none, "deep"), (levels, "high"), (SWITCH, "low")):
        assert check_choice(word, THINKING_LEVELS[word], model) is None
    plan = resolve_thinking(THINKING_LEVELS["low"], none)
    assert (plan.mode, plan.is_on, plan.effort, plan.lost_effort) == ("deep", True, None, "low")


def test_what_the_user_and_the_engine_say_counts_before_a_family() -> None:
    family = replace(SWITCH, switch=ThinkingSwitch(variable="v"))
    own = replace(family, is_declared_by_user=True, thinks_by_itself=False)
    both = frozenset(("deep", "off"))
    assert on_engine(None, thinks=None) is None
    assert on_engine(NOTHING, thinks=None) is None, "a family that says nothing is no refusal"
    assert on_engine(family, thinks=None) == family
    assert on_engine(family, thinks=True) == family
    assert on_engine(family, thinks=False) == NOTHING
    assert on_engine(own, thinks=False) == replace(own, is_known_to_engine=False)
    assert on_engine(own, thinks=False, is_set=True) == NOTHING
    assert on_engine(own, thinks=True) == replace(own, thinks_by_itself=True)
    assert on_engine(own, thinks=True, is_set=True) == own
    taught = replace(own, default="off", switch=ThinkingSwitch())
    assert on_engine(taught, thinks=True) == taught, "by itself it would not be off"
    instructed = replace(family, prompts={"deep": "Think."})
    assert on_engine(instructed, thinks=False) == replace(instructed, is_known_to_engine=False)
    assert on_engine(instructed, thinks=False, is_set=True) == NOTHING
    listed = on_engine(None, thinks=True)
    assert listed is not None
    assert (listed.modes, listed.default, listed.switch, listed.efforts) == (
        both,
        "deep",
        None,
        None,
    )


def test_a_default_that_the_user_chose_is_told_and_that_of_a_family_is_not() -> None:
    family = ThinkingSupport(
        modes=frozenset(("deep", "off")),
        default="off",
        effort="low",
        switch=ThinkingSwitch(variable="v"),
    )
    own = replace(family, is_declared_by_user=True, is_default_wanted=True)
    told = [
        (plan.is_on, plan.effort, plan.is_default)
        for model in (family, own, replace(own, default="deep"))
        for plan in (resolve_thinking(None, model),)
    ]
    assert told == [(None, None, True), (False, None, False), (True, "low", True)]


def test_a_wish_about_an_unknown_model_also_switches_it_off() -> None:
    for prompts in (None, {"first": "Plan."}):
        wish = ThinkingConfig(mode="off", visible=False, prompts=prompts)
        model = own_support(wish)
        assert model is not None
        assert resolve_thinking(wish, model).is_on is False
    told = own_support(ThinkingConfig(mode="first", prompts={"first": "Plan."}))
    assert told is not None
    assert not told.thinks_by_itself


def test_only_the_own_thinking_of_a_model_is_switched() -> None:
    model = ThinkingSupport(modes=ALL_MODES, default="off", switch=ThinkingSwitch(variable="v"))
    plans = {mode: resolve_thinking(mode, model).is_on for mode in sorted(ALL_MODES)}
    assert plans == {"deep": True, "first": True, "last": False, "off": False}
    assert resolve_thinking(None, replace(model, default="last")).is_on is False
    taught = replace(model, thinks_by_itself=False)
    assert {resolve_thinking(mode, taught).is_on for mode in ALL_MODES} == {None}
    always = ThinkingSupport(modes=frozenset(("deep", "last")), default="deep")
    assert resolve_thinking("last", always).is_on is None
    assert resolve_thinking(False, NOTHING).is_on is None


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
    assert not (plan.mode in {"off", "last"} and tags_of(plan).start_open)
    assert plan.is_on in (None, False) or request_ is not None

"""Reasoning tags that a request names, on both wires."""

import pytest

from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request, ShouldThink, TagPattern, ThinkingConfig
from ollm_tui.providers.answer_builder import tags_for
from ollm_tui.providers.ollama.to_wire import chat_body as ollama_body
from ollm_tui.providers.openai_compatible.to_wire import chat_body as openai_body

ENDLESS = ThinkingConfig(mode="last", think_tag=TagPattern("<t+>", "</t>"))


@pytest.mark.parametrize("wish", [None, True, "last"])
def test_without_tags_of_its_own_a_request_means_the_usual_ones(wish: ShouldThink | None) -> None:
    assert tags_for(wish) == ThinkTags()


def test_a_pair_a_delimiter_and_a_pattern_are_searched_for() -> None:
    pair = tags_for(ThinkingConfig(mode="last", think_tag=("[T]", "[/T]")))
    assert [(p.start, p.end) for p in pair.pairs] == [("[T]", "[/T]")]
    pattern = tags_for(ThinkingConfig(mode="last", think_tag=TagPattern("<(a|b)>", "</(a|b)>")))
    assert {p.start for p in pattern.pairs} == {"<a>", "<b>"}
    answer = tags_for(ThinkingConfig(mode="deep", answer_tag="ANSWER:"))
    assert answer.start_open


@pytest.mark.parametrize("body", [ollama_body, openai_body])
def test_a_pattern_without_an_end_is_refused_before_anything_is_sent(body: object) -> None:
    request = Request(model="m", messages=[Message("user", "x")], should_think=ENDLESS)
    assert callable(body)
    with pytest.raises(AIError) as caught:
        body(request)
    assert caught.value.code == ErrorCode.BAD_REQUEST
    assert tags_for(ENDLESS) == ThinkTags()

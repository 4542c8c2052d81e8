"""A request may name the format of the template that its engine renders, and no other."""

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.providers.ollama import to_wire as ollama
from ollm_tui.providers.openai_compatible import to_wire as openai

JINJA_ENGINES = ("embedded", "llamacpp", "llamacpp-router", "vllm")


def asking(name: str, *, in_message: bool) -> Request:
    if in_message:
        message = Message("user", "hello", template_format=name)
        return Request(model="m", messages=[message])
    return Request(model="m", messages=[Message("user", "hello")], template_format=name)


@pytest.mark.parametrize("in_message", [False, True])
def test_the_format_that_is_used_anyway_is_accepted(in_message: bool) -> None:
    plain = Request(model="m", messages=[Message("user", "hello")])
    for backend in JINJA_ENGINES:
        for name in ("hf", "jinja2"):
            body = openai.chat_body(asking(name, in_message=in_message), backend)
            assert body == openai.chat_body(plain, backend)
    assert ollama.chat_body(asking("golang", in_message=in_message)) == ollama.chat_body(plain)


@pytest.mark.parametrize("in_message", [False, True])
def test_another_format_is_refused_with_those_that_can_be_used(in_message: bool) -> None:
    for backend in JINJA_ENGINES:
        with pytest.raises(AIError, match="in the format 'golang'") as refused:
            openai.chat_body(asking("golang", in_message=in_message), backend)
        assert refused.value.code == ErrorCode.UNSUPPORTED_FEATURE
        assert refused.value.hint == "Leave `template_format` out, or use hf or jinja2."
    with pytest.raises(AIError, match="in the format 'jinja2'"):
        ollama.chat_body(asking("jinja2", in_message=in_message))


def test_where_it_is_not_known_how_a_prompt_is_made_every_format_is_refused() -> None:
    for backend in (None, "openai", "lmstudio", "kobold"):
        with pytest.raises(AIError, match="renders no templates in messages") as refused:
            openai.chat_body(asking("jinja2", in_message=False), backend)
        assert refused.value.hint is not None
        assert "`router.invoke`" in refused.value.hint
        with pytest.raises(AIError, match="no template in the format 'golang'"):
            openai.chat_body(asking("golang", in_message=False), backend)


def test_a_template_that_is_still_to_be_rendered_is_refused() -> None:
    for text in ("Hello {{ name }}", "{% if x %}a{% endif %}", "{# a #}"):
        message = Message("user", text, template_format="jinja2")
        plain = Message("user", text)
        system = Request(model="m", messages=[plain], system_prompt=text, template_format="jinja2")
        values = Request(model="m", messages=[plain], template_values={"name": "Ann"})
        for backend in JINJA_ENGINES:
            for asked in (Request(model="m", messages=[message]), system, values):
                with pytest.raises(AIError, match="a chat and the router do") as refused:
                    openai.chat_body(asked, backend)
                assert refused.value.code == ErrorCode.UNSUPPORTED_FEATURE
        sent = openai.chat_body(Request(model="m", messages=[plain]), "llamacpp")["messages"]
        assert sent == [{"role": "user", "content": text}]
    golang = Message("user", "{{ .Name }}", template_format="golang")
    with pytest.raises(AIError, match="renders no templates in messages"):
        ollama.chat_body(Request(model="m", messages=[golang]))

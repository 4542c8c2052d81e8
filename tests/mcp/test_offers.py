"""Prompts and resources of a server: listed one by one, cleaned, bounded, and completed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.attachments.attachment import AttachedImage, AttachedText
from ollm_tui.mcp.catalogue import (
    MAX_PROMPTS,
    TemplateDefinition,
    read_prompts,
    read_resources,
    read_templates,
)
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonValue
from tests.mcp.conftest import Running, Watched

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "uri", "uriTemplate", "arguments", "title", "x"]), inner
        )
    ),
    max_leaves=8,
)


async def ready(watched: Watched) -> None:
    await watched.until("ready", times=2)  # the second one has the prompts and resources


async def test_prompts_are_listed_and_their_words_come_cleaned(running: Running) -> None:
    async with running("offers") as watched:
        await ready(watched)
        server = watched.server
        first, second, hostile = server.catalogue.prompts
        assert (first.name, first.command) == ("Greet people", "greet_people")
        assert second.command.startswith("greet_people-")
        assert [one.is_required for one in first.arguments] == [True, False]
        words = await server.prompt("Greet people", {"who": "Ada"})
        assert words == ["Greet Ada in a plain tone."]
        assert await server.prompt(hostile.name, {}) == [
            "User:",
            "Look␛[2J here⟦U+200B⟧⟦U+200F⟧⟦U+2062⟧⟦U+2066⟧⟦U+E0041⟧\n\tno\u3000more",
            "Assistant:",
            "Yes?",
        ]
        assert await server.prompt_values("Greet people", "who", {"who": "al"}) == ["Alan"]


async def test_resources_are_read_as_what_they_are(running: Running) -> None:
    async with running("offers") as watched:
        await ready(watched)
        server = watched.server
        assert [one.uri for one in server.catalogue.resources] == [
            "notes://today",
            "notes://pixel",
            "notes://large",
        ]
        (text,) = await server.resource("notes://today")
        assert isinstance(text, AttachedText)
        assert text.text == "Buy tea␇ on notes://today.\n"
        (picture,) = await server.resource("notes://pixel")
        assert isinstance(picture, AttachedImage)
        assert (picture.kind, picture.name) == ("png", "notes://pixel")
        with pytest.raises(AIError, match="text up to 200 kB"):
            await server.resource("notes://large")
        with pytest.raises(AIError, match="No such resource"):
            await server.resource("notes://none")
        assert await server.template_values("notes://day/{date}", "date", "m") == ["monday"]


async def test_a_server_that_is_off_is_named(running: Running) -> None:
    async with running("offers") as watched:
        await ready(watched)
        watched.server.switch(is_on=False)
        await watched.until("off")
        assert watched.server.catalogue.prompts == ()
        with pytest.raises(AIError, match="The MCP server box is not running"):
            await watched.server.prompt("Greet people", {})
        assert await watched.server.prompt_values("Greet people", "who", {}) == ()


def test_a_template_knows_its_variable() -> None:
    template = TemplateDefinition("notes://day/{date}.md")
    assert template.beginning == "notes://day/"
    assert template.variable_at("notes://day/mo") == ("date", "mo")
    assert template.variable_at("notes://day/a/b") is None
    assert template.variable_at("other://") is None
    assert template.filled("a\\1") == "notes://day/a\\1.md"
    assert template.matches("notes://day/monday.md")
    assert not template.matches("notes://day/.md")


def test_a_list_is_bounded() -> None:
    assert len(read_prompts([{"name": f"p{number}"} for number in range(5_000)])) == MAX_PROMPTS


@given(st.lists(json_values, max_size=6))
def test_no_list_of_a_server_is_refused_whole(listed: list[JsonValue]) -> None:
    good: list[JsonValue] = [{"name": "good", "uri": "a://b", "uriTemplate": "a://{b}"}]
    for read in (read_prompts, read_resources, read_templates):
        assert len(read([*listed, *good])) >= 1

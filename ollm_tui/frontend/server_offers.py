"""What MCP servers offer to a draft: resources by name, and the values of arguments of prompts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ollm_tui.commands.registry import Completion
from ollm_tui.commands.server_prompts import find_prompt, read_arguments
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name, spelled_line
from ollm_tui.decode.counted import counted, size_text
from ollm_tui.decode.matching import best_rank
from ollm_tui.protocol.errors import AIError
from ollm_tui.tokens.estimate import fallback_estimate

if TYPE_CHECKING:
    from ollm_tui.attachments.attachment import AttachedText, Attachment
    from ollm_tui.mcp.server import McpServer

MAX_OFFERS: Final = 50
"""Suggestions of all servers together."""


@dataclass(frozen=True, slots=True)
class ServerOffers:
    """Completes `server:address`, and reads what it names."""

    servers: Callable[[], "Mapping[str, McpServer]"]

    def named(self, mention: str) -> "tuple[McpServer, str] | None":
        """Return the server and the address of a mention; None if it names no server."""
        prefix, colon, uri = mention.partition(":")
        if not colon:
            return None
        for server in self.servers().values():
            if server.prefix.casefold() == prefix.casefold():
                return server, uri
        return None

    async def resource(self, mention: str) -> "Sequence[Attachment] | None":
        """Read a resource; return None if the mention names no server.

        Raises:
            AIError: it cannot be read, or attached.
        """
        named = self.named(mention)
        return None if named is None or not named[1] else await named[0].resource(named[1])

    async def mentions(self, begun: str) -> Sequence[Completion]:
        """Suggest resources, and the ways on from a template; asks a server only by its name."""
        ranked = [
            (rank, len(one.value), one)
            for one in self._known()
            if (rank := best_rank(begun, (one.value, one.help))) is not None
        ]
        ranked.sort(key=lambda item: item[:2])
        listed = [one for _rank, _length, one in ranked[:MAX_OFFERS]]
        named = self.named(begun)
        if named is not None:
            filled = await _filled(*named)
            listed = [*filled, *(one for one in listed if one not in filled)]
        return listed[:MAX_OFFERS]

    def _known(self) -> Iterator[Completion]:
        for server in self.servers().values():
            for one in server.catalogue.resources:
                yield Completion(f"{server.prefix}:{one.uri}", spelled_line(one.about))
            for template in server.catalogue.templates:
                about = spelled_line(f"{template.uri[len(template.beginning) :]} {template.about}")
                beginning = f"{server.prefix}:{template.beginning}"
                yield Completion(beginning, about, takes_more=True)

    async def values(self, draft: str, argument: str, begun: str) -> Sequence[Completion]:
        """Suggest values for an argument of the prompt that a draft begins with."""
        prompt_of = find_prompt(self.servers(), draft[1:].split(maxsplit=1)[0])
        if prompt_of is None or all(argument != one.name for one in prompt_of[1].arguments):
            return ()
        server, prompt = prompt_of
        line = draft.partition(" ")[2]
        given: dict[str, str] = {}
        with suppress(AIError):  # more than it takes
            given = read_arguments(prompt, line[: len(line) - len(begun) - len(argument) - 1])
        values = await server.prompt_values(prompt.name, argument, {**given, argument: begun})
        return [Completion(f'"{one}"' if " " in one else one) for one in values[:MAX_OFFERS]]


async def _filled(server: "McpServer", uri: str) -> list[Completion]:
    """Return the addresses that a template leads to from what is written of one."""
    filled: dict[str, Completion] = {}
    for template in server.catalogue.templates:
        if (variable := template.variable_at(uri)) is None:
            continue
        values = await server.template_values(template.uri, *variable)
        for one in [template.filled(value) for value in values if " " not in value]:
            filled[one] = Completion(f"{server.prefix}:{one}", spelled_line(template.about))
        if template.matches(uri):
            filled.setdefault(
                uri, Completion(f"{server.prefix}:{uri}", spelled_line(template.about))
            )
    return list(filled.values())


def text_figures(text: "AttachedText") -> str:
    """Write how large an attached text is: `notes://today · 2 kB · about 510 tokens`."""
    tokens = counted(fallback_estimate(text.text), "token")
    size = size_text(len(text.text.encode("utf-8", "replace")))
    return f"{clean_name(text.name)} · {size} · about {tokens}"

"""What a server lists beside its tools: prompts, resources, and templates of resources.

Each is checked by itself: a bad one is left out and does not spoil the others. Every text is
foreign.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject, JsonValue

MAX_PROMPTS: Final = 200
MAX_RESOURCES: Final = 2_000
MAX_TEMPLATES: Final = 200
MAX_ARGUMENTS: Final = 32
MAX_NAME_LENGTH: Final = 256
MAX_URI_LENGTH: Final = 2_000
_MAX_TEXT_LENGTH: Final = 1_000
_MAX_COMMAND_LENGTH: Final = 48
_NOT_TYPED: Final = lazy_re(r"[^a-z0-9_.-]+")
_VARIABLE: Final = lazy_re(r"\{[^{}]*\}")
_VARIABLE_NAMES: Final = lazy_re(r"[A-Za-z0-9_%.]+")


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    description: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class PromptDefinition:
    """A prompt as its server describes it."""

    name: str
    command: str
    """How it is typed, behind the name of its server."""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """Something that a server gives to read."""

    uri: str
    about: str = ""
    """Its name and description."""


@dataclass(frozen=True, slots=True)
class TemplateDefinition:
    """Resources whose addresses have variables."""

    uri: str
    about: str = ""

    @property
    def beginning(self) -> str:
        """The address up to its first variable."""
        return self.uri.partition("{")[0]

    def variable_at(self, uri: str) -> tuple[str, str] | None:
        """Return the first variable and what is written of its value; None if it is complete.

        Only for templates with one plain variable at their end or before a fixed end.
        """
        first = _VARIABLE.search(self.uri)
        names = _VARIABLE_NAMES.findall(first[0]) if first else []
        if first is None or not names or not uri.startswith(self.beginning):
            return None
        value = uri[len(self.beginning) :]
        return None if "/" in value else (names[0], value)

    def filled(self, value: str) -> str:
        """Return the address with a value for its first variable."""
        return _VARIABLE.sub(lambda _: value, self.uri, count=1)

    def matches(self, uri: str) -> bool:
        """Return whether an address is one of the template, with every variable filled."""
        fixed = map(re.escape, _VARIABLE.split(self.uri))
        return re.fullmatch(".+?".join(fixed), uri, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The prompts, resources and templates of a server."""

    prompts: tuple[PromptDefinition, ...] = ()
    resources: tuple[ResourceDefinition, ...] = ()
    templates: tuple[TemplateDefinition, ...] = ()


def read_prompts(listed: Sequence[JsonValue]) -> tuple[PromptDefinition, ...]:
    """Return the usable prompts of a list, each typed in a way of its own."""
    prompts: dict[str, PromptDefinition] = {}
    taken: set[str] = set()
    for item in _objects(listed):
        name = _name(item.get("name"), MAX_NAME_LENGTH)
        if not name or name in prompts or len(prompts) == MAX_PROMPTS:
            continue
        command = _command(name, taken)
        taken.add(command)
        arguments = _arguments(item.get("arguments"))
        if arguments is not None:
            prompts[name] = PromptDefinition(name, command, _gist(item), arguments)
    return tuple(prompts.values())


def read_resources(listed: Sequence[JsonValue]) -> tuple[ResourceDefinition, ...]:
    """Return the usable resources of a list."""
    kept = {uri: ResourceDefinition(uri, about) for uri, about in _addresses(listed, "uri")}
    return tuple(kept.values())[:MAX_RESOURCES]


def read_templates(listed: Sequence[JsonValue]) -> tuple[TemplateDefinition, ...]:
    """Return the usable templates of a list."""
    pairs = _addresses(listed, "uriTemplate")
    kept = {uri: TemplateDefinition(uri, about) for uri, about in pairs}
    return tuple(kept.values())[:MAX_TEMPLATES]


def _addresses(listed: Sequence[JsonValue], key: str) -> Iterator[tuple[str, str]]:
    for item in _objects(listed):
        uri = _name(item.get(key), MAX_URI_LENGTH)
        if uri and not any(character.isspace() for character in uri):
            yield uri, _about(item)


def _objects(listed: Iterable[JsonValue]) -> Iterator[JsonObject]:
    return (item for item in listed if isinstance(item, dict))


def _name(value: JsonValue, longest: int) -> str:
    return value if isinstance(value, str) and 0 < len(value) <= longest else ""


def _about(item: JsonObject) -> str:
    title = item.get("title") or item.get("name")
    texts = [one for one in (title, item.get("description")) if isinstance(one, str) and one]
    return ": ".join(dict.fromkeys(texts))[:_MAX_TEXT_LENGTH]


def _gist(item: JsonObject) -> str:
    texts = (item.get("description"), item.get("title"))
    return next((one for one in texts if isinstance(one, str) and one), "")[:_MAX_TEXT_LENGTH]


def _arguments(listed: JsonValue) -> tuple[PromptArgument, ...] | None:
    """Return the arguments of a prompt; None if they cannot be given."""
    if listed is None:
        return ()
    if not isinstance(listed, list) or len(listed) > MAX_ARGUMENTS:
        return None
    arguments: dict[str, PromptArgument] = {}
    for item in _objects(listed):
        name, about = _name(item.get("name"), MAX_NAME_LENGTH), item.get("description")
        if not name or name in arguments:
            return None
        text = about[:_MAX_TEXT_LENGTH] if isinstance(about, str) else ""
        arguments[name] = PromptArgument(name, text, item.get("required") is True)
    return tuple(arguments.values())


def _command(name: str, taken: set[str]) -> str:
    plain = _NOT_TYPED.sub("_", name.casefold()).strip("_")[:_MAX_COMMAND_LENGTH]
    if plain and plain not in taken:
        return plain
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain or 'prompt'}-{mark}"

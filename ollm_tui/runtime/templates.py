"""Renders and reads the chat templates of models; nothing is started until it is needed."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ollm_tui.decode.json_fields import string
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.request import Request
from ollm_tui.runtime.details import ModelDetails, TemplateFacts

if TYPE_CHECKING:
    from ollm_tui.templates.abilities import TemplateAbilities
    from ollm_tui.templates.renderer import TemplateRenderer

logger = logging.getLogger(__name__)

_MAX_KEPT: Final = 64


class Templates:
    """The process that renders templates, and what is known of those that were read."""

    def __init__(self) -> None:
        self._known: dict[bytes, TemplateAbilities] = {}

    @cached_property
    def renderer(self) -> "TemplateRenderer":
        """Renders templates; its process starts with the first one."""
        # Needed only where a template is rendered or read.
        from ollm_tui.templates.renderer import TemplateRenderer

        return TemplateRenderer()

    async def abilities(self, template: str) -> "TemplateAbilities":
        """Return what a template supports.

        Raises:
            AIError: no process for rendering can be started.
        """
        # Needed only for the details of a model.
        from ollm_tui.templates.abilities import template_abilities

        key = sha256(template.encode(errors="replace")).digest()
        if key not in self._known:
            abilities = await template_abilities(self.renderer, template)
            while len(self._known) >= _MAX_KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = abilities
        return self._known[key]

    async def render_request(self, request: Request, words: Mapping[str, str]) -> Request:
        """Return a request without templates; `words` are variables beside those that it has.

        Raises:
            AIError: a template cannot be rendered.
        """
        # Needed only where a program sends templates.
        from ollm_tui.templates.message_templates import render_request

        return await render_request(request, words, self.renderer)

    async def render_instructions(self, text: str, values: JsonMapping) -> str:
        """Return instructions for thinking that are a template, rendered.

        Raises:
            AIError: it cannot be rendered.
        """
        # Needed only where a family has such instructions.
        from ollm_tui.templates.message_templates import render_instructions

        return await render_instructions(text, values, self.renderer)

    async def read_for(self, details: ModelDetails) -> ModelDetails:
        """Return a model's details with what its template supports, if that can be found out."""
        if not details.template:
            return details
        if renderer := string(details.info.details, "renderer"):
            unused = await to_thread.run_sync(_unused, details.template, renderer)
            return replace(details, template_facts=unused)
        try:
            abilities = await self.abilities(details.template)
        except AIError as error:
            logger.warning("A chat template could not be read: %s", error.message)
            return details
        facts = await to_thread.run_sync(facts_of, details.template, abilities, details.info)
        return replace(details, template_facts=facts)

    def close(self) -> None:
        """End the process, if there is one."""
        if "renderer" in vars(self):
            self.renderer.close()


_FORMATS: Final[Mapping[str, str]] = {"hf": "jinja2", "golang": "Go"}
_WORDS: Final[Mapping[str, str]] = {
    "tools": "tools",
    "parallel_calls": "parallel calls",
    "system": "system role",
    "thinking": "thinking",
    "thinking_switch": "thinking can be switched",
    "starts_thinking": "thinking begins in the prompt",
    "documents": "documents",
}
"""The abilities of a template, by the names of their fields."""


def _unused(template: str, renderer: str) -> TemplateFacts:
    """Return the facts of a template that is in the model file but not used."""
    words = f"the engine does not use it; its renderer {renderer} writes the prompts"
    return TemplateFacts(format=_language(template), problem=words)


def _language(template: str) -> str:
    # Needed only for the details of a model.
    from ollm_tui.templates.abilities import template_format

    return _FORMATS.get(template_format(template) or "", "unknown")


def facts_of(template: str, abilities: "TemplateAbilities", info: ModelInfo) -> TemplateFacts:
    """Return what a template supports, and of what the engine says otherwise.

    What the user set is not the engine's word, and what is assumed is no statement.
    """
    values = {name: getattr(abilities, name) for name in _WORDS}
    known = capabilities_of(info)
    reported = {"tools": known.tools, "thinking": known.thinking}
    differs = tuple(
        (_WORDS[name], fact.value)
        for name, fact in reported.items()
        if fact.source == "known" and fact.value is not None
        if values[name] is not None and fact.value != values[name]
    )
    return TemplateFacts(
        format=_language(template),
        problem=abilities.problem,
        abilities=tuple(
            (word, values[name]) for name, word in _WORDS.items() if values[name] is not None
        ),
        differs=differs,
    )

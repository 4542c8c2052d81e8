"""How a model is given its tools: natively, or described in text (ReAct).

A model whose listing says that it lacks tool use gets text; one of which nothing is known is tried
natively, and a server that refuses tools for it settles that for as long as the verdict is kept.
What a person set counts more than either.
"""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from ollm_tui.decode.json_fields import strings
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.refusals import refuses_tools

ToolMode: TypeAlias = Literal["native", "react"]


class ToolModes:
    """Verdicts by model address."""

    def __init__(
        self,
        *,
        chosen: Mapping[str, ToolMode] | None = None,
        learned: Mapping[str, ToolMode] | None = None,
        remember: Callable[[str, ToolMode], object] | None = None,
    ) -> None:
        self._chosen = dict(chosen or {})
        self._learned = dict(learned or {})
        self._remember = remember

    def mode_of(self, ref: ModelRef, info: ModelInfo | None) -> ToolMode:
        """Choose for one model."""
        address = str(ref)
        said = self._chosen.get(address) or self._chosen.get(ref.model)
        if said is not None:
            return said
        if address in self._learned:
            return self._learned[address]
        tools = capabilities_of(info).tools if info else None
        lacks = tools is not None and tools.value is False
        return "react" if lacks else "native"

    def learn_from(self, ref: ModelRef, error: AIError) -> bool:
        """Take a refusal of native tools to heart; False when the error is about something else."""
        if error.known_code is not ErrorCode.UNSUPPORTED_FEATURE:
            return False
        details = error.details
        if not refuses_tools(
            error.message,
            code=details.get("server_code"),
            param=details.get("param"),
            refused=strings(details.get("refused")),
        ):
            return False
        self._learned[str(ref)] = "react"
        if self._remember is not None:
            self._remember(str(ref), "react")
        return True

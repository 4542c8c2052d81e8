"""`ollm models explain`: where every value for a model comes from, and what it replaced."""

from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_format import on_one_line, setting_json, setting_row, with_replaced
from ollm_tui.cli.model_runtime import find_model, in_runtime, required_name
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.dataclass import dataclass
from ollm_tui.models.family_words import family_rows, thinking_words
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.details import ModelDetails, shown

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import KnownValue, ModelKnowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A model, or a name for which there is none."""

    address: str
    known: "ModelKnowledge"
    details: ModelDetails | None = None
    problem: AIError | None = None
    """Why there are no details."""

    @property
    def is_sent(self) -> bool:
        """Whether family and sidecar fill the gaps of a request."""
        return self.details is not None and self.details.uses_family


def run_explain(arguments: Arguments, output: Output) -> int:
    """Explain one model; a name that no provider has is explained by its family alone."""
    explained = in_runtime(arguments, output, partial(_explained, required_name(arguments.name)))
    for problem in explained.known.problems:
        output.error(str(problem))
    if arguments.as_json:
        output.json(_as_json(explained), indent=2)
    else:
        _write(explained, output)
    is_known = explained.details is not None or explained.known.family is not None
    return OK if is_known else ERROR


async def _explained(name: str, runtime: Runtime) -> Explained:
    manager, known_models = runtime.manager, runtime.manager.known_models
    try:
        model = await find_model(manager, name)
        details = await manager.show(model.ref)
    except AIError as error:
        known = await to_thread.run_sync(known_models.of_model, name.rpartition("://")[2])
        return Explained(address=name, known=known, problem=error)
    address = runtime.catalog.shown_address(details.ref)
    known_model = details.known
    if known_model is None:
        known_model = await to_thread.run_sync(known_models.of_model, details.ref.model)
    return Explained(address=address, known=known_model, details=details)


def _write(explained: Explained, output: Output) -> None:
    known, details = explained.known, explained.details
    rows = [(name.upper(), value) for name, value in family_rows(known)]
    output.table(("MODEL", explained.address), rows)
    output.line("")
    steps = [(f"{number} {step.name}", step.outcome) for number, step in enumerate(known.steps, 1)]
    output.table(("STEP", "OUTCOME"), steps)
    if details is not None:
        output.line("")
        settings = [setting_row(value) for value in details.settings]
        output.table(("SETTING", "VALUE", "FROM"), settings)
    if known.parameters_in_use and not explained.is_sent:
        output.line("")
        values = known.parameters_in_use
        output.table(("RECOMMENDED", "VALUE", "FROM"), [_known(value) for value in values])
    if known.facts:
        output.line("")
        output.table(("FACT", "VALUE", "FROM"), [_known(value) for value in known.facts])
    if explained.problem is not None:
        output.note(f"By its name alone: {explained.problem.message}")
    elif known.parameters_in_use and details is not None and not explained.is_sent:
        output.note(f"{details.place} has defaults of its own: what is recommended is not sent.")


def _known(value: "KnownValue") -> tuple[str, str, str]:
    below = [(shown(one.value), one.origin) for one in value.beneath]
    return value.name, on_one_line(shown(value.value)), with_replaced(value.origin, below)


def _as_json(explained: Explained) -> JsonObject:
    known, details, thinking = explained.known, explained.details, explained.known.thinking
    return {
        "model": str(details.ref) if details else explained.address,
        "family": known.family,
        "variant": known.variant,
        "extends": list(known.chain[1:]),
        "sidecar": str(known.sidecar) if known.sidecar else None,
        "thinking": {
            "modes": [*sorted(thinking.support.modes)] if thinking else [],
            "default": thinking.support.default if thinking else None,
            "words": None if known.capability is None else thinking_words(thinking),
        },
        "tools": known.tool_mode,
        "context": known.context,
        "sources": list(known.sources),
        "steps": [{"name": step.name, "outcome": step.outcome} for step in known.steps],
        "settings": [setting_json(value) for value in details.settings] if details else [],
        "parameters": [_known_json(value) for value in known.parameters_in_use],
        "parameters_sent": explained.is_sent,
        "facts": [_known_json(value) for value in known.facts],
        "problems": [str(problem) for problem in known.problems],
        "error": explained.problem.message if explained.problem else None,
    }


def _known_json(value: "KnownValue") -> JsonObject:
    entry: JsonObject = {"name": value.name, "value": value.value, "source": value.origin}
    if value.beneath:
        entry["instead_of"] = [
            {"value": below.value, "source": below.origin} for below in value.beneath
        ]
    return entry

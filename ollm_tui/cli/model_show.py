"""`ollm models show`: all that is known about one model, in sections, or one of its texts alone."""

from collections.abc import Sequence
from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_format import (
    YES_NO,
    abilities_text,
    details_to_json,
    fit_text,
    modalities_text,
    setting_row,
    share_text,
    template_text,
    until_text,
)
from ollm_tui.cli.model_runtime import find_model, in_runtime
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.decode.counted import counted, size_text
from ollm_tui.models.tool_check import DETAIL, check_rows, tool_check_of
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.details import ContextFacts, ModelDetails

_FEATURES = {"tool_use": "tools", "thinking": "thinking", "infill": "infill", "json_mode": "JSON"}
_SHOWN_LINES = 8
"""Lines of a long text that stand among all else."""


def run_show(arguments: Arguments, output: Output) -> int:
    """Show one model."""
    details, address = in_runtime(arguments, output, partial(_shown, arguments.name))
    section = arguments.models.section
    if section is not None:
        return _write_section(section, details, output, as_json=arguments.as_json)
    if arguments.as_json:
        output.json(details_to_json(details), indent=2)
    else:
        _write_sections(details, address, output)
    return OK


async def _shown(name: str, runtime: Runtime) -> tuple[ModelDetails, str]:
    model = await find_model(runtime.manager, name)
    details = await runtime.manager.show(model.ref)
    return details, runtime.catalog.shown_address(details.ref)


def text_of(section: str, details: ModelDetails) -> str | None:
    """Return one text of a model as it is; None for one that it does not have."""
    width = max((len(name) for name, _ in details.parameters), default=0)
    lines = [f"{name:<{width}}  {value}" for name, value in details.parameters]
    texts = {
        "license": details.licence,
        "parameters": "\n".join(lines) or None,
        "template": details.template,
        "system": details.system,
        "modelfile": details.modelfile,
    }
    return texts[section]


def _write_section(section: str, details: ModelDetails, output: Output, *, as_json: bool) -> int:
    text = text_of(section, details)
    if as_json:
        output.json({"model": str(details.ref), section: text}, indent=2)
    elif text is not None:
        output.line(text.rstrip("\n"))
    if text is None:
        what = "system prompt" if section == "system" else section
        output.error(f"{details.ref.model} has no {what}.")
    return OK if text is not None else ERROR


def _write_sections(details: ModelDetails, address: str, output: Output) -> None:
    rows = [(name, value) for name, value in _facts(details) if value]
    output.table(("MODEL", address), rows)
    output.line("")
    output.table(("SETTING", "VALUE", "FROM"), [setting_row(value) for value in details.settings])
    for name, option, text in (
        ("TEMPLATE", "--template", details.template),
        ("SYSTEM PROMPT", "--system-prompt", details.system),
        ("LICENCE", "--license", details.licence),
    ):
        if text is not None and text.strip():
            _write_beginning(name, option, text.strip("\n"), output)


def _write_beginning(name: str, option: str, text: str, output: Output) -> None:
    lines = text.split("\n")
    output.line(f"\n{name}")
    for line in lines[:_SHOWN_LINES]:
        output.line(f"  {line}")
    if len(lines) > _SHOWN_LINES:
        more = len(lines) - _SHOWN_LINES
        output.line(f"  … {counted(more, 'more line')}: {option}")


def _facts(details: ModelDetails) -> list[tuple[str, str]]:
    info, can = details.info, details.info.capability
    facts, check = details.template_facts, tool_check_of(info)
    rows = [
        ("LABEL", info.label or ""),
        ("DESCRIPTION", info.description or ""),
        ("PLACE", details.place),
        ("FILE", details.path or ""),
        ("SIZE", size_text(info.size_bytes)),
        *(_windows(details.context) if details.context else ()),
        ("LOADED", YES_NO[info.loaded]),
        ("ON GPU", share_text(details.gpu_share)),
        ("UNTIL", until_text(details.until)),
        ("FIT", fit_text(details.fit)),
        ("TAKES", modalities_text(can.input) if can else ""),
        ("GIVES", modalities_text(can.output) if can else ""),
        ("CAN", ", ".join(word for key, word in _FEATURES.items() if can and key in can.features)),
        ("ABILITIES", abilities_text(info)),
        ("TOOL CHECK", "; ".join(check_rows(check)) if check else ""),
        ("TEMPLATE HAS", template_text(facts) if facts else ""),
        ("MODIFIED", info.modified_at or ""),
    ]
    for key, value in info.details.items():
        if key not in _ELSEWHERE:
            rows += _rows(key, value)
    return rows + [(f"PARAMETERS: {name}", value) for name, value in details.parameters]


_ELSEWHERE = frozenset(
    {"size_vram", "memory_bytes", "expires_at", "shape", "loaded_with_bytes", DETAIL}
)


def _rows(key: str, value: JsonValue) -> Sequence[tuple[str, str]]:
    name = key.replace("_", " ").upper()
    if isinstance(value, dict):
        return [(f"{name}: {inner}", _text(item)) for inner, item in value.items()]
    return [(name, _text(value))]


def _windows(context: ContextFacts) -> list[tuple[str, str]]:
    """Return the window that counts with its source, and the others that are known."""
    others = [(name, getattr(context, name)) for name in ("trained", "configured", "loaded")]
    known = ", ".join(f"{name} {tokens}" for name, tokens in others if tokens)
    return [("CONTEXT", f"{context.tokens} ({context.source})"), ("WINDOWS", known)]


def _text(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return "" if value is None else str(value)

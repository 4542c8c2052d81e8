"""What stands in the columns about models."""

from collections.abc import Collection

from ollm_tui.cli.figures import size_text
from ollm_tui.library.fit import Fit, Verdict
from ollm_tui.models.capabilities import ABILITIES, capabilities_of
from ollm_tui.protocol.model import ModelInfo

_YES_NO = {True: "yes", False: "no"}
VERDICTS: dict[Verdict, str] = {
    "gpu": "fits the GPU",
    "partly": "fits partly on the GPU",
    "cpu": "fits the CPU's memory",
    "no": "does not fit",
    "unknown": "unknown",
}
_KINDS = ("audio", "image", "video")


def abilities_text(info: ModelInfo) -> str:
    """Give each ability that something is known of, and how where it is not the engine's word."""
    held = capabilities_of(info)
    parts = []
    for name in ABILITIES:
        fact = held.ability(name)
        if fact.value is not None:
            source = "" if fact.source == "known" else f" ({fact.source})"
            parts.append(f"{name} {_YES_NO[fact.value]}{source}")
    return ", ".join(parts)


def can_text(info: ModelInfo) -> str:
    """Give what a model can do in a few words: `?` is assumed, `!` is set by a person."""
    held, can = capabilities_of(info), info.capability
    words = ["chat"] if can is not None and "text" in can.output else []
    for name in ABILITIES:
        fact = held.ability(name)
        if fact.value:
            words.append(name + {"known": "", "assumed": "?", "set": "!"}[fact.source])
    if can is not None:
        words += [kind for kind in _KINDS if kind in can.output]
        words += ["hears"] if "audio" in can.input else []
    return " ".join(words)


def modalities_text(kinds: Collection[str]) -> str:
    """Give what goes in or comes out."""
    return ", ".join(sorted(kinds))


def fit_text(fit: Fit | None) -> str:
    """Give the verdict with its numbers."""
    if fit is None or fit.verdict == "unknown":
        return ""
    about = "about " if fit.is_estimate else ""
    parts = f"{size_text(fit.weights)} model, {size_text(fit.cache)} context"
    share = f", {round(100 * fit.gpu_share)} % on the GPU" if fit.verdict == "partly" else ""
    needs = f"needs {about}{size_text(fit.needed)}: {parts} of {fit.context} tokens"
    return f"{VERDICTS[fit.verdict]}{share}; {needs}; {_memory(fit)}"


def _memory(fit: Fit) -> str:
    """Give what there is."""
    machine = fit.machine
    have = []
    if machine.gpus:
        have.append(f"{size_text(sum(gpu.total for gpu in machine.gpus))} on the GPU")
    if machine.ram_total is not None:
        free = "" if machine.ram_free is None else f" ({size_text(machine.ram_free)} free)"
        have.append(f"{size_text(machine.ram_total)} RAM{free}")
    return f"there is {' and '.join(have)}" if have else "this machine does not tell its memory"

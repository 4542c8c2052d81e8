"""The failures of the engine, as errors."""

import re
import signal
from collections.abc import Mapping
from pathlib import Path

from ollm_tui.protocol.errors import AIError, ErrorCode

INSTALL_HINT = (
    "Install it in ollm's environment: pip install xllamacpp. "
    "Or put llama.cpp's llama-server on PATH."
)
LOG_SHOWN = 1000
_USE_PACKAGE = 'set server = "none" below [embedded] to use the package xllamacpp'
PACKAGE_INSTEAD = 'Set server = "none" below [embedded] to use the package xllamacpp.'
NO_GPU, NO_GPU_LOG = "no_gpu", "gpu-layers option will be ignored"
"""What the child reports, and what llama-server writes into its log."""
_REASON = re.compile(
    r"(?:error loading model: (?:llama_model_loader: )?|failed to load model '[^'\n]*': (?:\w+: )?"
    r"|failed to apply lora adapter: |error: (?=invalid arg|mismatch between))(.+)"
)
_TEMPLATE = re.compile(r"chat template (?:parsing error|is not supported)|failed to apply template")
_TEMPLATE_REASON = re.compile(r"^Error: (.+)", re.MULTILINE)
_MEMORY = re.compile(r"(?:failed|unable) to allocate|bad_alloc|out of memory|ENOMEM", re.IGNORECASE)
_WITHOUT_CHAT: Mapping[str, tuple[str, str]] = {
    "whisper": ("writes down speech", "ollm transcribe"),
    "voice": ("speaks", "ollm speak"),
    "image": ("draws pictures", "ollm draw"),
}
_HINTS: Mapping[int, str] = {
    signal.SIGKILL: "It was killed from outside, perhaps because memory ran out.",
    signal.SIGILL: "This processor lacks instructions that the engine was built for (AVX2).",
}


def not_installed() -> AIError:
    """The optional engine is not installed."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED, "The built-in engine is not installed.", hint=INSTALL_HINT
    )


def no_program(program: Path) -> AIError:
    """The llama-server of the settings does not exist."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{program} does not exist.",
        hint="Change or remove server below [embedded].",
    )


def unusable(name: str, reason: str) -> AIError:
    """The model's file was rejected before the engine saw it."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{name} is not a usable GGUF file: {reason}.",
        hint="Download the file again, or choose another model.",
    )


def is_program(name: str) -> AIError:
    """The model is a program of this machine."""
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{name} cannot be deleted from here.",
        hint="It is a program of this machine: remove it with the system's package manager.",
    )


def unusable_sound(name: str, reason: str) -> AIError:
    """The files of a model that hears or speaks cannot be used."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{name} cannot be used: {reason}.",
        hint="Download its files again, or choose another model.",
    )


def not_for_chat(name: str, kind: str) -> AIError:
    """The model is of another kind: `kind` names what it makes, or its engine."""
    if kind == "embedding":
        return AIError(
            ErrorCode.MODEL_NOT_LOADED,
            f"{name} is an embedding model, which cannot chat.",
            hint="Choose a language model; for embeddings, use `ollm embed`.",
        )
    if kind in _WITHOUT_CHAT:
        what, command = _WITHOUT_CHAT[kind]
        return AIError(
            ErrorCode.MODEL_NOT_LOADED,
            f"{name} {what}, and cannot chat.",
            hint=f"Choose a language model; or use `{command}`.",
        )
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{name} is a model of another kind ({kind}), which the built-in engine cannot run.",
        hint="Choose a language model.",
    )


def no_embeddings(name: str) -> AIError:
    """The model is not made for embeddings."""
    return AIError(
        ErrorCode.UNSUPPORTED_MODALITY,
        f"{name} makes no embeddings.",
        hint="Choose an embedding model: `ollm models list embedding` shows those that you have.",
    )


def no_gpu(name: str) -> AIError:
    """Layers are to go to a graphics card that the engine cannot use."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"`gpu_layers` is set for {name}, but the engine cannot use a graphics card.",
        hint="Remove `gpu_layers`, or use a llama-server that was built for your card.",
    )


def load_refused(
    name: str,
    error: str,
    log: str,
    program: Path | None = None,
    *,
    has_template: bool = False,
) -> AIError:
    """The engine ran but rejected the model; the reason is in its log.

    `has_template`: it was given a chat template in place of the one in the model file.
    """
    if error == NO_GPU or NO_GPU_LOG in log:
        return no_gpu(name)
    if _MEMORY.search(log) or _MEMORY.search(error):
        return out_of_memory(name)
    if _TEMPLATE.search(log):
        return _template_refused(name, log, has_template=has_template)
    reasons = _REASON.findall(log)
    reason = (reasons[-1].strip() if reasons else error).rstrip(".") or "no reason given"
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"The engine could not load {name}: {reason}.",
        hint="Choose another model, or update the engine."
        if program is None
        else f"{program} was used. Update it, or {_USE_PACKAGE}.",
    )


def _template_refused(name: str, log: str, *, has_template: bool) -> AIError:
    reasons = _TEMPLATE_REASON.findall(log)
    reason = f": {reasons[-1].strip().rstrip('.')}" if reasons else ""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"The engine cannot use the chat template of {name}{reason}.",
        hint="Correct the template, or remove it."
        if has_template
        else "Set another one with `chat_template` of this model below [models].",
    )


def out_of_memory(name: str) -> AIError:
    """The model does not fit into memory."""
    return AIError(
        ErrorCode.OUT_OF_MEMORY,
        f"There is not enough memory to load {name}.",
        hint="Choose a smaller model, or a smaller context window.",
    )


def died_loading(name: str, ending: int, log: str) -> AIError:
    """The process ended before it reported anything."""
    if ending == -signal.SIGKILL or _MEMORY.search(log):
        return out_of_memory(name)
    return stopped(ending, f" while it loaded {name}", log=log)


def too_slow(name: str, seconds: float) -> AIError:
    """Loading exceeded its time limit."""
    return AIError(
        ErrorCode.TIMEOUT,
        f"Loading {name} took longer than {seconds:g} s.",
        hint="Choose a smaller model.",
    )


def stopped(ending: int, when: str = "", *, log: str = "") -> AIError:
    """The process ended unexpectedly; `log` is the end of its output."""
    how = f"signal {-ending}" if ending < 0 else f"exit code {ending}"
    return AIError(
        ErrorCode.ENGINE_ERROR,
        f"The engine stopped{when} ({how}).",
        hint=_HINTS.get(-ending, "The next message starts it again."),
        details={"log": log[-LOG_SHOWN:]} if log else None,
        retryable=True,
    )


def unresponsive(name: str) -> AIError:
    """The process was running but did not respond, so it was killed."""
    return AIError(
        ErrorCode.ENGINE_ERROR,
        f"The engine of {name} did not respond and was ended.",
        hint="The next message starts it again.",
        retryable=True,
    )


def unloaded(name: str) -> AIError:
    """The model was unloaded on request, in the middle of an answer."""
    return AIError(ErrorCode.MODEL_NOT_LOADED, f"{name} was unloaded while it answered.")


def not_started(error: OSError) -> AIError:
    """The operating system could not start the process."""
    return AIError(
        ErrorCode.ENGINE_ERROR,
        f"The engine's process could not be started: {error.strerror or error}.",
        retryable=True,
    )


def found_program(program: Path) -> AIError:
    """A llama-server was found on PATH and used, which nobody asked for."""
    return AIError(ErrorCode.MODEL_NOT_LOADED, f"{program}, found on PATH, runs the model.")


def not_understood() -> AIError:
    """The process is not the engine."""
    return AIError(
        ErrorCode.ENGINE_ERROR, "The engine's process said something else than its address."
    )


def other_window(name: str, loaded: int, wanted: int) -> AIError:
    """The model was loaded with another window than the request asks for."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{name} was loaded with a context window of {loaded:,} tokens, and {wanted:,} are asked "
        "for.",
    )


def closed() -> AIError:
    """A request came after the provider was closed, or while it was closing."""
    return AIError(ErrorCode.ABORTED, "The built-in engine was closed.")


def aborted() -> AIError:
    """The signal of the request stopped it before it was sent."""
    return AIError(ErrorCode.ABORTED, "The count was stopped.")


def aborted_job() -> AIError:
    """The signal of the request stopped it."""
    return AIError(ErrorCode.ABORTED, "The request was stopped.")


def no_package(engine: str, install_hint: str) -> AIError:
    """An optional engine is not installed."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED, f"The engine {engine} is not installed.", hint=install_hint
    )


def model_refused(engine: str, name: str, reason: str, log: str) -> AIError:
    """An engine ran but could not load the model."""
    if _MEMORY.search(reason) or _MEMORY.search(log):
        return out_of_memory(name)
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{engine} could not load {name}: {reason.rstrip('.')}.",
        hint="Download its files again, or choose another model.",
        details={"log": log[-LOG_SHOWN:]} if log else None,
    )


def out_of_memory_at_work(name: str) -> AIError:
    """A job needs more memory than there is."""
    return AIError(
        ErrorCode.OUT_OF_MEMORY,
        f"There is not enough memory for what {name} was asked to do.",
        hint="Ask for less at once, or choose a smaller model.",
    )

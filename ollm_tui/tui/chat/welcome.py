"""What the first note of a chat says: the model, what was found, and how to get more."""

from collections.abc import Callable

from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.services import FirstModel

CHOOSE = "Press {models} to choose another model, {manager} for all models."
GO_BACK = "Press {models} to choose another model, such as {model}, used last."


def welcome(
    first: FirstModel, key_for: Callable[[str], str], address: Callable[[ModelRef], str]
) -> tuple[str, str | None]:
    """Give the note and its hint; `key_for` and `address` write keys and models as people do."""
    models_key, manager = key_for("chat.models"), key_for("chat.manager")
    choose = CHOOSE.format(models=models_key, manager=manager)
    if first.passed_over is not None:
        choose = GO_BACK.format(models=models_key, model=clean_line(address(first.passed_over)))
    if first.is_told:
        return "No model is selected until that is fixed.", f"Or press {models_key} to choose one."
    if first.ref is None:
        then = f"Then press {models_key}. /pull finds and downloads models."
        if first.passed_over is not None:
            then = choose
        hint = f"{first.advice} {then}" if first.advice else None
        if not first.reason.endswith("."):
            return f"No models found. {_looked(first)}".strip(), hint
        return first.reason, hint  # why what was named cannot be asked
    text = f"Chatting with {first.ref.model}, {first.reason}."
    if first.reason in {"used last", "as configured"}:
        return text, None
    hint = f"{first.advice} {choose}" if first.advice else choose
    return f"{text} {_looked(first)}".strip(), hint


def _looked(first: FirstModel) -> str:
    sentences = []
    if first.found:
        sentences.append(f"Models found at: {', '.join(first.found)}.")
    if first.silent:
        sentences.append(f"No answer from: {', '.join(first.silent)}.")
    if not first.found:
        sentences.append("`ollm doctor` lists the servers that were tried.")
    return " ".join(sentences)

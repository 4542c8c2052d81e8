"""What a chat says first: which model answers and why, or how to get one."""

from collections.abc import Callable

from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.first_model import FirstModel


def welcome(
    first: FirstModel,
    key_for: Callable[[str], str],
    address: Callable[[ModelRef], str],
    verb: str = "Press",
) -> tuple[str, str | None]:
    """Return the note and its hint; `key_for` and `address` write keys and models as people do.

    A front end without keys gives commands in their place, and the `verb` "Type".
    """
    models_key = key_for("chat.models")
    choose = f"{verb} {models_key} to choose another model"
    if first.passed_over is not None:
        choose = f"{choose}, such as {clean_line(address(first.passed_over))}, used last."
    else:
        choose = f"{choose}, {key_for('chat.manager')} for all models."
    if first.is_reported:
        return (
            "No model is selected until that is fixed.",
            f"Or {verb.lower()} {models_key} to choose one.",
        )
    if first.ref is None:
        then = f"Then {verb.lower()} {models_key}. /pull finds and downloads models."
        then = then if first.passed_over is None else choose
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
    answered = f"Models found at: {', '.join(first.with_models)}."
    silent = f"No answer from: {', '.join(first.silent)}."
    none = "`ollm doctor` lists the servers that were tried."
    sentences = (
        (answered, first.with_models),
        (silent, first.silent),
        (none, not first.with_models),
    )
    return " ".join(sentence for sentence, applies in sentences if applies)

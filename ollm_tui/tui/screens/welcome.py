"""What the first note of a chat says: the model, what was found, and how to get more."""

from ollm_tui.tui.services import FirstModel

GET_MODELS = (
    "For better models start Ollama (ollama.com), LM Studio, llama.cpp or another server, "
    "or put GGUF files into the models folder; then press {models} to choose."
)
OTHER_MODELS = "Press {models} to choose another model."
NO_ENGINE = (
    "Start Ollama, LM Studio, llama.cpp, vLLM or another server and press {models}; or let ollm "
    "run models itself: install it with the extra `embedded`, then `ollm models starter`."
)


def welcome(first: FirstModel, models_key: str) -> tuple[str, str | None]:
    """Give the note and its hint."""
    if first.ref is None:
        return "No model was found. " + _looked(first), NO_ENGINE.format(models=models_key)
    text = f"Chatting with {first.ref.model}, {first.reason}."
    if first.reason in {"used last", "as configured"}:
        return text, None
    hint = GET_MODELS if first.ref.provider == "embedded" else OTHER_MODELS
    return f"{text} {_looked(first)}".strip(), hint.format(models=models_key)


def _looked(first: FirstModel) -> str:
    sentences = []
    if first.found:
        sentences.append(f"Models found at: {', '.join(first.found)}.")
    if first.silent:
        sentences.append(f"No answer from: {', '.join(first.silent)}.")
    return " ".join(sentences)

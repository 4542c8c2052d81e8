"""What the server says about its one model, in Ollama's and in OpenAI's words."""

from benchmarks.terminal.backend.wire import MODEL, STAMP

SIZE = 4_700_000_000
WINDOW = 10_000_000
"""More than any document here takes: no program may refuse one."""
_DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "8.0B",
    "quantization_level": "Q4_K_M",
}
_LISTED = {
    "name": MODEL,
    "model": MODEL,
    "modified_at": STAMP,
    "size": SIZE,
    "digest": "0" * 64,
    "details": _DETAILS,
}
_RUNNING = {**_LISTED, "expires_at": STAMP, "size_vram": SIZE, "context_length": WINDOW}
_SHOWN = {
    "license": "",
    "modelfile": f"FROM {MODEL}",
    "parameters": "",
    "template": "{{ .Prompt }}",
    "details": _DETAILS,
    "modified_at": STAMP,
    "capabilities": ["completion", "tools"],
    "model_info": {
        "general.architecture": "llama",
        "general.parameter_count": 8_000_000_000,
        "llama.context_length": WINDOW,
        "llama.embedding_length": 4096,
    },
}
_OPENAI = {
    "id": MODEL,
    "object": "model",
    "created": 1767225600,
    "owned_by": "fake",
    "max_model_len": WINDOW,
}


def fact(path: str) -> object | None:
    """Give the answer to a question that is not for text; None when there is none."""
    answers: dict[str, object] = {
        "/": "Ollama is running",
        "/api/version": {"version": "0.12.0"},
        "/api/tags": {"models": [_LISTED]},
        "/api/ps": {"models": [_RUNNING]},
        "/api/show": _SHOWN,
        "/v1/models": {"object": "list", "data": [_OPENAI]},
    }
    return answers.get(path)

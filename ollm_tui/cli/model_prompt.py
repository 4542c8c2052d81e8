"""`ollm models prompt`: the exact prompt that a model gets for a question."""

from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import find_model, in_runtime
from ollm_tui.cli.output import OK, Output
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.exact_prompt import ExactPrompt


def run_prompt(arguments: Arguments, output: Output) -> int:
    """Print the prompt on standard output, and where it is from as notes."""
    prompt = in_runtime(arguments, output, partial(_prompt, arguments))
    if arguments.as_json:
        output.json(_as_json(prompt), indent=2)
        return OK
    for note in prompt.notes:
        output.note(note)
    output.line(prompt.text)
    if prompt.tokens is not None:
        output.note(f"{len(prompt.tokens)} tokens.")
    return OK


async def _prompt(arguments: Arguments, runtime: Runtime) -> ExactPrompt:
    model = await find_model(runtime.manager, arguments.name)
    conversation = runtime.new_client(str(model.ref), saved=False).conversation
    return await runtime.exact_prompt(conversation, arguments.models.text)


def _as_json(prompt: ExactPrompt) -> JsonObject:
    tokens = prompt.tokens
    return {
        "model": str(prompt.ref),
        "origin": prompt.origin,
        "text": prompt.text,
        "parts": [
            {"role": part.role, "text": part.text, "tokens": part.tokens} for part in prompt.parts
        ],
        "tokens": None if tokens is None else [{"id": one.id, "text": one.text} for one in tokens],
        "notes": [*prompt.notes],
    }

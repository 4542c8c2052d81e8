"""One prompt, answered on standard output: the same chat as the screen's, without a screen."""

import os
from dataclasses import replace
from functools import partial

import anyio

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.cli.allowing import Allowed, NonInteractiveApprover
from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.event_writer import EventWriter, JsonWriter, TextWriter, code_of
from ollm_tui.cli.mcp.prompt_tools import PromptTools
from ollm_tui.cli.output import NEEDS_APPROVAL, OK, TURN_LIMIT, Output, UsageError
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import Stop, stopping
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.paths import AppPaths, default_paths
from ollm_tui.protocol.blocks import Content
from ollm_tui.protocol.chat_events import ErrorEvent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.compose import Runtime, open_runtime
from ollm_tui.runtime.tools.toolbox import unknown_tools
from ollm_tui.store.branches import others_line


async def _with_files(prompt: str, arguments: Arguments, output: Output) -> Content:
    if not (arguments.images or arguments.attached):
        return prompt
    # Loaded only for files.
    from ollm_tui.cli.prompt_files import with_files

    return await with_files(prompt, arguments.images, arguments.attached, output)


async def _with_schema(arguments: Arguments) -> Flags:
    """Return the flags with the JSON Schema that was named, if one was."""
    if arguments.schema is None:
        return arguments.flags
    # Loaded only for a schema.
    from ollm_tui.cli.prompt_files import schema_from

    return replace(arguments.flags, schema=await schema_from(arguments.schema))


def _with_allowed(flags: Flags) -> Flags:
    """Offer what may act, beside the tools that are named."""
    if not flags.allow:
        return flags
    return replace(flags, tools=(*(flags.tools or ()), *Allowed.of(flags.allow).names))


def run_prompt(prompt: str, arguments: Arguments, output: Output) -> int:
    """Send the prompt, write the answer, and return the exit code."""
    paths = default_paths()
    arguments = replace(arguments, flags=_with_allowed(arguments.flags))
    loaded = load_for(paths, os.environ, arguments.flags, output, chooses_model=True)
    if arguments.flags.tools is None:
        for problem in unknown_tools(loaded):
            output.note(str(problem))
    return anyio.run(partial(_run, prompt, arguments, loaded, paths, output))


def _writer(arguments: Arguments, output: Output, *, is_structured: bool = False) -> EventWriter:
    if arguments.as_json:
        return JsonWriter(output)
    return TextWriter(output, is_structured=is_structured)


async def _run(
    prompt: str, arguments: Arguments, loaded: LoadedConfig, paths: AppPaths, output: Output
) -> int:
    with stopping() as stop:
        content = await _with_files(prompt, arguments, output)
        flags = await _with_schema(arguments)
        async with open_runtime(loaded, paths) as runtime:
            for problem in runtime.plugin_problems:
                output.note(problem)
            writer = _writer(arguments, output)
            nobody = NonInteractiveApprover(Allowed.of(flags.allow))
            runtime.ask_before_tools(nobody)
            try:
                client, options = await _prepared(runtime, flags, output)
                schema = flags.schema or client.conversation.schema
                writer = _writer(arguments, output, is_structured=schema is not None)
                code = await _ask(client, content, options, stop, writer, output)
                if client.saving.problem is None and flags.continued is not None:
                    await _note_news(runtime, client, output)
            except AIError as error:
                writer.event(failure := ErrorEvent(error=error))
                code = code_of(failure)
            for sentence in nobody.sentences:
                output.note(sentence)
                code = NEEDS_APPROVAL if code in {OK, TURN_LIMIT} else code
            # A signal does not interrupt closing what was opened.
            return stop.exit_code if stop.number is not None else code
    return stop.exit_code


async def _prepared(
    runtime: Runtime, flags: Flags, output: Output
) -> tuple[ChatClient, ChatOptions]:
    """Return the chat to ask in, and with which tools and schema."""
    tools = PromptTools(runtime, flags, output)
    tools.start()
    if flags.schema is None:
        await _check_profile(runtime)
    client = await _client(runtime, flags, output)
    return client, ChatOptions(tools=await tools.choose(client.conversation), schema=flags.schema)


async def _check_profile(runtime: Runtime) -> None:
    """Refuse a profile whose schema cannot be used, as a schema that is named is refused."""
    try:
        await runtime.profiles.check()
    except AIError as error:
        raise UsageError(error.message, error.hint) from None


async def _ask(
    client: ChatClient,
    prompt: Content,
    options: ChatOptions,
    stop: Stop,
    writer: EventWriter,
    output: Output,
) -> int:
    stop.answering = True
    code = OK
    async with client.chat(prompt, options, signal=stop.signal) as events:
        async for event in events:
            writer.set_model(ModelRef.parse(client.conversation.model or ""))
            writer.event(event)
            code = code or code_of(event)
    if (unsaved := client.saving.problem) is not None:
        output.note(
            f"{unsaved.message.rstrip('.')}. The chat may lack this question or its answer."
        )
        code = code or code_of(ErrorEvent(error=unsaved))
    return code


async def _note_news(runtime: Runtime, client: ChatClient, output: Output) -> None:
    if (news := await runtime.branches.news(client)) and news.branch:
        output.note("This chat was continued in another window: it now has a new branch.")


async def _client(runtime: Runtime, flags: Flags, output: Output) -> ChatClient:
    """Start a chat that is not saved, or continue the one that is named, or the last one."""
    if flags.continued is not None:
        client = await runtime.continue_chat(flags.continued)
        if (line := others_line(await runtime.branches.listed(client))) is not None:
            output.note(f"{line} This is the latest branch; /branch in the app shows the others.")
        conversation = client.conversation
        conversation.model = runtime.named.model_for_chat(conversation.model)
        runtime.profiles.apply_named(conversation)
        if conversation.model is None or runtime.named.problem is not None:
            conversation.model = await _choose_model(runtime, output)
        elif not runtime.named.by_flag:
            ref = ModelRef.parse(conversation.model)
            shown = runtime.catalog.shown_address(ref) if ref else conversation.model
            output.note(f"{shown} (as in the chat)")
    else:
        client = runtime.new_client(await _choose_model(runtime, output), saved=False)
    return client


async def _choose_model(runtime: Runtime, output: Output) -> str:
    """Choose the model, and note the choice unless it was named."""
    first = await runtime.first_model()
    ref = first.required()
    if not runtime.named.is_exact:
        output.note(f"{runtime.catalog.shown_address(ref)} ({first.reason})")
    return str(ref)

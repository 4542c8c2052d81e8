"""Commands about models: /model /models /pull /system /set /show, and those of `ACTIONS`."""

from collections.abc import Mapping, Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost, OptionRefused
from ollm_tui.commands.options import CLEARED, OPTION_FORMS, change_option, option_name, show_value
from ollm_tui.commands.profiles import chat_listing
from ollm_tui.commands.registry import Command, Completion, command, opens
from ollm_tui.decode.clean import clean
from ollm_tui.models.actions import ACTIONS, ActionInfo, ModelAction

_SHOWN_PROMPT: Final = 200


def _models(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [
        Completion(address, "in use" if is_used else "")
        for address, is_used in host.model_addresses().items()
    ]


@command("model", usage="[NAME]", complete=_models)
async def choose_model(host: CommandHost, argument: str) -> None:
    """Choose the model that answers."""
    if argument:
        await host.set_model(argument)
    else:
        host.show("models")


models = opens("manager", "models", "List all models; load, copy, delete or inspect them.")
pull = opens(
    "find_models",
    "pull",
    "Find and download models, or look at the downloads.",
    ("find-models", "downloads"),
    "[NAME]",
)


@command("system", usage="[TEXT | none]")
async def system_prompt(host: CommandHost, argument: str) -> None:
    """Show or change the system prompt."""
    if not argument:
        prompt = host.conversation().system_prompt
        none = "There is no system prompt. /system TEXT sets one."
        host.say(f"System prompt: {clean(prompt)}" if prompt else none)
    elif argument.casefold() in CLEARED:
        host.conversation().system_prompt = None
        host.say("The system prompt was removed.")
    else:
        host.conversation().system_prompt = _unquoted(argument)
        host.say("The system prompt applies from the next answer.")


def _unquoted(text: str) -> str:
    for mark in ('"""', '"'):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            return text[len(mark) : -len(mark)]
    return text


def _options(host: CommandHost, argument: str) -> Sequence[Completion]:
    options = host.conversation().options
    name, _, value = argument.removeprefix("parameter ").partition(" ")
    if value or argument.endswith(" "):
        return _values(argument.removesuffix(value), name)
    names = [
        Completion(known, _now(getattr(options, known), form.form), takes_more=True)
        for known, form in OPTION_FORMS.items()
    ]
    return [*names, Completion("system", "the system prompt", takes_more=True)]


def _values(written: str, name: str) -> Sequence[Completion]:
    form = OPTION_FORMS.get(name)
    if form is None:
        return ()
    return (
        Completion(f"{written}{form.example}", form.form, is_example=True),
        Completion(f"{written}none", "the model's default", is_example=True),
    )


def _now(value: object, form: str) -> str:
    return form if value is None else f"now {show_value(value)}; {form}"


@command("set", usage="[OPTION VALUE]", complete=_options)
async def set_option(host: CommandHost, argument: str) -> None:
    """Show or change how answers are sampled."""
    name, _, value = argument.partition(" ")
    if name.casefold() == "parameter":  # as Ollama's own prompt has it
        name, _, value = value.strip().partition(" ")
    if not name:
        host.say(_listing(host))
    elif name.casefold() == "system":
        await system_prompt.run(host, value.strip())
    else:
        _set(host, name, value.strip())


def _set(host: CommandHost, name: str, value: str) -> None:
    conversation = host.conversation()
    try:
        if not value:
            known = option_name(name)
            now = getattr(conversation.options, known)
            host.say(f"{known} is {_or_default(now)}. It takes {OPTION_FORMS[known].form}.")
        else:
            conversation.options, sentence = change_option(conversation.options, name, value)
            host.say(sentence)
    except OptionRefused as refusal:
        host.say(str(refusal), "error")


def _or_default(value: object) -> str:
    return "the model's default" if value is None else show_value(value)


def _listing(host: CommandHost) -> str:
    options = host.conversation().options
    rows = [(name, _or_default(getattr(options, name))) for name in OPTION_FORMS]
    prompt = host.conversation().system_prompt
    # One line, however long: the rows below it have to stay a list.
    system = clean(prompt[:_SHOWN_PROMPT]).replace("\n", " ") if prompt else "none"
    lines = [f"{name:<16} {value}" for name, value in (*rows, ("system", system))]
    return "\n".join(("/set OPTION VALUE changes one, /set OPTION none clears it.", *lines))


_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "info": ("summary", "general information"),
    "license": ("licence", "its licence"),
    "licence": ("licence", ""),
    "parameters": ("parameters", "its parameters"),
    "settings": ("settings", "effective settings and where they come from"),
    "system": ("system", "its system prompt"),
    "template": ("template", "its chat template"),
    "modelfile": ("modelfile", "its Modelfile"),
    "fit": ("fit", "the memory it needs on this machine"),
}
"""What may follow `/show`: the section that is meant, and help if the word is offered."""


def _shown(host: CommandHost, _argument: str) -> Sequence[Completion]:
    words = [Completion(word, meaning) for word, (_, meaning) in _PARTS.items() if meaning]
    chat = Completion("chat", "what this chat uses: model, profile, options, tools")
    return [chat, *words, *_models(host, "")]


@command("show", usage="[MODEL | PART | chat]", complete=_shown)
async def show_model(host: CommandHost, argument: str) -> None:
    """Show what a model is, or what this chat uses."""
    first, _, rest = argument.partition(" ")
    if argument.casefold() == "chat":
        host.say(chat_listing(host))
        return
    part = _PARTS.get(first.casefold())
    if part is not None:
        host.model_actions.show(rest.strip(), part[0])
    else:
        host.model_actions.show(argument, None)


def _of_action(action: ModelAction, known: ActionInfo) -> Command:
    """Return the command that runs an action on a model, the chat's own if none is named."""

    async def run(host: CommandHost, argument: str) -> None:
        name, _, value = argument.partition(" ") if known.chat_value else (argument, "", None)
        host.model_actions.run(action, name, value and value.strip())

    usage = f"[MODEL [{known.chat_value}]]" if known.chat_value else "[MODEL]"
    return Command(known.command, (), usage, known.chat_help, run, _models)


of_actions = tuple(
    _of_action(action, known) for action, known in ACTIONS.items() if known.chat_help
)

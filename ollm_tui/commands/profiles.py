"""Commands about the settings of a chat as a whole: /profile, /save, and `/show chat`."""

from collections.abc import Mapping, Sequence
from typing import Final

from ollm_tui.attachments.made import kind_of_name
from ollm_tui.chat.drawing import newest_kind
from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.options import CLEARED, OPTION_FORMS, described_schema, show_value
from ollm_tui.commands.registry import Completion, command
from ollm_tui.config.profiles import NO_PROFILE
from ollm_tui.decode.clean import clean, clean_name
from ollm_tui.protocol.request import GenerationOptions, thinking_level, thinking_mode

_NO_PROFILES: Final = "There are no profiles yet. /save NAME keeps this chat's settings as one."
_REPLACE: Final = "replace"
_SHOWN_PROMPT: Final = 200
_SHOWN_TOOL: Final = 64


def _profiles(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion(name, about) for name, about in host.profiles.listed().items()]


def _profiles_or_none(host: CommandHost, argument: str) -> Sequence[Completion]:
    known = _profiles(host, argument)
    return [*known, Completion(NO_PROFILE, "no profile")] if known else ()


@command("profile", aliases=("profiles",), usage="[NAME | none]", complete=_profiles_or_none)
async def choose_profile(host: CommandHost, argument: str) -> None:
    """Choose a profile: a preset for chats."""
    if not argument:
        if host.profiles.listed():
            host.show("profiles")
        else:
            host.say(_NO_PROFILES)
        return
    wanted = NO_PROFILE if argument.casefold() in CLEARED else argument
    preset = await host.profiles.load(wanted)
    if preset.model is not None:
        await host.set_model(preset.model)  # first: without its model nothing changes
    preset.apply_to(host.conversation())
    if preset.profile is None:
        host.say("No profile: from the next prompt, this chat has the settings of every chat.")
    else:
        about = host.profiles.listed().get(preset.profile, "")
        host.say(f"Profile {clean_name(preset.profile)} from the next prompt: {clean(about)}.")
    if preset.missing_tools:
        names = ", ".join(clean_name(name[:_SHOWN_TOOL]) for name in preset.missing_tools)
        host.say(f"The profile names tools that do not exist: {names}.", "warning")


@command("save", usage="[NAME [replace] | FILE]", complete=_profiles)
async def save_profile(host: CommandHost, argument: str) -> None:
    """Save what a model made, or this chat's settings."""
    makes = kind_of_name(argument)
    if not argument.strip():
        makes = newest_kind(host.conversation().messages)
    if makes is not None:
        await host.drawings.save(argument.strip(), makes)
        return
    name, _, last = argument.rpartition(" ")
    replaces = last.casefold() == _REPLACE and bool(name)
    name = (name if replaces else argument).strip()
    conversation = host.conversation()
    if not name:
        host.say(
            "/save NAME saves the model, system prompt, options, tools and thinking of this chat; "
            "/save cat.png the last picture that was drawn in it."
        )
        return
    is_own = name.casefold() == (conversation.profile or "").casefold()
    saved = await host.profiles.save(name, conversation, replaces=replaces or is_own)
    conversation.profile = saved.name
    shown = clean_name(saved.name)
    host.say(f"Saved the profile {shown}. /profile {shown} uses it, and so does --profile.")
    if saved.left_out:
        left_out = ", ".join(saved.left_out)
        host.say(f"A profile cannot hold these settings of the chat: {left_out}.", "warning")


def chat_listing(host: CommandHost) -> str:
    """Return what the chat uses, a line for each setting that is not the default."""
    conversation, options = host.conversation(), host.conversation().options
    in_use = (address for address, is_used in host.model_addresses().items() if is_used)
    schema = conversation.schema
    prompt, think = conversation.system_prompt, conversation.should_think
    level = thinking_level(think) or thinking_mode(think)
    rows = [
        ("model", next(in_use, conversation.model)),
        ("profile", conversation.profile),
        ("thinking", level or "the model's default"),
        ("tools", ", ".join(conversation.tools) or "off"),
        *((name, _option(options, name)) for name in OPTION_FORMS),
        ("schema", None if schema is None else described_schema(schema)),
        ("extra_body", "set" if options.extra_body else None),
        ("system", clean(prompt[:_SHOWN_PROMPT]).replace("\n", " ") if prompt else "none"),
    ]
    lines = [f"{name:<16} {clean_name(str(value))}" for name, value in rows if value is not None]
    return "\n".join(("This chat uses:", *lines))


def _option(options: GenerationOptions, name: str) -> str | None:
    value = getattr(options, name)
    # A JSON Schema has a row of its own.
    return None if value is None or isinstance(value, Mapping) else show_value(value)

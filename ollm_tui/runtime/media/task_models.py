"""Which model a command beside the chat uses: the one named, the default, or the only one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.config.flags import Flags
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import alternatives
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import MODEL_ALIASES, ModelCapability, ModelRef
from ollm_tui.providers.base_url import is_loopback
from ollm_tui.providers.catalog import Listing
from ollm_tui.providers.router import EMBEDDED, ResolvedModel
from ollm_tui.runtime.media.task_kinds import KINDS, candidates

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime

TIMEOUT_S: Final = 5.0
"""How long a server may take to list its models."""
_MAX_NAMED: Final = 5
_CHOOSE: Final = "Choose one in the list of models: /models."
_EMBEDDING_SETTING: Final = "`embedding` below [defaults] in the settings"


@dataclass(frozen=True, slots=True)
class TaskModel:
    """A model for a task."""

    model: ResolvedModel
    reason: str | None
    """Why this one, to go after its name; None if it was named on the command line."""


async def model_for_task(
    task: ModelTask, runtime: "Runtime", flags: Flags, *, in_app: bool = False
) -> TaskModel:
    """Return the model named by the flags, else the default of the settings, else the only one.

    In the app, which takes no flag for it, errors name the setting.

    Raises:
        AIError: MODEL_NOT_FOUND if there is none; BAD_REQUEST if there are several.
    """
    if flags.model is not None:
        return TaskModel(await _named(task, flags.model, runtime, flags), None)
    default = runtime.task_defaults.name(task)
    if default is not None and not (flags.provider or flags.host):
        return TaskModel(await _named(task, default, runtime, flags), "the default")
    listings = await _listings(runtime, flags)
    able = candidates(task, runtime.registry, listings)
    if len(able) != 1:
        addresses = [runtime.catalog.shown_address(ref) for ref in able]
        raise _no_choice(task, addresses, listings, in_app=in_app)
    return TaskModel(await runtime.router.at(able[0]), f"the only {task} model found")


async def embedding_model_here(runtime: "Runtime") -> TaskModel:
    """Return the default embedding model, else the only one that runs on this machine.

    Raises:
        AIError: there is none, or several, or the default is of an internet service.
    """
    default = runtime.task_defaults.name("embedding")
    if default is not None:
        model = await _named("embedding", default, runtime, Flags())
        if model.ref.provider in runtime.catalog.services:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"{model.ref.provider} is an internet service, to which no chats are sent for "
                "the search.",
                hint=f"{_EMBEDDING_SETTING} names a model of your own.",
            )
        return TaskModel(model, "the default")
    listings = await runtime.catalog.refresh(within_s=TIMEOUT_S, services=False)
    here = [listing for listing in listings if _is_here(runtime, listing.provider)]
    able = candidates("embedding", runtime.registry, here)
    if len(able) != 1:
        addresses = [runtime.catalog.shown_address(ref) for ref in able]
        problem = _no_choice("embedding", addresses, [], in_app=True)
        if able:  # said in the app and by a command that takes no flag for it
            problem.hint = f"Choose one with /models in the app, or with {_EMBEDDING_SETTING}."
        raise problem
    return TaskModel(await runtime.router.at(able[0]), "the only embedding model found")


async def maker_in_chat(
    task: ModelTask, runtime: "Runtime", name: str | None, chat_model: str | None
) -> str:
    """Return the address of the model that draws in a chat, or makes what else it is asked for.

    It is the one of that name, else the model of the chat if it can, else as `model_for_task`.

    Raises:
        AIError: as `model_for_task`.
    """
    ref = ModelRef.parse(chat_model or "")
    if name is None and ref is not None and runtime.task_defaults.can(task, ref):
        return str(ref)
    choice = await model_for_task(task, runtime, Flags(model=name), in_app=True)
    return str(choice.model.ref)


def _is_here(runtime: "Runtime", provider: str) -> bool:
    address = runtime.prober.address_of(provider)
    return provider == EMBEDDED or (address is not None and is_loopback(address))


async def _named(task: ModelTask, name: str, runtime: "Runtime", flags: Flags) -> ResolvedModel:
    if flags.provider is not None and "://" not in name:
        name = f"{flags.provider}://{name}"
    kind = MODEL_ALIASES[KINDS[task].alias]
    try:
        return await runtime.router.resolve(name, ModelCapability(kind.input, kind.output))
    except AIError as error:
        if error.code != ErrorCode.MODEL_NOT_FOUND or "://" in name:
            raise
    return await runtime.router.resolve(name)  # its server knows best whether it can


async def _listings(runtime: "Runtime", flags: Flags) -> Sequence[Listing]:
    """Return the models of the provider that was named, else of all but the services."""
    only = runtime.named.providers if flags.provider or flags.host else ()
    if not only:
        return await runtime.catalog.refresh(within_s=TIMEOUT_S, services=False)
    listings = []
    for name in only:
        adapter = await runtime.router.provider(name)
        listing = await runtime.catalog.listing(adapter.name, within_s=TIMEOUT_S)
        if listing.problem is not None:
            raise listing.problem
        listings.append(listing)
    return listings


def _no_choice(
    task: ModelTask, candidates: Sequence[str], listings: Sequence[Listing], *, in_app: bool
) -> AIError:
    setting = f"`{task}` below [defaults] in the settings"
    naming = f"{setting} names one" if in_app else "Name one with --model"
    if candidates:
        shown = [*candidates[:_MAX_NAMED], *(["another"] if len(candidates) > _MAX_NAMED else [])]
        which = f", such as {shown[0]}" if in_app else f": name {alternatives(shown)} with --model"
        return AIError(
            ErrorCode.BAD_REQUEST,
            f"There are {len(candidates)} {task} models{which}.",
            hint=_CHOOSE if in_app else f"{setting} sets the one to use.",
        )
    silent = [listing.label for listing in listings if listing.problem is not None]
    more = f" No answer from: {', '.join(silent)}." if silent else ""
    return AIError(
        ErrorCode.MODEL_NOT_FOUND,
        f"No {task} model found.{more}",
        hint=f"{naming}. {KINDS[task].advice}",
    )

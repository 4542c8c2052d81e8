"""Which model a command beside the chat uses: the one named, the default, or the only one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ollm_tui.config.flags import Flags
from ollm_tui.decode.counted import alternatives
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.models.kinds import kind_table
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import MODEL_ALIASES, ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.providers.media.answer import InputTask, offers
from ollm_tui.providers.router import ResolvedModel

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime

ModelTask: TypeAlias = Literal["embedding", "speech", "transcription", "picture"]
"""What a model is wanted for: a key of `[defaults]`."""
PATIENCE_S: Final = 5.0
"""How long a server may take to list its models."""
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """The models for a task."""

    alias: str
    operation: InputTask
    made_by: str
    """The kind of its models in `models/kinds.yaml`, where their server tells only their names."""
    advice: str


_KINDS: Final[Mapping[ModelTask, _Kind]] = {
    "embedding": _Kind(
        alias="embedding",
        operation="embeddings",
        made_by="embedding",
        advice="`ollm models pull nomic-embed-text` downloads one to Ollama.",
    ),
    "speech": _Kind(
        alias="tts",
        operation="speech",
        made_by="speech",
        advice="Install espeak-ng, or put a voice of Piper into the models folder; servers such as "
        "LocalAI and OpenAI have models that speak, too.",
    ),
    "transcription": _Kind(
        alias="stt",
        operation="transcription",
        made_by="whisper",
        advice="`ollm models pull hf://ggerganov/whisper.cpp/ggml-base.bin` downloads one; "
        "servers such as LocalAI, vLLM and OpenAI have models that transcribe, too.",
    ),
    "picture": _Kind(
        alias="drawing",
        operation="pictures",
        made_by="image",
        advice="Servers such as stable-diffusion.cpp, LocalAI and OpenAI have models that draw.",
    ),
}


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
    default: str | None = getattr(runtime.config.defaults, task)
    if default is not None and not (flags.provider or flags.host):
        return TaskModel(await _named(task, default, runtime, flags), "the default")
    listings = await _listings(runtime, flags)
    candidates = _candidates(task, runtime, listings)
    if len(candidates) != 1:
        addresses = [runtime.catalog.shown_address(ref) for ref in candidates]
        raise _no_choice(task, addresses, listings, in_app=in_app)
    return TaskModel(await runtime.router.at(candidates[0]), f"the only {task} model found")


def knows_drawing(runtime: "Runtime") -> bool:
    """Whether the settings name a model that draws, or a listing has one; asks no server."""
    listings = runtime.catalog.cached()
    return bool(runtime.config.defaults.picture or _candidates("picture", runtime, listings))


async def drawing_model(runtime: "Runtime", name: str | None, chat_model: str | None) -> str:
    """Return the address of the model that draws in a chat.

    It is the one of that name, else the model of the chat if it draws, else as `model_for_task`.

    Raises:
        AIError: as `model_for_task`.
    """
    ref = ModelRef.parse(chat_model or "")
    info = runtime.catalog.find(ref) if ref is not None else None
    if name is None and info is not None and info.capability and can_do(info, "picture"):
        return str(ref)
    choice = await model_for_task("picture", runtime, Flags(model=name), in_app=True)
    return str(choice.model.ref)


def can_do(info: ModelInfo, task: ModelTask) -> bool:
    """Return whether a model is made for a task, as far as is known, or its name says."""
    if info.details.get("problem"):
        return False
    if task == "embedding":
        return bool(capabilities_of(info).embedding.value)
    kind, known = MODEL_ALIASES[_KINDS[task].alias], info.capability
    if known is None:
        return kind_table().is_named(info.name, _KINDS[task].made_by)
    # Most that draw also edit pictures; a model that hears and also reads is one to chat with.
    takes = known.input >= kind.input if task == "picture" else known.input == kind.input
    return takes and known.output == kind.output


def _candidates(task: ModelTask, runtime: "Runtime", listings: Sequence[Listing]) -> list[ModelRef]:
    able = {
        ModelRef(listing.provider, info.name): info
        for listing in listings
        if (adapter := runtime.registry.get(listing.provider)) is not None
        and offers(adapter, _KINDS[task].operation)
        for info in listing.models
        if can_do(info, task)
    }
    # A program of the system is there without anybody's wish: it counts if nothing else does.
    chosen = [ref for ref, info in able.items() if info.details.get("format") != "program"]
    return chosen or [*able]


async def _named(task: ModelTask, name: str, runtime: "Runtime", flags: Flags) -> ResolvedModel:
    if flags.provider is not None and "://" not in name:
        name = f"{flags.provider}://{name}"
    kind = MODEL_ALIASES[_KINDS[task].alias]
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
        return await runtime.catalog.refresh(within_s=PATIENCE_S, services=False)
    listings = []
    for name in only:
        adapter = await runtime.router.provider(name)
        listing = await runtime.catalog.listing(adapter.name, within_s=PATIENCE_S)
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
        shown = [*candidates[:_MOST_NAMED], *(["another"] if len(candidates) > _MOST_NAMED else [])]
        which = f", such as {shown[0]}" if in_app else f": name {alternatives(shown)} with --model"
        return AIError(
            ErrorCode.BAD_REQUEST,
            f"There are {len(candidates)} {task} models{which}.",
            hint=f"{setting} sets the one to use.",
        )
    silent = [listing.label for listing in listings if listing.problem is not None]
    more = f" No answer from: {', '.join(silent)}." if silent else ""
    return AIError(
        ErrorCode.MODEL_NOT_FOUND,
        f"No {task} model found.{more}",
        hint=f"{naming}. {_KINDS[task].advice}",
    )

"""What a model declares of its thinking, and what a request makes of it; pure.

The mode is the request's to choose among those that the model declares; tags and prompts are the
model's, and a request's count only where the model has none.

| request | mode |
| --- | --- |
| nothing | the model's default, which may be unknown |
| `True`, an effort | the default if it thinks, else the first declared of `last`, `first`, `deep` |
| `False`, `off` | `off` |
| another mode | that one |

A mode that is not declared is refused; the default needs no declaration, and a model of which
nothing is declared does not think. An effort that the model does not have counts as `True`, and
the plan says that it was lost.

A model that thinks by itself does so before its answer: `first` and `deep` are its own, as far as
they are declared. `last`, and all modes of a model that does not think by itself, are instructions
in the system prompt (`models/thinking_prompts.py`); its own thinking is then switched off, if it
has any.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.models.thinking_tags import find_tags
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import (
    ShouldThink,
    TagSpec,
    ThinkingChannels,
    ThinkingConfig,
    ThinkingEffort,
    ThinkingMode,
    ThinkingPlan,
    ThinkingSwitch,
    thinking_mode,
)

FEATURE: Final = "feature"
THINKING: Final = "thinking"
"""`error.details["feature"]` of a refusal that only a wish to think, or not to, has caused."""
OPENS_THINKING: Final = "opens_thinking"
"""The key of a model's details that says so of its chat template."""
EFFORTS: Final[tuple[ThinkingEffort, ...]] = ("low", "medium", "high")
_BY_CHOICE: Final[tuple[ThinkingMode, ...]] = ("last", "first", "deep")
_OWN_MODES: Final = frozenset({"first", "deep"})
"""How a model thinks by itself: before its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingSupport:
    """The thinking that a model declares; empty `modes` declare nothing.

    Raises:
        AIError: BAD_REQUEST for tags that cannot be searched for.
    """

    modes: frozenset[ThinkingMode] = frozenset()
    default: ThinkingMode | None = None
    effort: ThinkingEffort | None = None
    efforts: tuple[ThinkingEffort, ...] | None = None
    """None if it is not known which it takes."""
    think_tag: TagSpec | None = None
    answer_tag: TagSpec | None = None
    starts_open: bool = False
    """Whether the chat template ends inside the thinking."""
    channels: ThinkingChannels | None = None
    """How the model marks its messages, if it writes them in channels."""
    switch: ThinkingSwitch | None = None
    """None if nothing is known of the model's prompt."""
    visible: bool | None = None
    depth: int | None = None
    steps: int | None = None
    skip_default_prompt: bool = False
    prompts: Mapping[str, str] | None = None
    """Instructions by mode, and `role`, as `ThinkingConfig` has them."""
    prompt_format: str | None = None
    """The format of `prompts`, if they are templates."""
    prompt_words: Mapping[str, str] | None = None
    """The family's variables, which such templates may use."""
    thinks_by_itself: bool = True
    """Whether the model was made to think; else instructions make it."""
    is_known_to_engine: bool = True
    """Whether the engine knows that the model thinks, so that its own switch may be used."""
    is_declared_by_user: bool = False
    """Whether the user declared it: beside the model's file, or in a family of their own."""
    is_default_wanted: bool = False
    """Whether the user chose the default, so that the engine is told of it; a family of the
    program describes what the model does unasked."""

    def __post_init__(self) -> None:
        find_tags(self.think_tag, self.answer_tag, mode=None, starts_open=self.starts_open)

    @property
    def allowed(self) -> frozenset[ThinkingMode]:
        """The modes that a request may select."""
        default: ThinkingMode | None = self.default if self.modes else self.default or "off"
        return self.modes | ({default} if default else frozenset())

    @property
    def has_tags(self) -> bool:
        """Whether the model declares how its thinking is marked."""
        tags = (self.think_tag, self.answer_tag, self.channels)
        return self.starts_open or any(tag is not None for tag in tags)

    @property
    def has_switch(self) -> bool:
        """Whether there may be a way to switch the model's own thinking."""
        return self.switch is None or not self.switch.is_empty

    @property
    def thinks(self) -> bool:
        """Whether there is a mode other than `off`."""
        return bool(self.allowed - {"off"})

    def is_instructed(self, mode: ThinkingMode | None) -> bool:
        """Whether only instructions in the prompt make the model think in this mode."""
        if mode is None or mode == "off":
            return False
        return not (self.thinks_by_itself and mode in _OWN_MODES)

    def choices(self) -> tuple[str, ...]:
        """Return the words that `/think` takes for the model."""
        if not self.thinks:
            return ("off",)
        off = ("off",) if "off" in self.allowed else ()
        modes = (mode for mode in ("first", "last", "deep") if mode in self.allowed)
        efforts = EFFORTS if self.efforts is None else self.efforts
        return (*off, "on", *modes, *efforts)


def resolve_thinking(request: ShouldThink | None, model: ThinkingSupport) -> ThinkingPlan:
    """Combine a request with the model's declaration.

    Raises:
        AIError: UNSUPPORTED_FEATURE for a mode that the model does not declare; BAD_REQUEST for
            tags that cannot be searched for.
    """
    mode = _chosen_mode(request, model)
    if mode is not None and mode not in model.allowed:
        raise _refusal(mode, model)
    config = request if isinstance(request, ThinkingConfig) else ThinkingConfig()
    tags_from = model if model.has_tags else config
    is_asked = request is not None or model.is_default_wanted or model.is_instructed(mode)
    is_on = _switch_value(mode, model) if is_asked else None
    effort = config.effort or model.effort
    has_effort = model.efforts is None or effort in model.efforts
    visible = model.visible if config.visible is None else config.visible
    plan = ThinkingPlan(
        mode=mode,
        is_on=is_on,
        effort=effort if is_on and has_effort else None,
        is_default=_does_unasked(mode, model),
        lost_effort=config.effort if mode != "off" and not has_effort else None,
        think_tag=tags_from.think_tag,
        answer_tag=tags_from.answer_tag,
        starts_open=tags_from.starts_open,
        channels=model.channels,
        switch=model.switch,
        is_known_to_engine=model.is_known_to_engine,
        is_visible=visible is not False,
    )
    find_tags(plan.think_tag, plan.answer_tag, mode=mode, starts_open=plan.starts_open)
    return plan


def check_choice(word: str, wanted: ShouldThink, model: ThinkingSupport) -> AIError | None:
    """Return why the user's choice does not suit a model, or None if it does."""
    try:
        plan = resolve_thinking(wanted, model)
    except AIError as error:
        return error
    if plan.lost_effort is None:
        return None
    what = "has no levels of thinking" if not model.efforts else f"has no level {word}"
    available = f"Available: {', '.join(model.choices())}."
    return AIError(ErrorCode.UNSUPPORTED_FEATURE, f"This model {what}.", hint=available)


def _chosen_mode(request: ShouldThink | None, model: ThinkingSupport) -> ThinkingMode | None:
    if request is None:
        return model.default
    is_open = isinstance(request, ThinkingConfig) and request.mode is None
    if request is not True and not is_open:
        return thinking_mode(request)
    if model.default not in (None, "off"):
        return model.default
    return next((mode for mode in _BY_CHOICE if mode in model.modes), "last")


def _switch_value(mode: ThinkingMode | None, model: ThinkingSupport) -> bool | None:
    """Return what the server is told: nothing if it has nothing to switch."""
    has_own = model.thinks_by_itself and bool(model.allowed & _OWN_MODES)
    if mode is None or not has_own:
        return None
    if mode == "off":
        return False
    if not model.is_instructed(mode):
        return True
    return False if "off" in model.allowed else None


def _does_unasked(mode: ThinkingMode | None, model: ThinkingSupport) -> bool:
    if mode != model.default or model.is_instructed(mode):
        return False
    return mode != "off" or not model.is_default_wanted


def _refusal(mode: ThinkingMode, model: ThinkingSupport) -> AIError:
    hint = f"Available: {', '.join(model.choices())}."
    if not model.thinks:
        message, hint = "This model does not think.", "Leave thinking off, or choose another model."
    elif mode == "off":
        message = "This model always thinks: it cannot be switched off."
        if model.efforts:
            hint = f"It thinks least with {model.efforts[0]}. {hint}"
    else:
        message = f"This model does not know the thinking mode {mode!r}."
    return thinking_refusal(message, hint)


def thinking_refusal(message: str, hint: str) -> AIError:
    """Return the error for a wish that a model, or its server, cannot fulfil."""
    return AIError(ErrorCode.UNSUPPORTED_FEATURE, message, hint=hint, details={FEATURE: THINKING})


def on_engine(
    model: ThinkingSupport | None, *, thinks: bool | None, is_set: bool = False
) -> ThinkingSupport | None:
    """Combine what is declared of a model with what its engine, or the user, says.

    `thinks` is the word of the engine's list, or with `is_set` of the user's settings; None if
    there is none. The user's settings count first, then what the user declared of the model, then
    the list, then a family of the program. None if nothing is known.
    """
    known = model if model is not None and model.thinks else None
    if thinks is None:
        return known
    if not thinks:
        # An engine does not know of instructions that make a model think.
        is_told = known is not None and not is_set and (known.is_declared_by_user or known.prompts)
        return replace(known, is_known_to_engine=False) if known and is_told else ThinkingSupport()
    if known is None:
        return ThinkingSupport(modes=frozenset({"off", "deep"}), default="deep")
    is_taught = known.is_declared_by_user and known.default == "off" and not known.has_switch
    return known if is_set or is_taught else replace(known, thinks_by_itself=True)


def begun_by_template(model: ThinkingSupport | None) -> ThinkingSupport:
    """Return what is known of a model whose template, as its server has it, opens the thinking."""
    if model is not None and model.thinks:
        is_told = not model.thinks_by_itself or model.channels is not None
        return model if is_told else replace(model, starts_open=True)
    modes: frozenset[ThinkingMode] = frozenset({"deep"})
    return ThinkingSupport(modes=modes, default="deep", starts_open=True, is_known_to_engine=False)


def own_support(wish: ShouldThink | None) -> ThinkingSupport | None:
    """Return what a request itself says of a model of which nothing else is known.

    None if it has neither instructions nor limits: its provider knows what to do then.
    """
    if not isinstance(wish, ThinkingConfig):
        return None
    if not (wish.prompts or wish.depth or wish.steps or wish.visible is not None):
        return None
    is_off = wish.mode == "off"
    mode: ThinkingMode = "deep" if wish.mode is None or is_off else wish.mode
    return ThinkingSupport(
        modes=frozenset({mode, "off"}),
        thinks_by_itself=is_off or not wish.prompts,
        is_declared_by_user=True,
    )

"""How a request turns thinking on, and how the answer is divided; pure.

The mode is the request's to choose among those that the model declares; tags are the model's, and
a request's count only where the model has none.

| request | mode |
| --- | --- |
| nothing | the model's default, which may be unknown |
| `True` | the default if it thinks, else `last`, `first` or `deep`, whichever is declared first |
| `False`, `off` | `off` |
| another mode, or a config | that one |

A mode that is not declared is refused; the default needs no declaration, and a model of which
nothing is declared does not think. The stream begins inside the thinking for `first` and `deep`
where no start tag exists but something ends it, or where the prompt opens the block; for `off`
and `last` it never does. For `last` the thinking may stand after the answer, else only before it.
"""

from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias, assert_never

from ollm_tui.decode.tag_pattern import spell_out
from ollm_tui.decode.thinking import TagPair, ThinkTags
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import (
    ShouldThink,
    TagPattern,
    TagSpec,
    ThinkingConfig,
    ThinkingEffort,
    ThinkingMode,
    thinking_mode,
)

_BY_CHOICE: Final[tuple[ThinkingMode, ...]] = ("last", "first", "deep")
Spellings: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingSupport:
    """The thinking that a model declares; empty `modes` declare nothing.

    Raises:
        AIError: BAD_REQUEST for tags that cannot be searched for.
    """

    modes: frozenset[ThinkingMode] = frozenset()
    default: ThinkingMode | None = None
    effort: ThinkingEffort | None = None
    think_tag: TagSpec | None = None
    answer_tag: TagSpec | None = None
    starts_open: bool = False
    """Whether the chat template ends inside the thinking."""

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
        return self.think_tag is not None or self.answer_tag is not None or self.starts_open


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingPlan:
    """How one request thinks, and how its answer is divided."""

    mode: ThinkingMode | None
    """None if not specified: the server decides."""
    effort: ThinkingEffort | None
    tags: ThinkTags
    """How to divide the answer; `tags.start_open` is its initial state."""
    wire: bool | ThinkingEffort | None
    """The value for a server with a single switch; None sends nothing."""


def resolve_thinking(request: ShouldThink | None, model: ThinkingSupport) -> ThinkingPlan:
    """Combine a request with the model's declaration.

    Raises:
        AIError: UNSUPPORTED_FEATURE for a mode that the model does not declare; BAD_REQUEST for
            tags that cannot be searched for.
    """
    mode = _chosen_mode(request, model)
    if mode is not None and mode not in model.allowed:
        raise _refusal(mode, model)
    config = request if isinstance(request, ThinkingConfig) else None
    tags_from = model if config is None or model.has_tags else config
    effort = (config and config.effort) or model.effort
    return ThinkingPlan(
        mode=mode,
        effort=None if mode == "off" else effort,
        tags=find_tags(
            tags_from.think_tag, tags_from.answer_tag, mode=mode, starts_open=tags_from.starts_open
        ),
        wire=None if request is None else _wire(mode, effort),
    )


def find_tags(
    think_tag: TagSpec | None,
    answer_tag: TagSpec | None,
    *,
    mode: ThinkingMode | None,
    starts_open: bool = False,
) -> ThinkTags:
    """Return the tags to search for, and whether the answer begins inside the thinking.

    Raises:
        AIError: BAD_REQUEST for tags that cannot be searched for.
    """
    try:
        starts, ends = _delimiters(think_tag)
        answer_starts, answer_ends = _delimiters(answer_tag)
        return _tags(starts, ends, answer_starts, answer_ends, mode, starts_open)
    except ValueError as error:
        sentence = f"{str(error)[:1].upper()}{str(error)[1:].removesuffix('.')}."
        raise AIError(ErrorCode.BAD_REQUEST, sentence) from error


def _chosen_mode(request: ShouldThink | None, model: ThinkingSupport) -> ThinkingMode | None:
    if request is None:
        return model.default
    if request is not True:
        return thinking_mode(request)
    if model.default not in (None, "off"):
        return model.default
    return next((mode for mode in _BY_CHOICE if mode in model.modes), "last")


def _refusal(mode: ThinkingMode, model: ThinkingSupport) -> AIError:
    known = sorted(model.allowed)
    if known == ["off"]:
        message, hint = "This model does not think.", "Leave thinking off, or choose another model."
    elif mode == "off":
        message = "This model always thinks: it cannot be switched off."
        hint = f"Available: {', '.join(known)}."
    else:
        message = f"This model does not know the thinking mode {mode!r}."
        hint = f"Available: {', '.join(known)}."
    return AIError(ErrorCode.UNSUPPORTED_FEATURE, message, hint=hint)


def _wire(mode: ThinkingMode | None, effort: ThinkingEffort | None) -> bool | ThinkingEffort | None:
    match mode:
        case None:
            return None
        case "off":
            return False
        case "last" | "first" | "deep":
            return effort or True
        case _:
            assert_never(mode)


def _delimiters(tag: TagSpec | None) -> tuple[Spellings, Spellings]:
    """Return the start and end delimiters; a single one is a start."""
    match tag:
        case None:
            return (), ()
        case str():
            return _one(tag), ()
        case TagPattern(start, end):
            return (spell_out(start) if start else ()), (spell_out(end) if end else ())
        case (start, end):
            return _one(start), _one(end)


def _one(tag: str) -> Spellings:
    return (tag,) if tag else ()


def _tags(
    starts: Spellings,
    ends: Spellings,
    answer_starts: Spellings,
    answer_ends: Spellings,
    mode: ThinkingMode | None,
    starts_open: bool,
) -> ThinkTags:
    if not starts:
        answer_starts = (*ends, *answer_starts)
    pairs = tuple(
        TagPair(start.lstrip(), end) for start, end in product(starts, ends or answer_starts or ())
    ) or tuple(TagPair(start.lstrip(), start) for start in starts)
    has_no_start = not pairs and bool(answer_starts)
    opened = starts_open or (has_no_start and mode is not None)
    return ThinkTags(
        pairs=pairs if pairs or has_no_start else ThinkTags().pairs,
        answer_starts=answer_starts,
        answer_ends=answer_ends,
        start_open=opened and mode not in ("off", "last"),
        where="anywhere" if mode == "last" else "leading",
    )

"""Chat templates that take the place of the one in a model file: found, and tried out once."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.models.sidecar import family_template, own_format, own_template
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.templates.abilities import FORMAT_NAMES, template_format
from ollm_tui.templates.conversation import USUAL_VARIABLES
from ollm_tui.templates.renderer import Refusal, TemplateRenderer

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge
    from ollm_tui.protocol.json_types import JsonObject

MAX_TEMPLATE_BYTES: Final = 100_000
"""Bytes; Linux starts llama-server with up to 128 KiB in one argument."""
_QUESTION: Final = "zquserzq"


@dataclass(frozen=True, slots=True)
class ChosenTemplate:
    """A template in place of the one in a model file."""

    text: str
    origin: str
    """The path of its file, `template of NAME.config.yaml` or `template of the family NAME (…)`."""


def find_template(
    file: Path | None, known: "ModelKnowledge", *, is_set: bool, has_own: bool
) -> ChosenTemplate | None:
    """Return the template in `file`, else that of the sidecar, if there is one; blocks.

    `is_set`: the user set the file, so that the sidecar does not tell its language. `has_own`: the
    model file has a template; one without gets that of its family.

    Raises:
        AIError: it cannot be read, is too long, or is in a language that the engine does not read.
    """
    if file is not None:
        chosen = ChosenTemplate(_read(file), str(file))
    elif (text := own_template(known)) is not None:
        chosen = ChosenTemplate(text, f"template of {known.sidecar.name if known.sidecar else ''}")
    elif not has_own and (of_family := family_template(known)) is not None:
        chosen = ChosenTemplate(str(of_family.value), f"template of {of_family.origin}")
    else:
        return None
    if (reason := _why_not_text(chosen.text)) is not None:
        raise _unusable(chosen.origin, reason)
    named = None if is_set else own_format(known)
    language = FORMAT_NAMES[named] if named else template_format(chosen.text)
    if language == "golang":
        raise _unusable(chosen.origin, "it is in Go's language, which only Ollama renders", _GO)
    return chosen


_GO: Final = "Make a model of it in Ollama: `ollm models create NAME SOURCE --template FILE`."


def _why_not_text(text: str) -> str | None:
    """Return why a text cannot be given to a program; None if it can."""
    if "\0" in text:
        return "it holds a NUL character"
    is_long = len(text.encode()) > MAX_TEMPLATE_BYTES
    return f"it is longer than {MAX_TEMPLATE_BYTES} bytes" if is_long else None


def _read(path: Path) -> str:
    try:
        return read_bounded(path, MAX_TEMPLATE_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise _unusable(str(path), why_unreadable(error)) from None


def _unusable(origin: str, reason: str, hint: str = "Correct it, or remove it.") -> AIError:
    return AIError(
        ErrorCode.BAD_REQUEST, f"The chat template ({origin}) cannot be used: {reason}.", hint=hint
    )


class TemplateCheck:
    """Tries templates out in a process of their own, each one once."""

    def __init__(self, renderer: TemplateRenderer | None = None) -> None:
        self._renderer = renderer or TemplateRenderer()
        self._tried: set[bytes] = set()
        """Checksums of those that can be used."""

    async def check(self, template: ChosenTemplate) -> None:
        """Check that a question can be rendered.

        Raises:
            AIError: it cannot, or no process can be started.
        """
        key = sha256(template.text.encode()).digest()
        if key in self._tried:
            return
        if (reason := await self._reason(template.text)) is not None:
            raise _unusable(template.origin, reason)
        self._tried.add(key)

    async def _reason(self, text: str) -> str | None:
        user: JsonObject = {"role": "user", "content": _QUESTION}
        context: JsonObject = {**USUAL_VARIABLES, "messages": [user]}
        rendered = await self._renderer.render_chat(text, context)
        if isinstance(rendered, Refusal):
            return rendered.reason
        return None if _QUESTION in rendered else "it leaves out the question"

    def close(self) -> None:
        """End the process, if there is one."""
        self._renderer.close()
